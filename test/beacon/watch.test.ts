import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hits, type Snapshot, type Step, watch } from '../../beacon/watch.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import { anEvent } from './events.ts'

// The same values in every run; a failure prints what is needed to see it again.
fc.configureGlobal({ seed: 1 })

const at = (seenAt: number, ...events: ScheduledEvent[]): Snapshot => ({ seenAt, events })
const full = anEvent({ description: 'Host update', durationSeconds: 9, resources: ['vm1', 'vm2'] })

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
    ['source', { source: 'User' }, false],
    ['type', { eventType: 'Redeploy' }, false],
  ])('%s differs: %o', (_, fields, isChange) => {
    const after = { ...full, ...fields }
    const step: Step = { kind: 'changed', seenAt: 2, firstPoll: false, event: after }
    expect(watch(at(1, full), at(2, after))).toEqual(isChange ? [step] : [])
  })

  test.each(['notBeforeAt', 'durationSeconds', 'description'] as const)(
    '%s: no longer given is no change, given at last is one',
    (field) => {
      const without = { ...full }
      delete without[field]
      expect(watch(at(1, full), at(2, without))).toEqual([])
      expect(watch(at(1, without), at(2, full))).toMatchObject([{ kind: 'changed' }])
    },
  )

  test('resources: no longer given is no change, given at last is one', () => {
    const without = { ...full, resources: [] }
    expect(watch(at(1, full), at(2, without))).toEqual([])
    expect(watch(at(1, without), at(2, full))).toMatchObject([{ kind: 'changed' }])
  })

  test('Started empties NotBefore: one change, with what the document says', () => {
    const { notBeforeAt: _, ...rest } = full
    const started = { ...rest, status: 'Started' as const }
    expect(watch(at(1, full), at(2, started))).toEqual([
      { kind: 'changed', seenAt: 2, firstPoll: false, event: started },
    ])
  })
})

describe('coming and going', () => {
  test('an event of the first document of all', () => {
    expect(watch(undefined, at(7, full))).toEqual([
      { kind: 'appeared', seenAt: 7, firstPoll: true, event: full },
    ])
  })

  test('an event of a later document', () => {
    expect(watch(at(1), at(7, full))).toEqual([
      { kind: 'appeared', seenAt: 7, firstPoll: false, event: full },
    ])
  })

  test('an event that is gone, with what was last known of it and when', () => {
    expect(watch(at(1, full), at(7))).toEqual([
      { kind: 'gone', seenAt: 7, lastSeenAt: 1, firstPoll: false, event: full },
    ])
  })

  test('one goes as another comes', () => {
    const other = anEvent({ eventId: 'e2' })
    const kinds = watch(at(1, full), at(2, other)).map(({ kind, event }) => [kind, event.eventId])
    expect(kinds).toEqual([
      ['appeared', 'e2'],
      ['gone', 'e1'],
    ])
  })

  test('nothing, twice', () => {
    expect(watch(undefined, at(1))).toEqual([])
    expect(watch(at(1), at(2))).toEqual([])
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
        expect(watch(at(1, ...some), at(2, ...some))).toEqual([])
      }),
    )
  })

  test('steps lead from one document to the other', () => {
    fc.assert(
      fc.property(events, events, (before, after) => {
        const known = new Map<string, ScheduledEvent>(before.map((one) => [one.eventId, one]))
        for (const { kind, event } of watch(at(1, ...before), at(2, ...after))) {
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
