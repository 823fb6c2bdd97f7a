// SmallRows of every api-version, as they are documented and as they were met in the field.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ApiVersion,
  apiVersions,
  type EventsDocument,
  limits,
  parseDocument,
  scheduledEventSchema,
} from '../../shared/document.ts'
import { parseNotBefore } from '../../shared/not-before.ts'
import { cut } from '../../shared/text.ts'

// The same values in every run; a failure prints what is needed to see it again.
fc.configureGlobal({ seed: 1 })

const newest = apiVersions[0]
const eventId = '602d9444-d2cd-49c7-8624-8643e7171297'
const raw = {
  EventId: eventId,
  EventType: 'Reboot',
  ResourceType: 'VirtualMachine',
  Resources: ['web_0'],
  EventStatus: 'Scheduled',
  NotBefore: 'Mon, 19 Sep 2016 18:29:47 GMT',
  Description: 'Host is being updated.',
  EventSource: 'Platform',
  DurationInSeconds: -1,
}
const plain = {
  eventId,
  eventType: 'Reboot',
  status: 'Scheduled',
  resources: ['web_0'],
  notBeforeAt: Date.UTC(2016, 8, 19, 18, 29, 47),
  description: 'Host is being updated.',
  source: 'Platform',
  durationSeconds: -1,
}

const none = { count: 0, samples: [] }

function read(value: unknown, apiVersion: ApiVersion = newest): EventsDocument {
  const document = parseDocument(JSON.stringify(value), apiVersion)
  if (typeof document === 'string') throw new Error(document)
  return document
}

function readEvent(fields: object, apiVersion: ApiVersion = newest) {
  return read({ DocumentIncarnation: 1, Events: [{ ...raw, ...fields }] }, apiVersion).events[0]
}

describe('each api-version', () => {
  /** What each version brought; a document of an older one lacks it. */
  const since: Record<string, ApiVersion> = {
    DurationInSeconds: '2020-07-01',
    EventSource: '2019-08-01',
    Description: '2019-04-01',
  }
  const canonical: Record<string, keyof typeof plain> = {
    DurationInSeconds: 'durationSeconds',
    EventSource: 'source',
    Description: 'description',
  }

  test.each(apiVersions)('%s gives the fields that it knows, and no others', (apiVersion) => {
    const sent: Record<string, unknown> = { ...raw }
    const expected: Record<string, unknown> = { ...plain }
    for (const [field, version] of Object.entries(since)) {
      if (apiVersion >= version) continue
      delete sent[field]
      delete expected[canonical[field]!]
    }
    if (apiVersion === '2017-03-01') sent.Resources = ['_web_0']
    expect(read({ DocumentIncarnation: 7, Events: [sent] }, apiVersion)).toEqual({
      incarnation: 7,
      events: [expected],
      oddities: [],
      unreadable: none,
    })
  })

  test('they are listed newest first', () => {
    expect([...apiVersions].sort().reverse()).toEqual([...apiVersions])
  })

  test.each(apiVersions)('%s takes the underscore off in the preview only', (apiVersion) => {
    const names = readEvent({ Resources: ['_FrontEnd_IN_0', '__odd', '_'] }, apiVersion)?.resources
    const isPreview = apiVersion === '2017-03-01'
    expect(names).toEqual(isPreview ? ['FrontEnd_IN_0', '_odd'] : ['_FrontEnd_IN_0', '__odd', '_'])
  })
})

