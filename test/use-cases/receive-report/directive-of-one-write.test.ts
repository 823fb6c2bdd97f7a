// Reports that wait for the same event are written together. If one of them takes the directive and the
// next one ends the approval, nobody may start more than was approved.
import { expect, test } from 'vitest'
import { decideEvent } from '../../../functions/use-cases/decide-event.ts'
import { linkOf, press } from '../../support/people.ts'
import { relayForEach, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

relayForEach()

test('a directive never names a VM that was added by the same write', async () => {
  const [one, two] = ['web_0', 'web_1'].map((name) => new FakeBeacon(world, name))
  await two!.sees([event()])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  const { store } = world.relay
  const commit = store.commit.bind(store)
  const slow = Promise.withResolvers<void>()
  store.commit = async (...given) => {
    await slow.promise
    return commit(...given)
  }
  const { changes } = world.relay.work
  const make = changes.make.bind(changes)
  let waiting = 0
  changes.make = (...given) => {
    waiting++
    return make(...given)
  }
  const until = async (count: number) => {
    while (waiting < count) await new Promise((resolve) => setImmediate(resolve))
  }
  // while a write takes its time, the reports wait, and are then written together
  const by = { how: 'admin', who: 'admin' } as const
  const shown = (await store.readEvent({ fleet: 'prod', eventId }))!
  const taken = decideEvent(world.relay, shown, { decision: 'take', by })
  await until(1)
  const small = one!.sees([event()])
  await until(2)
  const grown = two!.sees([event({ resources: ['web_0', 'web_1'] })])
  await until(3)
  slow.resolve()
  const [answers] = await Promise.all([Promise.all([small, grown]), taken])
  const named = answers.flatMap(({ directives }) =>
    directives.flatMap(({ resources }) => resources),
  )
  expect(named).not.toContain('web_1')
  expect((await store.readEvent({ fleet: 'prod', eventId }))?.decided).toBeUndefined()
})
