// The check of a list stops after a few mistakes: a report of 256 KB may be wrong in every entry.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { maxWrongEntries, readList } from '../../shared/bounded.ts'
import { describeIssues, maxDescribed } from '../../shared/errors.ts'
import { maxReportBytes, reportSchema } from '../../shared/report.ts'
import { event, FakeBeacon } from '../support/world.ts'

const names = readList(z.string().min(1), 20)

const zeros = (length: number) => Array<number>(length).fill(0)
const issuesOf = (schema: z.core.$ZodType, value: unknown) =>
  (z.safeParse(schema, value).error?.issues ?? []).map(({ path }) => path)

describe('a list', () => {
  test('is read as its items are', () => {
    expect(names.parse(['a', 'b'])).toEqual(['a', 'b'])
    expect(readList(z.string().toLowerCase(), 2).parse(['A'])).toEqual(['a'])
    expect(readList(z.object({ a: z.int().default(7) }), 2).parse([{}])).toEqual([{ a: 7 }])
  })

  test('says where it is wrong, for the first entries that are', () => {
    expect(issuesOf(names, ['a', 1, ''])).toEqual([[1], [2]])
    expect(issuesOf(z.object({ list: names }), { list: ['', 'a', 0] })).toEqual([
      ['list', 0],
      ['list', 2],
    ])
    expect(issuesOf(names, zeros(20))).toHaveLength(maxWrongEntries)
  })

  test('that is too long, or none, is one mistake', () => {
    for (const value of [zeros(21), 'a', {}, null]) expect(issuesOf(names, value)).toEqual([[]])
  })
})

const usual = new FakeBeacon({ app: { request: fail }, clock: { now: 0 } }, 'web_0').body([])
const document = { ageMs: 0, apiVersion: '2020-07-01' }

function fail(): never {
  throw new Error('nothing is sent')
}

/** As many copies as fill a report. */
function manyOf(entry: unknown, limit = Number.POSITIVE_INFINITY) {
  const room = Math.floor((maxReportBytes - 2_000) / (JSON.stringify(entry).length + 1))
  return Array(Math.min(room, limit)).fill(entry)
}

function keysLike(prefix: string, value: unknown) {
  return Object.fromEntries(manyOf(`${prefix}12345678`).map((_, i) => [`${prefix}${i}`, value]))
}

const hostile: [string, object][] = [
  ['tags of another type', { vm: { ...usual.vm, tags: keysLike('key', 1) } }],
  ['tags that look secret', { vm: { ...usual.vm, tags: keysLike('whsec_', 1) } }],
  [
    'a million zeros as resources',
    { document: { ...document, events: [event({ resources: zeros(127_000) as never })] } },
  ],
  [
    'zeros as resources of each event',
    { document: { ...document, events: manyOf({ ...event(), resources: zeros(1_000) }, 500) } },
  ],
  ['events that are empty', { document: { ...document, events: manyOf({}, 500) } }],
  ['changes that are empty', { changes: manyOf({}, 1_000) }],
  [
    'changes of nothing',
    { changes: manyOf({ kind: 'gone', ageMs: 0, event: { resources: zeros(99) } }, 1_000) },
  ],
  ['starts that are empty', { starts: manyOf({}, 500) }],
  ['too many of everything', { changes: zeros(60_000), starts: zeros(60_000) }],
]

describe('a report of 256 KB', () => {
  test.each(hostile)('%s: few mistakes are found, and fewer described', (_, part) => {
    const report = JSON.parse(JSON.stringify({ ...usual, ...part }))
    const { error } = reportSchema.safeParse(report)
    // ten wrong entries in each of ten lists
    expect(error!.issues.length).toBeLessThanOrEqual(5 * maxWrongEntries ** 2)
    const said = describeIssues(error!, report)
    expect(said.length).toBeLessThanOrEqual(maxDescribed + 1)
    expect(said.join('\n').length).toBeLessThan(3_000)
  })
})

test('however many are wrong, the keys of an object are listed once', () => {
  let listings = 0
  const wrong = new Proxy(keysLike('whsec_', 1), {
    ownKeys(target) {
      listings += 1
      return Reflect.ownKeys(target)
    },
  })
  const issues = Object.keys(wrong).map((key) => ({
    path: [key],
    message: 'wrong',
    code: 'custom',
  }))
  listings = 0
  const said = describeIssues({ issues } as never, wrong)
  expect(said).toHaveLength(maxDescribed + 1)
  expect(said.at(-1)).toBe(`and ${issues.length - maxDescribed} more`)
  expect(listings).toBe(1)
})
