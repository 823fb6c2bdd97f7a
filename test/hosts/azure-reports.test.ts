// When a report is answered on Azure Functions, while the storage or the process is slow.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ReportAnswers } from '../../functions/host/azure/report-answers.ts'
import { WatchedTable } from '../../functions/store/azure/watched.ts'
import { createLog } from '../../shared/log.ts'

let storageWaitsMs: number
let lines: string[]
let answers: ReportAnswers

beforeEach(() => {
  vi.useFakeTimers()
  storageWaitsMs = 0
  lines = []
  const log = createLog({ write: (line) => lines.push(line), now: Date.now, level: 'info' })
  answers = new ReportAnswers({
    ...{ storageWaitsMs: () => storageWaitsMs, isSecure: true, log, now: Date.now },
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const stored = () => Response.json({}, { status: 200 })

/** What the beacon gets, and after how long. */
async function answered(work: Parameters<ReportAnswers['answer']>[0]) {
  const from = Date.now()
  const answer = answers.answer(work).then(async (response) => {
    const { code } = (await response.json()) as { code?: string }
    return [response.status, code, Date.now() - from]
  })
  await vi.advanceTimersByTimeAsync(20_000)
  return answer
}

const taking = (ms: number) => async () => {
  await after(ms)
  return stored()
}

test.each([
  ['a report that takes a moment', 100, 0, [200, undefined, 100]],
  ['one that takes long while the storage answers', 8_000, 3_999, [200, undefined, 8_000]],
  ['one whose storage hangs', 8_000, 4_000, [503, 'storage_unavailable', 4_500]],
  ['one that takes longer than beacons wait', 12_000, 0, [503, 'relay_overloaded', 9_000]],
])('%s', async (_, tookMs, waitsMs, expected) => {
  storageWaitsMs = waitsMs
  expect(await answered(taking(tookMs))).toEqual(expected)
})

test('a report that is stored is answered 200, whatever its channels do', async () => {
  storageWaitsMs = 9_000
  const work: Parameters<ReportAnswers['answer']>[0] = async (ready) => {
    await after(2_000)
    ready(stored())
    await after(60_000)
    return stored()
  }
  expect(await answered(work)).toEqual([200, undefined, 4_500])
})

test('more reports than it can work on are refused before the work, with a line in the log', async () => {
  let begun = 0
  const work = async () => {
    begun += 1
    await after(1_000)
    return stored()
  }
  const all = Array.from({ length: 70 }, () => answers.answer(work))
  await vi.advanceTimersByTimeAsync(1_000)
  const responses = await Promise.all(all)
  expect(begun).toBe(64)
  expect(responses.filter(({ status }) => status === 503)).toHaveLength(6)
  expect(responses.at(-1)!.headers.get('retry-after')).toBe('2')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'reports_refused', code: 'relay_overloaded', underWay: 64 },
  ])
  expect(await answered(work)).toEqual([200, undefined, 1_000])
})

test('the storage is watched by its oldest call', async () => {
  const calls: (() => void)[] = []
  const read = () => new Promise<undefined>((resolve) => calls.push(() => resolve(undefined)))
  const table = new WatchedTable({ read } as never, Date.now)
  expect(table.waitsMs()).toBe(0)
  void table.read('p', 'a')
  await vi.advanceTimersByTimeAsync(1_000)
  void table.read('p', 'b')
  await vi.advanceTimersByTimeAsync(500)
  expect(table.waitsMs()).toBe(1_500)
  calls[0]!()
  await vi.advanceTimersByTimeAsync(0)
  expect(table.waitsMs()).toBe(500)
})