describe('NotBefore', () => {
  const at = Date.UTC(2016, 8, 19, 18, 29, 47)
  test.each([
    ['Mon, 19 Sep 2016 18:29:47 GMT', at],
    ['Fri, 19 Sep 2016 18:29:47 GMT', at],
    ['Xyz, 19 Sep 2016 18:29:47 GMT', at],
    ['19 Sep 2016 18:29:47 GMT', at],
    ['mon, 19 sep 2016 18:29:47 gmt', at],
    ['Mon, 5 Sep 2016 18:29:47 GMT', Date.UTC(2016, 8, 5, 18, 29, 47)],
    ['2016-09-19T18:29:47Z', at],
    ['2016-09-19T18:29:47', at],
    ['2016-09-19T18:29:47.250Z', at + 250],
    ['2016-09-19T20:29:47+02:00', at],
    ['2016-09-19T18:29Z', at - 47_000],
    ['', undefined],
    ['soon', undefined],
    ['2016-13-19T18:29:47Z', undefined],
    ['19 Sep 2016', undefined],
    ['1474309787', undefined],
    // days and times that no calendar has, which Date.parse moves to the next month or day
    ['31 Feb 2026 10:00:00 GMT', undefined],
    ['2026-02-31T10:00:00Z', undefined],
    ['2026-02-28T24:00:00Z', undefined],
    ['28 Feb 2026 10:60:00 GMT', undefined],
    ['28 Fab 2026 10:00:00 GMT', undefined],
    ['2026-02-28T10:00:00+25:00', undefined],
    // Date.parse reads a year below 100 as one of the last or this century
    ['Mon, 01 Jan 0026 10:00:00 GMT', undefined],
    ['Mon, 01 Jan 0070 10:00:00 GMT', undefined],
    ['Mon, 01 Jan 26 10:00:00 GMT', undefined],
  ])('%s', (text, expected) => {
    expect(parseNotBefore(text)).toBe(expected)
  })

  // .NET's first and last date, which it writes if there is no date
  test.each([
    '0001-01-01T00:00:00',
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00.0000000Z',
    '0001-01-01T00:00:00+01:00',
    'Mon, 01 Jan 0001 00:00:00 GMT',
    '9999-12-31T23:59:59.9999999',
    '9999-12-31T23:59:59.9999999Z',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    '1970-01-01T00:00:00Z',
  ])('%s is a placeholder and no date', (text) => {
    expect(parseNotBefore(text)).toBeUndefined()
    expect(readEvent({ NotBefore: text })).not.toHaveProperty('notBeforeAt')
  })

  test('of a report from an older beacon: one that is no date is dropped, not the report', () => {
    const parse = (notBeforeAt: unknown) =>
      scheduledEventSchema.parse({ ...plain, notBeforeAt }).notBeforeAt
    expect(parse(plain.notBeforeAt)).toBe(plain.notBeforeAt)
    for (const at of [-62_135_596_800_000, 253_402_300_799_999, 978_307_200_000, 1e300, 0.5]) {
      expect(parse(at)).toBeUndefined()
    }
    expect(() => parse('soon')).toThrow(/notBeforeAt/)
  })

  test.each([{ NotBefore: '' }, { NotBefore: null }, { NotBefore: undefined }, { NotBefore: 5 }])(
    'absent as %o, without a word',
    (fields) => {
      const document = read({ Events: [{ ...raw, ...fields }] })
      expect(document.events[0]).not.toHaveProperty('notBeforeAt')
      expect(document.oddities).toEqual([])
    },
  )

  test.each([1e12, -2, 40 * 86_400])('a duration of %d s is not known, and said', (seconds) => {
    const document = read({ Events: [{ ...raw, DurationInSeconds: seconds }] })
    expect(document.events[0]).not.toHaveProperty('durationSeconds')
    expect(document.oddities).toEqual([
      `event ${eventId}: DurationInSeconds ${seconds} is no duration`,
    ])
    const parsed = scheduledEventSchema.parse({ ...plain, durationSeconds: seconds })
    expect(parsed.durationSeconds).toBeUndefined()
  })

  test.each(['.', '..'])('an event called %s is unreadable: it could have no page', (EventId) => {
    expect(read({ Events: [{ ...raw, EventId }] })).toMatchObject({
      events: [],
      unreadable: { count: 1 },
    })
    expect(() => scheduledEventSchema.parse({ ...plain, eventId: EventId })).toThrow()
  })

  test('one that is no date is absent, and said', () => {
    const document = read({ Events: [{ ...raw, NotBefore: 'soon' }] })
    expect(document.events[0]).not.toHaveProperty('notBeforeAt')
    expect(document.oddities).toEqual([`event ${eventId}: NotBefore "soon" is no date`])
  })
})

