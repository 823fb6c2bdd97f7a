// A report of many events on Node: other requests and timers have their turn meanwhile.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createGiveWay } from '../../functions/host/node/give-way.ts'
import { createWorld, event, FakeBeacon } from '../support/world.ts'

test('long work gives way once, short work does not', async () => {
  let now = 0
  const giveWay = createGiveWay(() => now)
  now = 9
  expect(giveWay()).toBe(undefined)
  now = 10
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
