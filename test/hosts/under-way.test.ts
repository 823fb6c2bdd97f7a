// How many requests each channel has under way, so that channels that hang leave places for others.
import { expect, test } from 'vitest'
import { readStoredId } from '../../functions/core/delivery/delivery.ts'
import { UnderWay } from '../../functions/host/under-way.ts'
import { claimDue } from '../../functions/use-cases/deliver.ts'
import { has } from '../support/features.ts'
import { happen, subscribe } from '../support/subscriptions.ts'
import { createWorld, type World } from '../support/world.ts'

/** The channels of the requests that have room. */
async function beginAll(world: World, underWay: UnderWay): Promise<string[]> {
  const begun: string[] = []
  for (;;) {
    const [group] = (await claimDue(world.relay, 1, underWay.countOf)).requests
    if (group === undefined) break
    begun.push(group[0]!.channel)
    underWay.begin(group)
  }
  return begun
}

test('with many requests under way, each channel gets its first one only', async () => {
  const world = await createWorld()
  await happen(world, 5)
  world.channels.answer = () => new Promise<Response>(() => {})
  const most = 2
  const underWay = new UnderWay(world.relay, { wide: most })
  const begun = await beginAll(world, underWay)
  const channels = Object.keys(world.relay.config.channels)
  expect(new Set(begun)).toEqual(new Set(channels))
  expect(begun.length).toBeLessThan(channels.length + most)
})

test.runIf(has('subscriptions'))(
  'subscriptions that hang leave places for configured channels',
  async () => {
    const world = await createWorld()
    for (let i = 0; i < 5; i++) await subscribe(world)
    await happen(world, 1)
    world.channels.answer = () => new Promise<Response>(() => {})
    const underWay = new UnderWay(world.relay, { toStored: 3 })
    const begun = await beginAll(world, underWay)
    expect(begun.filter((channel) => readStoredId(channel) !== undefined)).toHaveLength(3)
    expect(begun).toEqual(expect.arrayContaining(Object.keys(world.relay.config.channels)))
  },
)
