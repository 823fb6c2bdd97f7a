// How many requests each channel has under way, so that channels that hang leave places for others.
import { expect, test } from 'vitest'
import { UnderWay } from '../../functions/host/under-way.ts'
import { claimDue } from '../../functions/use-cases/deliver.ts'
import { happen } from '../support/subscriptions.ts'
import { createWorld } from '../support/world.ts'

test('with many requests under way, each channel gets its first one only', async () => {
  const world = await createWorld()
  await happen(world, 5)
  world.channels.answer = () => new Promise<Response>(() => {})
  const most = 2
  const underWay = new UnderWay(world.relay, most)
  const begun: string[] = []
  for (;;) {
    const [group] = await claimDue(world.relay, 1, underWay.countOf)
    if (group === undefined) break
    begun.push(group[0]!.channel)
    underWay.begin(group)
  }
  const channels = Object.keys(world.relay.config.channels)
  expect(new Set(begun)).toEqual(new Set(channels))
  expect(begun.length).toBeLessThan(channels.length + most)
})
