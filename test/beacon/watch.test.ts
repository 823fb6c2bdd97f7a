import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  blindMs,
  hiddenForMs,
  type Shown,
  type Snapshot,
  type Step,
  watch,
} from '../../beacon/watch.ts'
import {
  type ApiVersion,
  apiVersions,
  hits,
  limits,
  type ScheduledEvent,
} from '../../shared/document.ts'
import { anEvent } from './events.ts'

// The same values in every run; a failure prints what is needed to see it again.
fc.configureGlobal({ seed: 1 })

const [newest, older] = apiVersions
const none = { count: 0, samples: [] }
/** A document of the newest api-version with readable entries only. */
const at = (seenAt: number, ...events: ScheduledEvent[]): Shown => {
  return { seenAt, events, apiVersion: newest, unreadable: none }
}
/** What a beacon makes of a series of documents. */
const seeing = (...documents: Shown[]) =>
  documents.reduce<Snapshot | undefined>((last, next) => watch(last, next).snapshot, undefined)
/** The steps that the last of several documents causes. */
const steps = (...documents: Shown[]) =>
  watch(seeing(...documents.slice(0, -1)), documents.at(-1)!).steps
const full = anEvent({
  ...{ description: 'Host update', durationSeconds: 9, source: 'Platform' },
  resources: ['vm1', 'vm2'],
})

test('the same document again is seen later, and shows no step', () => {
  const document = at(1, full)
  const again = { ...document, seenAt: 2 }
  const first = seeing(document)
  expect(watch(first, again)).toEqual(watch(first, structuredClone(again)))
  expect(watch(first, again).snapshot.known).toBe(first?.known)
})

test('the same document again still ends an event that it hid for long enough', () => {
  const hiding = { ...at(2), unreadable: { count: 1, samples: ['?'] } }
  expect(steps(at(1, full), hiding)).toEqual([])
  expect(steps(at(1, full), hiding, { ...hiding, seenAt: 2 + hiddenForMs })).toMatchObject([
    { kind: 'gone', lastSeenAt: 1 },
  ])
})

describe('one event, before and after', () => {
  test.each<[string, Partial<ScheduledEvent>, boolean]>([
    ['nothing', {}, false],
    ['status', { status: 'Started' }, true],
    ['NotBefore', { notBeforeAt: 5 }, true],
    ['resources', { resources: ['vm1'] }, true],
    ['one name of the resources', { resources: ['vm1', 'vm3'] }, true],
    ['duration', { durationSeconds: -1 }, true],
    ['description', { description: 'Another' }, true],
    ['order of resources', { resources: ['vm2', 'vm1'] }, false],
    ['case of resources', { resources: ['VM1', 'vm2'] }, false],
    ['source', { source: 'User' }, true],
    ['case of the source', { source: 'platform' }, false],
    ['type', { eventType: 'Redeploy' }, true],
    ['case of the type', { eventType: 'REBOOT' }, false],
    ['type, which is not given', { eventType: 'Unknown' }, false],
  ])('%s differs: %o', (_, fields, isChange) => {
    const changed = { ...full, ...fields }
    const step: Step = { kind: 'changed', seenAt: 2, firstPoll: false, event: changed }
    expect(steps(at(1, full), at(2, changed))).toEqual(isChange ? [step] : [])
  })

  test.each(['notBeforeAt', 'durationSeconds', 'description', 'source'] as const)(
    '%s: no longer given is no change, given at last is one',
    (field) => {
      const without = { ...full }
      delete without[field]
      expect(steps(at(1, full), at(2, without))).toEqual([])
      expect(steps(at(1, without), at(2, full))).toMatchObject([{ kind: 'changed' }])
    },
  )

  test('resources: no longer given is no change, given at last is one', () => {
    const without = { ...full, resources: [] }
    expect(steps(at(1, full), at(2, without))).toEqual([])
    expect(steps(at(1, without), at(2, full))).toMatchObject([{ kind: 'changed' }])
  })

  test('Started empties NotBefore: one change, with what the document says', () => {
    const { notBeforeAt: _, ...rest } = full
    const started = { ...rest, status: 'Started' as const }
    expect(steps(at(1, full), at(2, started))).toEqual([
      { kind: 'changed', seenAt: 2, firstPoll: false, event: started },
    ])
  })
})

