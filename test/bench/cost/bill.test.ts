// The arithmetic of the cost table, against rows that were worked out by hand.
import { expect, test } from 'vitest'
import {
  activeShare,
  type Bill,
  consumptionBill,
  flexBill,
  type Month,
  monthSeconds,
} from './bill.ts'
import { type WorkersBill, workersBill } from './cloudflare-bill.ts'

const quiet: Month = { requests: 0, requestMs: 40, timerRuns: 0, tableOperations: 0 }

type Row = [what: string, plan: typeof flexBill, month: Partial<Month>, expected: Partial<Bill>]

test.each<Row>([
  // the host asks its queue every two seconds
  ['nothing but the queue', flexBill, {}, { total: (monthSeconds / 2) * 0.0000004 }],
  // 300 000 runs at 1 s at least and 0.5 GB are 150 000 GB-s; 50 000 of them and 50 000 runs are not free
  ['a second for each run', flexBill, { timerRuns: 300_000 }, { time: 1.3, executions: 0.02 }],
  // 0.5 GB have a quarter of a core, of which 0.15 may be used: 3 s of work a second need twenty
  [
    'twenty instances, always',
    flexBill,
    { requests: 1_000 * monthSeconds },
    { time: (20 * 1_314_900 * activeShare(50, 40) - 100_000) * 0.000026 },
  ],
  // 100 ms at least and 512 MB: 20 million are 1 000 000 GB-s, of which 400 000 are free
  ['short runs', consumptionBill, { requests: 20_000_000 }, { time: 9.6, executions: 3.8 }],
  ['250 ms each', consumptionBill, { requests: 20_000_000, requestMs: 250 }, { time: 33.6 }],
])('%s', (_what, plan, month, expected) => {
  const bill = plan({ ...quiet, ...month })
  for (const [part, usd] of Object.entries(expected)) {
    expect(bill[part as keyof Bill], part).toBeCloseTo(usd, 2)
  }
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
