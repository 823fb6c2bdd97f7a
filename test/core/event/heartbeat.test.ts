// When idle beacons report: a relay's heartbeats by its size, and each beacon's slot.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { alignedHeartbeats, untilHeartbeat } from '../../../functions/core/event/heartbeat.ts'
import { assumed } from '../../bench/cost/prices.ts'

const second = 1_000
const minute = 60 * second
const publicUrl = 'https://foghorn.example.com'
const at = Date.UTC(2026, 10, 21, 12, 0, 0, 123)

describe('the pace and the window of a relay with', () => {
  test.each([
    [0, 5 * minute, 10 * second],
    [1, 5 * minute, 10 * second],
    [500, 5 * minute, 15.5 * second],
    [501, 15 * minute, 15.525 * second],
    [1_000, 15 * minute, 28 * second],
    [36_000, 15 * minute, 15 * minute],
    [36_001, 30 * minute, 903.025 * second],
    [100_000, 45 * minute, 2_503 * second],
    [144_000, 60 * minute, 60 * minute],
    // more than the smallest instance can do: the host adds another one
    [1_000_000, 60 * minute, 60 * minute],
  ])('%i beacons', (beacons, paceMs, lengthMs) => {
    const heartbeats = alignedHeartbeats(publicUrl, beacons)
    expect(heartbeats).toMatchObject({ paceMs, window: { lengthMs } })
  })

  test('other relays begin theirs at other times, and its own at any size at the same', () => {
    const starts = [publicUrl, 'https://a.example.com', 'https://b.example.com'].map(
      (url) => alignedHeartbeats(url, 1_000).window!.startMs,
    )
    expect(new Set(starts.map((ms) => Math.round(ms / minute))).size).toBe(3)
    expect(alignedHeartbeats(publicUrl, 100_000).window!.startMs).toBe(starts[0])
  })
})

test('without a window, a heartbeat follows a pace after the last report', () => {
  expect(untilHeartbeat({ paceMs: 5 * minute }, 'prod', 'web_0', at)).toBe(5 * minute)
})

/** The window that a time belongs to, and where in it the time is, in ms. */
function placeOf(time: number, { paceMs, window }: ReturnType<typeof alignedHeartbeats>) {
  const since = time - window!.startMs
  return { window: Math.floor(since / paceMs), ms: since - Math.floor(since / paceMs) * paceMs }
}

describe('one pace of a relay with', () => {
  const cores = (assumed.flexMemoryMb / 1_024) * assumed.coresPerGb
  const workMs = assumed.processorMs / cores
  /** More requests at once make the host start another instance: infra/azure/main.bicep. */
  const httpConcurrency = 32
  /** Of an instance, in Azure. The relay's part of it takes half a second. */
  const startMs = 2_000

  /** The most requests at once on an instance that starts with the first one. */
  function mostAtOnce(arrivalsMs: number[]): number {
    const endsMs: number[] = []
    let freeAt = arrivalsMs[0]! + startMs
    let ended = 0
    let most = 0
    for (const [i, arrivesAt] of arrivalsMs.entries()) {
      freeAt = Math.max(freeAt, arrivesAt) + workMs
      endsMs.push(freeAt)
      while (endsMs[ended]! <= arrivesAt) ended += 1
      most = Math.max(most, i + 1 - ended)
    }
    return most
  }

  const sizes = [1, 10, 200, 280, 500, 501, 1_000, 10_000, 36_000, 100_000]
  test.each(sizes)('%i beacons: each reports once, and one instance is enough', (beacons) => {
    const heartbeats = alignedHeartbeats(publicUrl, beacons)
    const { paceMs, window } = heartbeats
    const waits = Array.from({ length: beacons }, (_, i) =>
      untilHeartbeat(heartbeats, 'prod', `rg/web_${i}`, at),
    ).sort((a, b) => a - b)
    expect(waits[0]).toBeGreaterThan(paceMs / 100)
    expect(waits.at(-1)).toBeLessThanOrEqual(paceMs * 1.01)
    const places = waits.map((waitMs) => placeOf(at + waitMs, heartbeats).ms).sort((a, b) => a - b)
    expect(places.every((ms) => ms <= window!.lengthMs + 1)).toBe(true)
    const seconds = Map.groupBy(places, (ms) => Math.floor(ms / second))
    const counts = [...seconds.values()].map((arrivals) => arrivals.length)
    expect(Math.max(...counts)).toBeLessThanOrEqual(1_000 / workMs)
    expect(mostAtOnce(places)).toBeLessThan(httpConcurrency)
  })
})

test('a beacon of a released version reports in each of its slots once, whatever its clock does', () => {
  const delay = fc.oneof(fc.constant(0), fc.nat(2_000))
  const beacon = fc.record({
    size: fc.integer({ min: 1, max: 100_000 }),
    id: fc.uuid(),
    // it starts, or an event ends, at any time
    startedAt: fc.integer({ min: at, max: at + 60 * minute }),
    // its clock is fast or slow by this part
    drift: fc.double({ min: -0.0005, max: 0.0005, noNaN: true }),
    // until the relay has the report, and until the beacon has the answer
    delaysMs: fc.array(fc.tuple(delay, delay), { minLength: 8, maxLength: 8 }),
  })
  fc.assert(
    fc.property(beacon, ({ size, id, startedAt, drift, delaysMs }) => {
      const heartbeats = alignedHeartbeats(publicUrl, size)
      const { paceMs } = heartbeats
      const offMs = paceMs * 1.01 * 0.0005
      const slotAt = at + untilHeartbeat(heartbeats, 'prod', id, at)
      let sentAt = startedAt
      let heard: { at: number; slot: number } | undefined
      for (const [i, [thereMs, backMs]] of delaysMs.entries()) {
        const heardAt = sentAt + thereMs
        const slot = Math.round((heardAt - slotAt) / paceMs)
        if (i > 0) {
          expect(heardAt - heard!.at).toBeLessThanOrEqual(paceMs * 1.01 + offMs + 4_000)
          expect(Math.abs(heardAt - slotAt - slot * paceMs)).toBeLessThanOrEqual(offMs + 4_000)
        }
        if (i > 1) expect(slot).toBe(heard!.slot + 1)
        heard = { at: heardAt, slot }
        sentAt = heardAt + backMs + untilHeartbeat(heartbeats, 'prod', id, heardAt) * (1 + drift)
      }
    }),
  )
})
