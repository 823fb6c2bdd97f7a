// Heartbeats of a relay with a window: beacons fall into it, and silence is judged by the pace.
import { beforeEach, expect, test } from 'vitest'
import { alignedHeartbeats, type Heartbeats } from '../../../functions/core/event/heartbeat.ts'
import { has } from '../../support/features.ts'
import { createWorld, event, FakeBeacon } from '../../support/world.ts'

const second = 1_000
const minute = 60 * second
const pageOfAll = { limit: 100 }

let world: Awaited<ReturnType<typeof createWorld>>
let heartbeats: Heartbeats

beforeEach(async () => {
  world = await createWorld()
  heartbeats = alignedHeartbeats(world.relay.config.publicUrl, 1_000)
  world.relay.host.heartbeats = heartbeats
})

const isInWindow = (time: number) =>
  (time - heartbeats.window!.startMs) % heartbeats.paceMs <= heartbeats.window!.lengthMs + 1

const rowOf = async (beacon: FakeBeacon) => {
  const rows = await world.store.listBeacons('prod', pageOfAll)
  return rows.find(({ vm }) => vm === beacon.name)!
}

test('200 beacons that start at once spread over the next window', async () => {
  const beacons = Array.from({ length: 200 }, (_, i) => new FakeBeacon(world, `web_${i}`))
  const waits = await Promise.all(beacons.map(async (one) => (await one.sees([])).paceMs))
  expect(waits.every((ms) => isInWindow(world.clock.now + ms))).toBe(true)
  const seconds = new Set(waits.map((ms) => Math.floor(ms / second)))
  expect(seconds.size).toBeGreaterThan(20)
})

test('a beacon is back in its slot after an event, and its row has the usual pace', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  const first = await beacon.sees([])
  world.clock.now += first.paceMs
  expect((await beacon.sees([])).paceMs).toBe(heartbeats.paceMs)

  world.clock.now += 4 * minute
  const far = event({ notBeforeAt: world.clock.now + 60 * minute })
  expect((await beacon.sees([far])).paceMs).toBe(minute)
  expect((await rowOf(beacon)).paceMs).toBe(minute)
  world.clock.now += minute
  // the event is not over yet
  expect((await beacon.sees([])).paceMs).toBe(minute)
  await world.pass(minute)
  const { paceMs } = await beacon.sees([])
  expect(paceMs).toBe(heartbeats.paceMs - 6 * minute)
  expect((await rowOf(beacon)).paceMs).toBe(heartbeats.paceMs)
})

test('if the relay learns its size while it writes the row, row and answer agree', async () => {
  const { writeBeacon } = world.store
  world.relay.store.writeBeacon = (beacon, known) => {
    world.relay.host.heartbeats = alignedHeartbeats(world.relay.config.publicUrl, 100_000)
    return writeBeacon.call(world.store, beacon, known)
  }
  const beacon = new FakeBeacon(world, 'web_0')
  const { paceMs } = await beacon.sees([])
  expect(isInWindow(world.clock.now + paceMs)).toBe(true)
  expect((await rowOf(beacon)).paceMs).toBe(heartbeats.paceMs)
})

test('the first heartbeat may come soon after the start: the beacon counts as heard all the time', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  let dueAt = world.clock.now
  for (let i = 0; i < 5; i++) {
    for (; world.clock.now < dueAt; world.clock.now += minute) {
      await world.drain()
      expect((await rowOf(beacon)).silence).toBeUndefined()
    }
    world.clock.now = dueAt
    dueAt += (await beacon.sees([])).paceMs
  }
})

test.runIf(has('silence'))('if it stops, owners are alerted within three paces', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  const first = await beacon.sees([])
  world.clock.now += first.paceMs
  await beacon.sees([])
  const heardAt = world.clock.now
  while ((await rowOf(beacon)).silence === undefined) {
    world.clock.now += minute
    await world.drain()
    expect(world.clock.now - heardAt).toBeLessThanOrEqual(3 * heartbeats.paceMs)
  }
  expect((await rowOf(beacon)).silence!.from - heardAt).toBeLessThanOrEqual(3 * heartbeats.paceMs)
})
