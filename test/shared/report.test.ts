import { describe, expect, test } from 'vitest'
import { answerSchema, maxChanges, type Report, reportSchema } from '../../shared/report.ts'

const event = {
  eventId: 'a1',
  eventType: 'Freeze',
  status: 'Scheduled' as const,
  resources: ['web_0'],
}
const report: Report = {
  version: 1,
  vm: {
    name: 'web_0',
    vmId: 'id',
    resourceGroup: 'shop',
    subscriptionId: '',
    scaleSet: '',
    placementGroup: '',
    location: 'westeurope',
    zone: '1',
    tags: { tier: 'db' },
  },
  beacon: { version: '0.1.0', bootId: 'boot-0001', counter: 1, uptimeMs: 5 },
  document: {
    ageMs: 0,
    incarnation: 2,
    apiVersion: '2020-07-01',
    events: [event],
    unreadable: 1,
    hidden: ['b2'],
  },
  changes: [{ kind: 'gone', ageMs: 3, lastSeenAgeMs: 1003, firstPoll: false, event }],
  starts: [{ eventId: 'a1', ageMs: 2, outcome: 'rejected', status: 400 }],
}

test('a report comes through JSON as it was', () => {
  expect(reportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report)
})

test('what IMDS left out has a default', () => {
  const { vm } = reportSchema.parse({ ...report, vm: { name: 'web_0' } })
  expect(vm).toMatchObject({ name: 'web_0', zone: '', tags: {} })
  const [change] = reportSchema.parse({
    ...report,
    changes: [{ kind: 'changed', ageMs: 0, event }],
  }).changes
  expect(change?.firstPoll).toBe(false)
})

test('an older beacon counts no unreadable entries and hides no events', () => {
  const { unreadable: _u, hidden: _h, ...document } = report.document!
  const parsed = reportSchema.parse({ ...report, document }).document
  expect(parsed).toMatchObject({ unreadable: 0, hidden: [] })
})

test('event ids become lower case, wherever they stand', () => {
  const upper = { ...event, eventId: 'ABC' }
  const parsed = reportSchema.parse({
    ...report,
    document: { ...report.document, events: [upper] },
    changes: [{ kind: 'appeared', ageMs: 0, event: upper }],
    starts: [{ eventId: 'ABC', ageMs: 0, outcome: 'unreachable' }],
  })
  const ids = [
    parsed.document?.events[0]?.eventId,
    parsed.changes[0]?.event.eventId,
    parsed.starts[0]?.eventId,
  ]
  expect(ids).toEqual(['abc', 'abc', 'abc'])
})

describe('refused', () => {
  const change = report.changes[0]
  test.each<[string, object]>([
    ['another version', { version: 2 }],
    ['no vm name', { vm: { ...report.vm, name: '' } }],
    ['a counter of zero', { beacon: { ...report.beacon, counter: 0 } }],
    ['a short boot id', { beacon: { ...report.beacon, bootId: 'b' } }],
    ['a negative age', { document: { ...report.document, ageMs: -1 } }],
    ['an age that is no number', { changes: [{ ...change, ageMs: Number.NaN }] }],
    ['an unknown kind', { changes: [{ ...change, kind: 'moved' }] }],
    ['too many changes', { changes: Array.from({ length: maxChanges + 1 }, () => change) }],
    ['an unknown outcome', { starts: [{ eventId: 'a', ageMs: 0, outcome: 'maybe' }] }],
    ['a missing document', { document: undefined }],
    ['less than no unreadable entries', { document: { ...report.document, unreadable: -1 } }],
    ['half an unreadable entry', { document: { ...report.document, unreadable: 0.5 } }],
  ])('%s', (_, fields) => {
    expect(reportSchema.safeParse({ ...report, ...fields }).success).toBe(false)
  })
})

describe('tags', () => {
  const parse = (tags: unknown) => reportSchema.safeParse({ ...report, vm: { ...report.vm, tags } })
  const many = (count: number, value: unknown = 'x') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`tag${i}`, value]))
  const longest = 'x'.repeat(256)

  test('up to the limits pass', () => {
    const tags = { ...many(49, longest), [longest]: '' }
    expect(parse(tags).data?.vm.tags).toEqual(tags)
  })

  test.each<[string, unknown]>([
    ['one too many', many(51)],
    ['a name too long', { [`${longest}x`]: '' }],
    ['a value too long', { tag: `${longest}x` }],
    ['a value that is no text', { tag: 5 }],
    ['a list', ['a']],
    ['a text', 'a'],
  ])('%s is refused', (_, tags) => {
    expect(parse(tags).success).toBe(false)
  })

  test('of too many none is looked at: there is one error, and it names the limit', () => {
    const { error } = parse(many(9_000, { bad: true }))
    expect(error?.issues).toHaveLength(1)
    expect(error?.issues[0]).toMatchObject({
      path: ['vm', 'tags'],
      message: expect.stringMatching(/50.*9000/),
    })
  })
})

describe('the answer', () => {
  const directive = { eventId: 'a1', eventType: 'Freeze', resources: ['web_0'] }
  const answer = { outcome: 'accepted', time: 1, paceMs: 2_000, directives: [directive] }
  test('passes as documented', () => {
    const refused = [{ eventId: 'e1', reason: 'the fleet has 2000 open events' }]
    const preparations = [{ eventId: 'e2', when: 'hold' }]
    const whole = { ...answer, preparations, refused }
    expect(answerSchema.parse(whole)).toEqual(whole)
    const bounded = { ...directive, durationSeconds: 9, source: 'User' }
    const bounds = { ...answer, directives: [bounded] }
    expect(answerSchema.parse(bounds)).toMatchObject(bounds)
  })

  test('of a relay that refuses no event by itself, has none refused', () => {
    expect(answerSchema.parse(answer)).toEqual({ ...answer, preparations: [], refused: [] })
  })

  test.each<[string, object]>([
    ['a pace that would flood the relay', { paceMs: 0 }],
    ['a pace of two days', { paceMs: 2 * 86_400_000 }],
    ['no directives', { directives: undefined }],
    ['a directive without an event', { directives: [{ ...directive, eventId: '' }] }],
    ['a directive with a long id', { directives: [{ ...directive, eventId: 'a'.repeat(257) }] }],
    ['a directive without a type', { directives: [{ ...directive, eventType: undefined }] }],
    ['a directive without VMs', { directives: [{ ...directive, resources: undefined }] }],
    [
      'a directive with a duration in words',
      { directives: [{ ...directive, durationSeconds: '9' }] },
    ],
  ])('is refused with %s', (_, fields) => {
    expect(answerSchema.safeParse({ ...answer, ...fields }).success).toBe(false)
  })
})
