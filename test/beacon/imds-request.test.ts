// The limit on requests to IMDS: how many go out, in which order, and when none goes out.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRateLimit } from '../../beacon/imds-request.ts'
import { createFakeClock } from './fake-clock.ts'

const forever = new AbortController().signal
type Kind = 'poll' | 'other'

function setUp() {
  const clock = createFakeClock()
  const gate = createRateLimit(clock)
  const passed: { at: number; kind: Kind }[] = []
  const pass = async (kind: Kind, signal = forever) => {
    await gate.pass(kind, signal)
    if (!signal.aborted) passed.push({ at: clock.monotonic(), kind })
  }
  /** Asks again as soon as it may, without end. */
  const flood = async () => {
    for (;;) await pass('other')
  }
  /** Asks as the poll loop does. */
  const poll = async (everyMs: number) => {
    for (;;) {
      const askedAt = clock.monotonic()
      await pass('poll')
      await clock.sleep(askedAt + everyMs - clock.monotonic(), forever)
    }
  }
  const timesOf = (kind: Kind) => passed.filter((one) => one.kind === kind).map(({ at }) => at)
  return { clock, gate, passed, pass, flood, poll, timesOf }
}

/** The largest number of requests in any second. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at <= from + 1_000).length),
  )
}

describe('the gate', () => {
  test('lets a few requests pass at once, and keeps a place for a poll', async () => {
    const { clock, pass, timesOf } = setUp()
    for (let i = 0; i < 5; i++) void pass('other')
    await clock.advance(0)
    expect(timesOf('other')).toEqual([0, 0, 0])
    void pass('poll')
    await clock.advance(0)
    expect(timesOf('poll')).toEqual([0])
    await clock.advance(2_000)
    expect(timesOf('other')).toHaveLength(5)
  })

  test('under a flood, at most 4 requests pass in any second, and one poll every second', async () => {
    const { clock, flood, passed, poll, timesOf } = setUp()
    void flood()
    void flood()
    void poll(1_000)
    await clock.advance(60_000)
    expect(mostInASecond(passed.map(({ at }) => at))).toBe(4)
    const polls = timesOf('poll')
    const gaps = polls.map((at, i) => at - (polls[i - 1] ?? at))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_100)
    expect(timesOf('other').length).toBeGreaterThan(150)
  })

  test('lets others pass, however fast it is polled', async () => {
    const { clock, flood, passed, poll, timesOf } = setUp()
    void poll(200)
    void flood()
    await clock.advance(60_000)
    expect(mostInASecond(passed.map(({ at }) => at))).toBe(4)
    expect(timesOf('other').length).toBeGreaterThan(50)
    expect(timesOf('poll').length).toBeGreaterThan(50)
  })

  test('lets none pass during a pause, and the longest pause counts', async () => {
    const { clock, gate, pass, passed } = setUp()
    gate.pause(7_000)
    gate.pause(3_000)
    void pass('poll')
    void pass('other')
    await clock.advance(6_999)
    expect(passed).toEqual([])
    await clock.advance(1)
    expect(passed.map(({ at }) => at)).toEqual([7_000, 7_000])
  })

  test('holds back those that wait when a pause begins', async () => {
    const { clock, gate, pass, timesOf } = setUp()
    for (let i = 0; i < 4; i++) void pass('other')
    await clock.advance(500)
    gate.pause(10_000)
    await clock.advance(9_999)
    expect(timesOf('other')).toHaveLength(3)
    await clock.advance(1)
    expect(timesOf('other')).toEqual([0, 0, 0, 10_500])
  })

  test('releases at once what its beacon stops, and gives its place to the next', async () => {
    const { clock, pass, timesOf } = setUp()
    const stopping = new AbortController()
    for (let i = 0; i < 3; i++) void pass('other')
    const stopped = pass('other', stopping.signal)
    void pass('other')
    await clock.advance(100)
    stopping.abort()
    await stopped
    await pass('other', stopping.signal)
    await clock.advance(2_000)
    expect(timesOf('other')).toEqual([0, 0, 0, 1_050])
  })

  test('in any order of requests, at most 4 pass in a second, and each request passes in the end', async () => {
    const asked = fc.array(
      fc.record({
        kind: fc.constantFrom<Kind>('poll', 'other'),
        afterMs: fc.integer({ min: 0, max: 700 }),
      }),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(asked, async (requests) => {
        const { clock, pass, passed } = setUp()
        for (const { kind, afterMs } of requests) {
          await clock.advance(afterMs)
          void pass(kind)
        }
        await clock.advance(30_000)
        expect(passed).toHaveLength(requests.length)
        if (requests.length > 0)
          expect(mostInASecond(passed.map(({ at }) => at))).toBeLessThanOrEqual(4)
      }),
      { seed: 1, numRuns: 50 },
    )
  })
})