describe('odd values', () => {
  test.each([
    ['an id in upper case', { EventId: ` ${eventId.toUpperCase()} ` }, { eventId }],
    ['a type in another case', { EventType: 'reboot' }, { eventType: 'Reboot' }],
    ['a type of tomorrow', { EventType: 'Hibernate' }, { eventType: 'Hibernate' }],
    ['no type', { EventType: undefined }, { eventType: 'Unknown' }],
    ['a status in another case', { EventStatus: 'STARTED' }, { status: 'Started' }],
    ['a status of tomorrow', { EventStatus: 'Completed' }, { status: 'Unknown' }],
    ['no status', { EventStatus: undefined }, { status: 'Unknown' }],
    ['no resources', { Resources: undefined }, { resources: [] }],
    ['null resources', { Resources: null }, { resources: [] }],
    ['doubtful names', { Resources: [' a ', 'a', '', 7, 'b'] }, { resources: ['a', 'b'] }],
    ['a duration as text', { DurationInSeconds: '9' }, { durationSeconds: 9 }],
    ['an extra field', { Colour: 'red' }, plain],
  ])('%s', (_, fields, expected) => {
    expect(readEvent(fields)).toMatchObject(expected)
  })

  test.each([
    { DurationInSeconds: null },
    { DurationInSeconds: 'long' },
    { DurationInSeconds: {} },
  ])('a duration of %o is unknown', (fields) => {
    expect(readEvent(fields)).not.toHaveProperty('durationSeconds')
  })

  test('an unknown status is said', () => {
    const { oddities } = read({ Events: [{ ...raw, EventStatus: 'Completed' }] })
    expect(oddities).toEqual([`event ${eventId}: unknown EventStatus "Completed"`])
  })

  test.each([
    ['a number', 3, 3],
    ['a numeric text, as in the preview', '3', 3],
    ['nothing', undefined, undefined],
    ['a word', 'three', undefined],
  ])('an incarnation of %s', (_, sent, expected) => {
    expect(read({ DocumentIncarnation: sent, Events: [] }).incarnation).toBe(expected)
  })

  test('an event listed twice counts once', () => {
    const twice = [raw, { ...raw, EventId: eventId.toUpperCase() }]
    expect(read({ Events: twice }).events).toHaveLength(1)
  })

  test('of an event listed twice every VM counts, and each value that either entry has', () => {
    const { Description: _d, EventSource: _s, EventType: _t, ...rest } = raw
    const first = { ...rest, Resources: ['web_0'], NotBefore: '' }
    const second = { ...raw, EventId: eventId.toUpperCase(), Resources: ['WEB_0', 'web_1'] }
    expect(read({ Events: [first, second] }).events).toEqual([
      { ...plain, resources: ['web_0', 'web_1'] },
    ])
  })

  test.each([
    ['Scheduled', 'Started', 'Started'],
    ['Started', 'Scheduled', 'Started'],
    ['Started', 'Odd', 'Started'],
    ['Odd', 'Scheduled', 'Scheduled'],
  ])('an event listed as %s and as %s is %s', (first, second, expected) => {
    const twice = [first, second].map((EventStatus) => ({ ...raw, EventStatus }))
    expect(read({ Events: twice }).events).toMatchObject([{ status: expected }])
  })

  test('of values that differ between two entries the first counts', () => {
    const twice = [raw, { ...raw, EventType: 'Freeze', DurationInSeconds: 9 }]
    expect(read({ Events: twice }).events).toEqual([plain])
  })

  test('long values are cut, and the result is still a valid event', () => {
    const long = {
      Description: '🙂'.repeat(limits.text),
      EventType: 'x'.repeat(limits.name + 1),
      Resources: Array.from({ length: limits.resources + 1 }, (_, i) => `vm${i}`),
    }
    const event = readEvent(long)
    expect(scheduledEventSchema.parse(event)).toEqual(event)
    expect(event?.resources).toHaveLength(limits.resources)
    expect(event?.description?.isWellFormed()).toBe(true)
  })
})

describe('what is no document is a failed poll, never "no events"', () => {
  test.each([
    ['', 'the body is empty'],
    [' \n', 'the body is empty'],
    ['<html>Bad Gateway</html>', 'the body is not JSON: <html>Bad Gateway</html>'],
    ['{"Events":[', 'the body is not JSON: {"Events":['],
    ['null', 'no document with an Events array: null'],
    ['[]', 'no document with an Events array: []'],
    ['{}', 'no document with an Events array: {}'],
    ['{"Events":null}', 'no document with an Events array: {"Events":null}'],
    ['{"Events":{}}', 'no document with an Events array: {"Events":{}}'],
  ])('%s', (text, sentence) => {
    expect(parseDocument(text, newest)).toBe(sentence)
  })
})

describe('an entry that cannot be read', () => {
  const odd: unknown[] = [
    null,
    7,
    'text',
    true,
    [],
    [raw],
    {},
    { ...raw, EventId: undefined },
    { ...raw, EventId: null },
    { ...raw, EventId: 7 },
    { ...raw, EventId: '' },
    { ...raw, EventId: '  ' },
    { ...raw, EventId: {} },
    { ...raw, EventId: [eventId] },
    { ...raw, EventId: `Drill-${eventId}` },
  ]

  test.each(odd.map((entry) => [JSON.stringify(entry), entry]))('%s hides no other', (_, entry) => {
    for (const Events of [
      [entry, raw],
      [raw, entry],
      [entry, raw, entry],
    ]) {
      const document = read({ Events })
      expect(document.events).toEqual([plain])
      expect(document.unreadable.count).toBe(Events.length - 1)
    }
  })

  test('alone is not "no events": it is counted', () => {
    expect(read({ Events: [null] })).toMatchObject({ events: [], unreadable: { count: 1 } })
    expect(read({ Events: [] }).unreadable).toEqual({ count: 0, samples: [] })
  })

  test('may be nested as deep as it likes', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const text = `{"Events":[${deep},${JSON.stringify(raw)}]}`
    expect(parseDocument(text, newest)).toMatchObject({ events: [plain], unreadable: { count: 1 } })
  })

  test('is kept in part, and of many a few', () => {
    const long = { Description: 'x'.repeat(9_000) }
    const { unreadable } = read({ Events: Array.from({ length: 5_000 }, () => long) })
    expect(unreadable.count).toBe(5_000)
    expect(JSON.stringify(unreadable.samples).length).toBeLessThan(20_000)
  })
})

