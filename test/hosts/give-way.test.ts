// A report of many events on Node: other requests and timers have their turn meanwhile.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createGiveWay } from '../../functions/host/node/give-way.ts'
import { createWorld, event, FakeBeacon } from '../support/world.ts'

function workFor(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('long work gives way once, short work does not', async () => {
  const giveWay = createGiveWay()
  expect(giveWay()).toBe(undefined)
  workFor(11)
  const turns: string[] = []
  void nextTurn().then(() => turns.push('others'))
  await giveWay()
  await Promise.resolve()
  expect(turns).toEqual(['others'])
  expect(giveWay()).toBe(undefined)
})

test('a report gives way between its events', async () => {
  const world = await createWorld()
  let times = 0
  world.relay.giveWay = () => {
    times += 1
    return undefined
  }
  const events = ['a', 'b', 'c'].map((eventId) => event({ eventId }))
  await new FakeBeacon(world, 'web_0').sees(events)
  expect(times).toBe(events.length)
  world.store.close()
})
