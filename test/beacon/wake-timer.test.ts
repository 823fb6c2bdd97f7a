import { expect, test } from 'vitest'
import { createWakeTimer } from '../../beacon/wake-timer.ts'
import { createFakeClock } from './fake-clock.ts'

function setUp() {
  const clock = createFakeClock()
  const due = createWakeTimer(clock)
  const stopping = new AbortController()
  const waits: number[] = []
  const wait = async (notBefore?: number) => {
    await due.wait(stopping.signal, notBefore)
    waits.push(clock.monotonic())
  }
  return { clock, due, stopping, waits, wait }
}

test('without an instant it is never due', async () => {
  const { clock, waits, wait } = setUp()
  void wait()
  await clock.advance(400 * 86_400_000)
  expect(waits).toEqual([])
})

test('it is due at the earliest instant of all, brought before or while somebody waits', async () => {
  const { clock, due, waits, wait } = setUp()
  due.bring(9_000)
  void wait()
  await clock.advance(1_000)
  due.bring(5_000)
  due.bring(7_000)
  await clock.advance(10_000)
  expect(waits).toEqual([5_000])
})

test('once it was due, it is not due again by itself', async () => {
  const { clock, due, waits, wait } = setUp()
  due.bring(1_000)
  await Promise.all([wait(), clock.advance(2_000)])
  void wait()
  await clock.advance(60_000)
  expect(waits).toEqual([1_000])
  due.bring(0)
  await clock.advance(0)
  expect(waits).toEqual([1_000, 62_000])
})

test('it is not due before the bound of who waits', async () => {
  const { clock, due, waits, wait } = setUp()
  void wait(3_000)
  due.bring(1_000)
  await clock.advance(5_000)
  expect(waits).toEqual([3_000])
})

test('a wait ends when the beacon stops, and before it begins then', async () => {
  const { clock, stopping, waits, wait } = setUp()
  void wait()
  await clock.advance(1_000)
  stopping.abort()
  await clock.advance(0)
  await wait()
  expect(waits).toEqual([1_000, 1_000])
})