describe('more events than a report holds', () => {
  const many = Array.from({ length: limits.events + 3 }, (_, i) => ({
    ...raw,
    EventId: `e${i}`,
    Resources: [i > limits.events ? 'Web_9' : 'web_0'],
  }))

  test('the first are read, and the others counted', () => {
    const document = read({ Events: many })
    expect(document.events.map((event) => event.eventId)).toEqual(
      many.slice(0, limits.events).map((event) => event.EventId),
    )
    expect(document.unreadable.count).toBe(3)
  })

  test('those that hit this VM are read before all others', () => {
    const text = JSON.stringify({ Events: many })
    const document = parseDocument(text, newest, 'web_9') as EventsDocument
    const ids = document.events.map((event) => event.eventId)
    expect(ids.slice(0, 3)).toEqual([`e${limits.events + 1}`, `e${limits.events + 2}`, 'e0'])
    expect(ids).toHaveLength(limits.events)
  })

  test('as many as fit stay in the order of the document', () => {
    const text = JSON.stringify({ Events: many.slice(-limits.events) })
    const document = parseDocument(text, newest, 'web_9') as EventsDocument
    expect(document.events[0]?.eventId).toBe('e3')
    expect(document.unreadable.count).toBe(0)
  })
})

test("the course of a live migration, from Microsoft's page", () => {
  const migration = {
    EventId: 'C7061BAC-AFDC-4513-B24B-AA5F13A16123',
    EventStatus: 'Scheduled',
    EventType: 'Freeze',
    ResourceType: 'VirtualMachine',
    Resources: ['WestNO_0', 'WestNO_1'],
    NotBefore: 'Mon, 11 Apr 2022 22:26:58 GMT',
    Description:
      'Virtual machine is being paused because of a memory-preserving Live Migration operation.',
    EventSource: 'Platform',
    DurationInSeconds: 5,
  }
  const started = { ...migration, EventStatus: 'Started', NotBefore: '' }
  const course = [[], [migration], [started], []]
  const documents = course.map((Events, i) => read({ DocumentIncarnation: i + 1, Events }))
  const expected = {
    eventId: 'c7061bac-afdc-4513-b24b-aa5f13a16123',
    eventType: 'Freeze',
    resources: ['WestNO_0', 'WestNO_1'],
    description: migration.Description,
    source: 'Platform',
    durationSeconds: 5,
  }
  expect(documents).toEqual([
    { incarnation: 1, events: [], oddities: [], unreadable: none },
    {
      incarnation: 2,
      events: [
        { ...expected, status: 'Scheduled', notBeforeAt: Date.UTC(2022, 3, 11, 22, 26, 58) },
      ],
      oddities: [],
      unreadable: none,
    },
    {
      incarnation: 3,
      events: [{ ...expected, status: 'Started' }],
      oddities: [],
      unreadable: none,
    },
    { incarnation: 4, events: [], oddities: [], unreadable: none },
  ])
})

describe('properties', () => {
  const version = fc.constantFrom(...apiVersions)
  /** Events that are half right: known fields with any value. */
  const oddEvent = fc.record(
    Object.fromEntries(
      Object.entries(raw).map(([field, value]) => [
        field,
        fc.oneof(fc.constant(value), fc.jsonValue()),
      ]),
    ),
    { requiredKeys: ['EventId'] },
  )
  const check = (text: string, apiVersion: ApiVersion) => {
    const document = parseDocument(text, apiVersion)
    if (typeof document === 'string') expect(document).not.toBe('')
    else
      for (const event of document.events) expect(scheduledEventSchema.parse(event)).toEqual(event)
  }

  test('any text is a sentence or a document of valid events', () => {
    fc.assert(fc.property(fc.string(), version, check))
    fc.assert(fc.property(fc.json(), version, check))
  })

  test('so is any document of half-right events', () => {
    const documents = fc.record({ DocumentIncarnation: fc.jsonValue(), Events: fc.array(oddEvent) })
    fc.assert(
      fc.property(documents, version, (document, apiVersion) =>
        check(JSON.stringify(document), apiVersion),
      ),
    )
  })

  test('a cut text is well-formed, no longer than asked for, and a prefix', () => {
    const text = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (whole, length) => {
        const short = cut(whole, length)
        expect(short.length).toBeLessThanOrEqual(length)
        expect(short.isWellFormed()).toBe(true)
        expect(whole.startsWith(short.replace(/…$/, ''))).toBe(true)
      }),
    )
  })
})
