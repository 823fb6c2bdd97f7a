// What a report contains, and what is left out because of its size.
import { describe, expect, test } from 'vitest'
import { type BuiltReport, buildReport, type Facts } from '../../beacon/report.ts'
import type { Pending } from '../../beacon/spool.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import { maxReportBytes, reportSchema, vmSchema } from '../../shared/report.ts'
import { anEvent } from './events.ts'

const yearMs = 366 * 86_400_000

function change(sequence: number, description = '', ageMs = 10): Pending {
  const event = anEvent({ eventId: `e${sequence}`, description })
  return {
    sequence,
    item: { kind: 'appeared', firstPoll: false, event },
    ageMs: () => ageMs,
    lastSeenAgeMs: () => undefined,
  }
}

function start(sequence: number): Pending {
  return {
    sequence,
    item: { kind: 'start', eventId: `e${sequence}`, outcome: 'accepted', status: 200 },
    ageMs: () => 20,
    lastSeenAgeMs: () => undefined,
  }
}

const keptEvent = {
  ...{ event: anEvent({ eventId: 'e9' }), lastSeenAt: 900, since: 1_000 },
  unreadable: { count: 0, samples: [] },
}

function facts(fields: Partial<Facts> = {}): Facts {
  return {
    vm: vmSchema.parse({ name: 'vm1' }),
    beacon: { version: '0.1.0', bootId: 'boot-0001', counter: 3, uptimeMs: 60_000 },
    document: {
      ...{ seenAt: 1_000, apiVersion: '2020-07-01', incarnation: 4 },
      ...{ events: [anEvent()], hidden: [keptEvent], unreadable: { count: 2, samples: [] } },
    },
    pending: [],
    now: 1_250,
    ...fields,
  }
}

function build(fields: Partial<Facts> = {}, maxBytes?: number) {
  const built = buildReport(facts(fields), maxBytes)
  if (typeof built === 'number') throw new Error(`item ${built} does not fit`)
  return { ...built, report: reportSchema.parse(JSON.parse(built.body)) }
}

const bytesOf = (built: BuiltReport) => Buffer.byteLength(built.body)

test('all that is known, in the form of the contract, with ages', () => {
  const gone: Pending = {
    ...change(1),
    item: { kind: 'gone', firstPoll: false, event: anEvent() },
    lastSeenAgeMs: () => 1_010.4,
  }
  const { report, included, more, leftOut } = build({ pending: [gone, start(2)] })
  expect(report).toEqual({
    version: 1,
    vm: vmSchema.parse({ name: 'vm1' }),
    beacon: { version: '0.1.0', bootId: 'boot-0001', counter: 3, uptimeMs: 60_000 },
    document: {
      ...{ ageMs: 250, incarnation: 4, apiVersion: '2020-07-01' },
      ...{ events: [anEvent()], unreadable: 2, hidden: ['e9'] },
    },
    changes: [
      { kind: 'gone', firstPoll: false, event: anEvent(), ageMs: 10, lastSeenAgeMs: 1_010 },
    ],
    starts: [{ eventId: 'e2', outcome: 'accepted', status: 200, ageMs: 20 }],
  })
  expect({ included, more, leftOut }).toEqual({ included: [1, 2], more: false, leftOut: 0 })
})

test('no document where none was seen yet', () => {
  expect(build({ document: undefined }).report.document).toBeNull()
})

test('ages and uptimes of more than a year stay within what the relay reads', () => {
  const beacon = { ...facts().beacon, uptimeMs: 2 * yearMs }
  const { report } = build({ beacon, pending: [change(1, '', 3 * yearMs)], now: 4 * yearMs })
  expect(report.beacon.uptimeMs).toBe(yearMs)
  expect(report.document?.ageMs).toBe(yearMs)
  expect(report.changes[0]?.ageMs).toBe(yearMs)
})