describe('coming and going', () => {
  test('an event of the first document of all', () => {
    expect(steps(at(7, full))).toEqual([
      { kind: 'appeared', seenAt: 7, firstPoll: true, event: full },
    ])
  })

  test('an event of a later document', () => {
    expect(steps(at(1), at(7, full))).toEqual([
      { kind: 'appeared', seenAt: 7, firstPoll: false, event: full },
    ])
  })

  test('an event that appears after polls failed may have been there before', () => {
    const firstAfter = (ms: number) => steps(at(1), at(1 + ms, full))[0]?.firstPoll
    expect([firstAfter(blindMs), firstAfter(blindMs + 1)]).toEqual([false, true])
  })

  test('an event that is gone, with what was last known of it and when', () => {
    expect(steps(at(1, full), at(7))).toEqual([
      { kind: 'gone', seenAt: 7, lastSeenAt: 1, firstPoll: false, event: full },
    ])
  })

  test('one goes as another comes', () => {
    const other = anEvent({ eventId: 'e2' })
    const kinds = steps(at(1, full), at(2, other)).map(({ kind, event }) => [kind, event.eventId])
    expect(kinds).toEqual([
      ['appeared', 'e2'],
      ['gone', 'e1'],
    ])
  })

  test('nothing, twice', () => {
    expect(steps(at(1))).toEqual([])
    expect(steps(at(1), at(2))).toEqual([])
  })
})

describe('values that an older api-version does not show', () => {
  const { source: _s, durationSeconds: _d, ...lesser } = full
  const old = (seenAt: number, ...events: ScheduledEvent[]): Shown => {
    return { ...at(seenAt, ...events), apiVersion: older! }
  }

  test('are neither changed when they vanish nor when they are back', () => {
    expect(steps(at(1, full), old(2, lesser))).toEqual([])
    expect(steps(at(1, full), old(2, lesser), at(3, full))).toEqual([])
    expect(steps(at(1, full), old(2, lesser), old(3, lesser), at(4, full))).toEqual([])
  })

  test('are no change but news when they become visible', () => {
    expect(watch(seeing(old(1, lesser)), at(2, full))).toMatchObject({ steps: [], learned: [full] })
    expect(watch(seeing(at(1, full)), at(2, full)).learned).toEqual([])
    expect(watch(seeing(at(1, full), old(2, lesser)), at(3, full)).learned).toEqual([])
  })

  test('have changed where they are back as others', () => {
    const longer = { ...full, durationSeconds: 90 }
    expect(steps(at(1, full), old(2, lesser), at(3, longer))).toMatchObject([
      { kind: 'changed', event: { durationSeconds: 90 } },
    ])
  })

  test('do not hide that others have changed', () => {
    const moved = { ...lesser, notBeforeAt: 5 }
    expect(steps(at(1, full), old(2, moved))).toMatchObject([{ kind: 'changed', event: moved }])
    const seen = { ...full, notBeforeAt: 5 }
    expect(steps(old(1, lesser), at(2, seen))).toMatchObject([{ kind: 'changed', event: seen }])
  })

  test('stay known as they were last seen, until the event is gone', () => {
    const last = seeing(at(1, full), old(2, { ...lesser, description: 'Another' }))
    expect(last?.known.get('e1')).toEqual({ ...full, description: 'Another' })
    expect(seeing(at(1, full), old(2), old(3, lesser))?.known.get('e1')).toEqual(lesser)
  })

  test.each<[string, ApiVersion, boolean]>([
    ['Terminate', '2019-01-01', true],
    ['Terminate', '2017-11-01', false],
    ['Preempt', '2017-11-01', true],
    ['Preempt', '2017-08-01', false],
    ['Reboot', '2017-03-01', true],
  ])('an event of type %s that %s does not have is gone: %s', (eventType, apiVersion, isGone) => {
    const next = { ...at(2), apiVersion }
    const { snapshot, steps } = watch(seeing(at(1, anEvent({ eventType }))), next)
    expect([steps.length, snapshot.hidden.length]).toEqual(isGone ? [1, 0] : [0, 1])
  })
})

