// The calculation behind the README's cost table, against rows that were worked out by hand.
import { expect, test } from 'vitest'
import { createRandom } from '../../sim/random.ts'
import { monthSeconds } from './assumptions.ts'
import { type Bill, consumptionBill, flexBill, type Group, type Load, type Setup } from './bill.ts'
import { activeShare, instancesFor, metered } from './meter.ts'

const setup: Setup = { memoryMb: 512, concurrency: 100, logCapGbADay: 1 }

function group(changes: Partial<Group> = {}): Group {
  return { executions: 0, durationMs: 40, regular: false, processorMs: 0, ...changes }
}

function load(changes: Partial<Load> = {}): Load {
  const none = {
    tableOperations: 0,
    queueOperations: 0,
    blobWrites: 0,
    logBytes: 0,
    storedBytes: 0,
  }
  return { groups: [], ...none, ...changes }
}

type Row = [what: string, load: Load, expected: Partial<Bill>]

test.each<Row>([
  ['nothing', load(), { total: 0 }],
  [
    // 300 000 runs at 1 s at least and 0.5 GB are 150 000 GB-s; 50 000 of them and 50 000 runs are not free
    'a timer: a second for each run',
    load({ groups: [group({ executions: 300_000, regular: true })] }),
    { time: 50_000 * 0.000026, executions: 0.05 * 0.4, total: 1.3 + 0.02 },
  ],
  [
    // busy all the time: 2 629 800 s at 0.5 GB less 100 000 GB-s; 2 629.8 million less 0.25
    'a thousand requests a second: one instance, always',
    load({ groups: [group({ executions: 1_000 * monthSeconds })] }),
    { time: 1_214_900 * 0.000026, executions: 2_629.55 * 0.4 },
  ],
  [
    // 0.5 GB have a quarter of a core, of which 0.15 may be used: 0.4 s of work a second need three
    'the same with 0.4 ms of processor time each: three instances',
    load({ groups: [group({ executions: 1_000 * monthSeconds, processorMs: 0.4 })] }),
    { time: (3 * 1_314_900 - 100_000) * 0.000026 },
  ],
  [
    '10 million operations on tables and 1 million on the queue',
    load({ tableOperations: 10_000_000, queueOperations: 1_000_000 }),
    { storage: 0.36 + 0.4 },
  ],
  ['15 GB of logs, of which 5 are free', load({ logBytes: 15e9 }), { logs: 23 }],
  ['100 GB of logs, of which a GB a day comes in', load({ logBytes: 100e9 }), { logs: 58.50625 }],
  [
    '90 000 writes of blobs, 2 GB kept',
    load({ blobWrites: 90_000, storedBytes: 2e9 }),
    { rest: 0.54 },
  ],
])('Flex Consumption: %s', (_what, month, expected) => {
  expectBill(flexBill(month, setup), expected)
})

test.each<Row>([
  [
    // 100 ms at least and 512 MB: 20 million are 1 000 000 GB-s, of which 400 000 are free
    'short executions',
    load({ groups: [group({ executions: 20_000_000 })] }),
    { time: 600_000 * 0.000016, executions: 19 * 0.2, total: 9.6 + 3.8 },
  ],
  [
    '250 ms each',
    load({ groups: [group({ executions: 20_000_000, durationMs: 250 })] }),
    { time: (20_000_000 * 0.25 * 0.5 - 400_000) * 0.000016 },
  ],
])('the old plan: %s', (_what, month, expected) => {
  expectBill(consumptionBill(month, setup), expected)
})

function expectBill(bill: Bill, expected: Partial<Bill>): void {
  for (const [part, usd] of Object.entries(expected)) {
    expect(bill[part as keyof Bill], part).toBeCloseTo(usd, 2)
  }
}

const span = (startedAt: number, endedAt: number) => ({ startedAt, endedAt })

test.each([
  ['one is billed a second', [span(0, 350)], 1_000],
  ['one more within that second costs nothing', [span(0, 350), span(450, 650)], 1_000],
  ['one more across its end costs another second', [span(0, 350), span(900, 1_100)], 2_000],
  ['one more after it, too', [span(0, 350), span(5_000, 5_010)], 2_000],
  [
    'those that overlap are billed once',
    [span(0, 1_500), span(200, 900), span(1_000, 2_310)],
    2_400,
  ],
  ['nothing', [], 0],
])('an instance: %s', (_what, spans, billedMs) => {
  expect(metered(spans)).toBe(billedMs)
})

test.each([0.01, 0.3, 1, 3, 10])(
  'at %d requests a second the formula is what is metered',
  (rate) => {
    const random = createRandom(1)
    const durationMs = 60
    const spans = []
    let at = 0
    for (let i = 0; i < 20_000; i++) {
      at += (-Math.log(1 - random.next()) / rate) * 1_000
      spans.push(span(at, at + durationMs))
    }
    const share = metered(spans) / at
    expect(Math.abs(share / activeShare(rate, durationMs) - 1)).toBeLessThan(0.02)
  },
)

test('what takes more than a second is not modelled', () => {
  expect(() => activeShare(1, 1_001)).toThrow('1001 ms')
})

test.each([
  [0, 1, 1],
  // with 5 under way on average, all but one in a hundred find at most 11
  [5, 1, 11],
  [5, 16, 1],
  [5, 5, 3],
])('%d under way, %d on an instance: %d instances', (underWay, concurrency, instances) => {
  expect(instancesFor(underWay, concurrency)).toBe(instances)
})