describe('what does not fit', () => {
  const long = 'ü'.repeat(1_900)
  const many = Array.from({ length: 300 }, (_, i) => change(i + 1, long))

  test('of the items: the oldest go first, the rest is left', () => {
    const built = build({ pending: many })
    expect(bytesOf(built)).toBeLessThanOrEqual(maxReportBytes)
    expect(bytesOf(built)).toBeGreaterThan(maxReportBytes - 4_500)
    expect(built).toMatchObject({ more: true, leftOut: 0 })
    expect(built.included).toEqual(many.slice(0, built.included.length).map((one) => one.sequence))
    expect(built.report.changes).toHaveLength(built.included.length)
  })

  test('of the items: what fills it to the byte still fits', () => {
    const pending = many.slice(0, 2)
    const whole = bytesOf(build({ pending }))
    expect(build({ pending }, whole + 2).included).toEqual([1, 2])
    expect(build({ pending }, whole - 1).included).toEqual([1])
  })

  test('more starts than the contract lets a report have', () => {
    const built = build({ pending: Array.from({ length: 501 }, (_, i) => start(i + 1)) })
    expect(built.report.starts).toHaveLength(500)
    expect(built.more).toBe(true)
  })

  const names = Array.from({ length: 300 }, (_, i) => `production-web_${i}`)
  const documentOf = (events: ScheduledEvent[]) => ({ document: { ...facts().document!, events } })
  const idsIn = ({ report }: ReturnType<typeof build>) =>
    report.document?.events.map(({ eventId }) => eventId)

  test('of the document: its descriptions go first', () => {
    const events = Array.from({ length: 100 }, (_, i) =>
      anEvent({ eventId: `d${i}`, description: long }),
    )
    const bare = build(documentOf(events))
    expect(bare.leftOut).toBe(0)
    expect(bare.report.document?.events).toHaveLength(100)
    expect(bare.report.document?.events[0]).not.toHaveProperty('description')
  })

  test('of the document: then events that hit other VMs, whose ids are named', () => {
    const events = Array.from({ length: 60 }, (_, i) =>
      anEvent({ eventId: `d${i}`, resources: i === 59 ? ['vm1', ...names] : names }),
    )
    const built = build(documentOf(events))
    const shown = idsIn(built)!
    expect(shown.slice(0, 3)).toEqual(['d59', 'd0', 'd1'])
    expect(built.leftOut).toBe(60 - shown.length)
    expect(built.report.document?.hidden).toEqual([
      'e9',
      ...events.map(({ eventId }) => eventId).filter((eventId) => !shown.includes(eventId)),
    ])
    expect(bytesOf(built)).toBeLessThanOrEqual(maxReportBytes)
    expect(bytesOf(built)).toBeGreaterThan(maxReportBytes - 7_000)
  })

  test('of the document: one large event leaves the others their room', () => {
    const large = anEvent({ eventId: 'large', resources: ['vm1', ...names] })
    const built = build(documentOf([large, anEvent({ eventId: 'small' })]), 2_000)
    expect(idsIn(built)).toEqual(['small'])
    expect(built.report.document?.hidden).toEqual(['e9', 'large'])
  })

  test('of the document: all of it, if there is no room even for the ids', () => {
    const events = Array.from({ length: 100 }, (_, i) => anEvent({ eventId: `d${i}` }))
    expect(build(documentOf(events), 600)).toMatchObject({
      ...{ leftOut: 100, report: { document: null } },
    })
  })

  test('of a document and items: the items have half of the report, so that none waits for ever', () => {
    const events = Array.from({ length: 200 }, (_, i) => anEvent({ eventId: `d${i}` }))
    const built = build({ ...documentOf(events), pending: many.slice(0, 4) }, 16_000)
    expect(built).toMatchObject({ included: [1, 2], more: true })
    expect(built.report.document?.events.length).toBeGreaterThan(0)
    const alone = build({ ...documentOf(events), pending: [change(1, long)] }, 6_000)
    expect(alone).toMatchObject({ included: [1], more: false })
  })

  test('of one item alone: it is named', () => {
    expect(buildReport(facts({ pending: [change(7, long), change(8)] }), 3_000)).toBe(7)
  })
})