describe('an event that is missing while entries cannot be read', () => {
  const unread = (seenAt: number, samples: string[], ...events: ScheduledEvent[]): Shown => {
    return { ...at(seenAt, ...events), unreadable: { count: samples.length, samples } }
  }
  const other = anEvent({ eventId: 'e2' })

  test('is kept as it was last seen, and is gone once the document is whole again', () => {
    const before = seeing(at(1, full, other), unread(2, ['?'], other), unread(3, ['?'], other))
    expect(before?.hidden).toMatchObject([{ event: full, lastSeenAt: 1 }])
    expect(before?.known.get('e1')).toEqual(full)
    expect(watch(before, at(4, other))).toMatchObject({
      steps: [{ kind: 'gone', seenAt: 4, lastSeenAt: 1, event: full }],
      snapshot: { hidden: [] },
    })
  })

  test('is no news when it is back, and changed where it came back as another', () => {
    const hidden = [at(1, full), unread(2, ['?'])]
    expect(steps(...hidden, at(3, full))).toEqual([])
    const started = { ...full, status: 'Started' as const }
    expect(steps(...hidden, at(3, started))).toMatchObject([{ kind: 'changed', event: started }])
    expect(seeing(...hidden, at(3, full))?.hidden).toEqual([])
  })

  test('is gone where the same entries could not be read while it was seen', () => {
    expect(steps(unread(1, ['?'], full), unread(2, ['?']))).toMatchObject([{ kind: 'gone' }])
    expect(steps(unread(1, ['?', '!'], full), unread(2, ['?']))).toMatchObject([{ kind: 'gone' }])
  })

  test.each<[string, string[]]>([
    ['one more', ['?', '!']],
    ['one more of the same', ['?', '?']],
    ['another one', ['!']],
  ])('is kept where %s cannot be read now', (_, now) => {
    expect(seeing(unread(1, ['?'], full), unread(2, now))?.hidden).toHaveLength(1)
  })

  test("is gone at last: the entry may be another one's", () => {
    const hidden = seeing(at(1, full), unread(2, ['?']))
    expect(watch(hidden, unread(1 + hiddenForMs, ['?'])).snapshot.hidden).toHaveLength(1)
    const end = watch(hidden, unread(2 + hiddenForMs, ['?']))
    expect(end).toMatchObject({
      steps: [{ kind: 'gone', lastSeenAt: 1 }],
      snapshot: { hidden: [] },
    })
    expect(watch(end.snapshot, unread(3 + hiddenForMs, ['?'])).steps).toEqual([])
  })

  test('is kept only as far as a report has room', () => {
    const many = Array.from({ length: limits.events }, (_, i) => anEvent({ eventId: `n${i}` }))
    const { snapshot, steps } = watch(
      seeing(at(1, full, other)),
      unread(2, ['?'], ...many.slice(1)),
    )
    expect(snapshot.events.length + snapshot.hidden.length).toBe(limits.events)
    expect(steps.filter(({ kind }) => kind === 'gone')).toHaveLength(1)
  })
})

test.each([
  [['vm1'], 'vm1', true],
  [['VM1'], 'vm1', true],
  [['vm10'], 'vm1', false],
  [['vm1'], 'vm10', false],
  [['a', 'vm1'], 'vm1', true],
  [['vm1.example'], 'vm1', false],
  [[], 'vm1', false],
])('resources %j hit %s: %s', (resources, name, expected) => {
  expect(hits(anEvent({ resources }), name)).toBe(expected)
})

describe('properties', () => {
  const event = fc.record({
    eventId: fc.constantFrom('a', 'b', 'c', 'd'),
    eventType: fc.constant('Freeze'),
    status: fc.constantFrom('Scheduled' as const, 'Started' as const),
    resources: fc.subarray(['vm1', 'vm2', 'vm3'], { minLength: 1 }),
    notBeforeAt: fc.integer({ min: 1, max: 3 }),
  })
  const events = fc.uniqueArray(event, { selector: ({ eventId }) => eventId })

  test('a document against itself shows no step', () => {
    fc.assert(
      fc.property(events, (some) => {
        expect(steps(at(1, ...some), at(2, ...some))).toEqual([])
      }),
    )
  })

  test('steps lead from one document to the other', () => {
    fc.assert(
      fc.property(events, events, (before, after) => {
        const known = new Map<string, ScheduledEvent>(before.map((one) => [one.eventId, one]))
        for (const { kind, event } of steps(at(1, ...before), at(2, ...after))) {
          expect(known.has(event.eventId)).toBe(kind !== 'appeared')
          if (kind === 'gone') known.delete(event.eventId)
          else known.set(event.eventId, event)
        }
        const byId = (a: ScheduledEvent, b: ScheduledEvent) => (a.eventId < b.eventId ? -1 : 1)
        expect([...known.values()].sort(byId)).toEqual([...after].sort(byId))
      }),
    )
  })
})
