// The arithmetic of the cost table, against rows that were worked out by hand.
import { expect, test } from 'vitest'
import { activeShare, type Bill, billedMs, flexBill, type Month, monthSeconds } from './bill.ts'
import { type WorkersBill, workersBill } from './cloudflare-bill.ts'

const minute = 60_000
const heartbeats = { paceMs: 15 * minute, arrivalsMs: [] as number[] }
const events = { tenants: 0, each: 0, arrivalsMs: [] as number[] }
const quiet: Month = {
  heartbeats,
  events,
  requests: 0,
  requestMs: 40,
  timerRuns: 0,
  timerMs: 0,
  tableOperations: 0,
}
/** A request each second, 1,000 times. */
const seconds = Array.from({ length: 1_000 }, (_, i) => i * 1_000)
/** 1,000 requests, one each 25 ms. */
const together = Array.from({ length: 1_000 }, (_, i) => i * 25)

type Row = [what: string, month: Partial<Month>, expected: Partial<Bill>]

test.each<Row>([
  // the host asks its queue every two seconds
  ['nothing but the queue', {}, { total: (monthSeconds / 2) * 0.0000004 }],
  // 300 000 runs at 1 s at least and 0.5 GB are 150 000 GB-s; 50 000 of them and 50 000 runs are not free
  ['a second for each run', { timerRuns: 300_000 }, { time: 1.3, executions: 0.02 }],
  // 0.5 GB have a quarter of a core, of which 0.15 may be used: 3 s of work a second need twenty
  [
    'twenty instances, always',
    { requests: 1_000 * monthSeconds },
    { time: (20 * 1_314_900 * activeShare(50, 40) - 100_000) * 0.000026 },
  ],
  // 300 000 runs of 2 s
  ['a slow timer', { timerRuns: 300_000, timerMs: 2_000 }, { time: 5.2 }],
  // 40 a second keep one instance busy for 25.1 s of 300: 110 017 GB-s. 8.766 million are executed
  [
    'heartbeats in a window',
    { heartbeats: { paceMs: 5 * minute, arrivalsMs: together } },
    { time: 0.26, executions: 3.41 },
  ],
  // the same, while 100 others a second keep two instances busy: three in the window
  [
    'a window in a storm',
    { heartbeats: { paceMs: 5 * minute, arrivalsMs: together }, requests: 100 * monthSeconds },
    {
      time:
        ((25.1 / 300) * 3 * activeShare((100 + 1_000 / 25.1) / 3, 40) +
          (274.9 / 300) * 2 * activeShare(50, 40)) *
          1_314_900 *
          0.000026 -
        2.6,
    },
  ],
  // 100 events of a tenant, each billed for 1 000 s, are 0.038 of the month, and those of ten 0.322
  [
    'events of ten tenants',
    { events: { tenants: 10, each: 100, arrivalsMs: seconds } },
    {
      time: (1 - (1 - 100_000 / monthSeconds) ** 10) * 1_314_900 * 0.000026 - 2.6,
      executions: 0.3,
    },
  ],
])('%s', (_what, month, expected) => {
  const bill = flexBill({ ...quiet, ...month })
  for (const [part, usd] of Object.entries(expected)) {
    expect(bill[part as keyof Bill], part).toBeCloseTo(usd, 2)
  }
})

test.each<[what: string, startsMs: number[], expected: number]>([
  ['nothing', [], 0],
  ['one', [500], 1_000],
  ['two at once', [500, 500], 1_000],
  ['two in one second, which do not overlap', [0, 400], 1_000],
  ['one that ends after the second: another second', [0, 990], 2_000],
  ['two with a pause', [0, 5_000], 2_000],
  ['many that overlap, in steps of 100 ms', [0, 30, 60, ...together.map((ms) => ms + 80)], 25_100],
  [
    'many that do not, each in the second before',
    Array.from({ length: 60 }, (_, i) => i * 50),
    3_000,
  ],
])('billed for %s', (_what, startsMs, expected) => {
  expect(billedMs(startsMs, 40)).toBe(expected)
})

test.each([
  // 43 830 runs of the cron trigger are free
  ['no VM', 0, 5, { total: 5 }],
  // 8.766 million heartbeats and the runs: 7.81 million requests of the object are not free
  ['1,000 VMs', 1_000, 5, { requests: 1.17, duration: 0, rows: 0, total: 6.17 }],
  // 87.66 million heartbeats write 262.98 million rows, and the runs 0.04 million
  ['10,000 VMs', 10_000, 5, { requests: 23.31 + 13.01, rows: 125.36 }],
])('on Cloudflare: %s', (_what, vms, minutes, expected) => {
  const bill = workersBill(vms, minutes)
  for (const [part, usd] of Object.entries(expected)) {
    expect(bill[part as keyof WorkersBill], part).toBeCloseTo(usd, 1)
  }
})
