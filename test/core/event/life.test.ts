// One observation added to a record: each row is a decision with its reason.
import { describe, expect, test } from 'vitest'
import { type EventRecord, withEnd } from '../../../functions/core/event/event.ts'
import {
  advance,
  type Gone,
  type Observation,
  type Seen,
} from '../../../functions/core/event/life.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { agreed, at, facts, key } from '../../support/records.ts'
import { event, started } from '../../support/world.ts'

function seen(changes: Partial<ScheduledEvent> = {}, more: Partial<Seen> = {}): Seen {
  return {
    kind: 'seen',
    at,
    vm: 'web_0',
    live: true,
    event: event(changes),
    appeared: true,
    missedBefore: true,
    since: at,
    ...more,
  }
}

/** Seen by a beacon whose documents always showed the event. */
const lagging = (more: Partial<Seen>) => seen({}, { missedBefore: false, ...more })

const begun = (more: Partial<Seen> = {}): Seen => ({ ...seen({}, more), event: started() })

function gone(changes: Partial<Gone> = {}): Gone {
  return { kind: 'gone', at: at + 5_000, vm: 'web_0', live: true, lastSeenAt: at, ...changes }
}

/** The record after these observations. */
function lifeOf(...observations: Observation[]): EventRecord {
  let record: EventRecord | undefined
  for (const one of observations) record = advance(record, one, one.at, key).record
  return record!
}

const step = (known: EventRecord | undefined, one: Observation) => advance(known, one, one.at, key)

const cancelled = (known: EventRecord) =>
  withEnd(known, { at: at + 5_000, outcome: 'cancelled', inferred: 'gone_before_its_time' })

describe('first sight', () => {
  test('as Scheduled', () => {
    const { record, moments, reason } = step(undefined, seen())
    expect([moments, reason]).toEqual([['scheduled'], 'new'])
    expect(record).toMatchObject({ ...key, epoch: 1, phase: 'scheduled', firstSeenAt: at })
    expect(record?.startedAt).toBeUndefined()
  })

  test.each([
    [true, 'none'],
    [false, 'already_running'],
  ])('as Started, appeared %s: %s', (appeared, startKind) => {
    const { record, moments } = step(undefined, begun({ appeared }))
    expect(moments).toEqual(['started'])
    expect(record).toMatchObject({ phase: 'started', startedAt: at, startKind })
  })

  test('gone without ever being seen is nothing', () => {
    expect(step(undefined, gone())).toEqual({
      record: undefined,
      moments: [],
      reason: 'unknown_event',
    })
  })
})

describe('the phase only rises', () => {
  test('Started after Scheduled is a moment, and keeps values that Started does not show', () => {
    const { record, moments, reason } = step(lifeOf(seen()), begun({ at: at + 1 }))
    expect([moments, reason]).toEqual([['started'], 'started'])
    expect(record).toMatchObject({ phase: 'started', startedAt: at + 1, facts: facts() })
    expect(record?.startKind).toBeUndefined()
  })

  test.each([
    ['the same again', seen(), [seen()]],
    ['Started again', begun(), [seen(), begun()]],
    [
      'a late Scheduled after Started',
      seen({}, { at: at - 1 }),
      [seen({}, { at: at - 2 }), begun()],
    ],
    ['gone again', gone(), [seen(), gone({ at: at + 1 })]],
    ['lesser knowledge', seen({ description: undefined as never }), [seen()]],
  ])('%s changes nothing, not even the record', (_, one, before) => {
    const known = lifeOf(...before)
    const { record, moments, reason } = step(known, one)
    expect(record).toBe(known)
    expect([moments, reason]).toEqual([[], 'nothing_new'])
  })

  test('beacons that know more and less may take turns: the record stays as it is', () => {
    const { description: _d, notBeforeAt: _n, ...less } = event()
    let known = lifeOf(seen())
    for (const next of [less, event(), less, started(), started(), event(), less]) {
      const { record } = step(known, seen({}, { event: next }))
      if (next.status === 'Scheduled') expect(record).toBe(known)
      known = record!
    }
    const { record } = step(known, begun())
    expect(record).toBe(known)
  })

  test('a Started that follows a Scheduled from the spool was reported late', () => {
    const known = lifeOf(begun())
    expect(known.startKind).toBe('none')
    const before = seen({}, { at: at - 60_000, live: false })
    expect(step(known, before).record?.startKind).toBe('reported_late')
    const lagging = seen({}, { at: at + 5_000, vm: 'web_1' })
    expect(step(known, lagging).record?.startKind).toBe('reported_late')
    expect(step(lifeOf(seen(), begun()), before).record?.startKind).toBeUndefined()
  })
})

describe('changed', () => {
  const previous = event()

  test.each([
    ['NotBefore', { notBeforeAt: at + 1 }, true],
    ['Resources', { resources: ['web_0', 'web_1'] }, true],
    ['Duration', { durationSeconds: 9 }, true],
    ['Description', { description: 'other' }, true],
    ['an empty list, which is no news', { resources: [] }, false],
    ['a missing NotBefore', { notBeforeAt: undefined as never }, false],
    ['the type', { eventType: 'Freeze' }, true],
    ['a type that is not given', { eventType: 'Unknown' }, false],
    ['the source', { source: 'User' }, true],
    ['nothing', {}, false],
  ])('%s', (_, change, told) => {
    const { record, moments } = step(lifeOf(seen()), seen(change, { previous }))
    expect(moments).toEqual(told ? ['changed'] : [])
    expect(record?.facts).toEqual(told ? { ...facts(), ...change } : facts())
  })

  test('values that only a newer api-version shows are learned, but not a change', () => {
    const { source: _s, durationSeconds: _d, ...less } = event()
    const known = lifeOf({ ...seen(), event: less })
    const { record, moments } = step(known, seen({}, { at: at + 1_000, previous: less }))
    expect(moments).toEqual([])
    expect(record?.facts).toMatchObject({ source: 'Platform', durationSeconds: -1 })
  })

  test('the same values from another beacon are no moment', () => {
    const changed = seen({ durationSeconds: 9 }, { previous })
    const known = lifeOf(seen(), changed)
    expect(step(known, { ...changed, vm: 'web_1' }).record).toBe(known)
  })

  test('a late change of one value counts, even if another value has changed since', () => {
    const later = seen({ durationSeconds: 9 }, { previous, at: at + 5_000 })
    const known = lifeOf(seen(), later)
    const moved = seen({ notBeforeAt: at + 1 }, { previous, at: at + 1_000, live: false })
    const { record, moments } = step(known, moved)
    expect(moments).toEqual(['changed'])
    expect(record?.facts).toMatchObject({ notBeforeAt: at + 1, durationSeconds: 9 })
    const outdated = seen({ durationSeconds: 3 }, { previous, at: at + 1_000, live: false })
    expect(step(record!, outdated).record).toBe(record)
  })

  test('a beacon that never saw the old values has seen no change', () => {
    const known = lifeOf(seen())
    expect(step(known, seen({ durationSeconds: 9 })).record).toBe(known)
  })

  test('unknown values are learned, but no moment', () => {
    const { description: _, ...less } = event()
    const known = lifeOf(seen({}, { event: less }))
    const { record, moments, reason } = step(known, seen({}, { previous: less }))
    expect(reason === 'learned' || moments.includes('changed')).toBe(true)
    expect(record?.facts.description).toBe(event().description)
    const fresh = step(known, seen())
    expect([fresh.reason, fresh.moments]).toEqual(['learned', []])
  })

  test('with Started, only the start is a moment', () => {
    const changed = { ...begun({ previous }), event: started({ durationSeconds: 9 }) }
    const { record, moments } = step(lifeOf(seen()), changed)
    expect(moments).toEqual(['started'])
    expect(record?.facts.durationSeconds).toBe(9)
  })
})

describe('gone', () => {
  test('is recorded with its span, is no moment, and may be confirmed 10 s later', () => {
    const { record, moments, reason } = advance(lifeOf(seen()), gone(), at + 6_000, key)
    expect([moments, reason]).toEqual([[], 'gone'])
    expect(record?.gone).toEqual({
      firstAt: at + 5_000,
      lastSeenAt: at,
      confirmAt: at + 16_000,
    })
    expect(record?.phase).toBe('scheduled')
  })
})

describe('reopening', () => {
  const over = cancelled(lifeOf(seen(), gone()))
  const later = at + 60_000

  test.each<[string, EventRecord, Seen, boolean]>([
    ['a poll later than the first gone', over, seen({}, { at: at + 5_001 }), true],
    ['a poll at the same time', over, seen({}, { at: at + 5_000 }), false],
    ['an earlier poll that comes late', over, seen({}, { at: at + 4_000 }), false],
    ['a change from the spool', over, seen({}, { at: later, live: false }), false],
    ['a VM that lags', over, lagging({ at: later }), false],
    ['a VM that it hits, for a minute on end', over, lagging({ at: at + 65_000 }), true],
    ['a VM that it hits, for less', over, lagging({ at: at + 64_999 }), false],
    ['its first poll of all', over, lagging({ at: at + 66_000, since: at + 66_000 }), false],
    ['another VM, for long', over, lagging({ at: 2 * later, vm: 'web_9' }), false],
    [
      'anybody, where nobody was left to see it',
      { ...over, ended: { at, outcome: 'lost', inferred: 'nobody_left_to_see' } },
      lagging({ at: later, vm: 'web_9' }),
      true,
    ],
    [
      'a VM that was taken for gone, by itself',
      { ...over, ended: { at, outcome: 'completed', inferred: 'vm_gone' } },
      seen({}, { at: later }),
      true,
    ],
    [
      'a VM that was taken for gone, by another',
      { ...over, ended: { at, outcome: 'completed', inferred: 'vm_gone' } },
      seen({}, { at: later, vm: 'web_9' }),
      false,
    ],
  ])('%s', (_, known, one, reopens) => {
    const { record, moments, reason } = step(known, one)
    expect(reason).toBe(reopens ? 'reopened' : 'concluded_before')
    expect(moments).toEqual(reopens ? ['scheduled'] : [])
    if (!reopens) expect(record).toBe(known)
  })

  test('begins anew, and keeps only the history', () => {
    const verdict = { decision: 'approved', how: 'link', who: 'chat', at } as const
    const known = {
      ...over,
      verdict,
      stuckAt: at,
      startedAt: at,
      startKind: 'none' as const,
      sequence: 7,
    }
    const { record } = step(known, seen({}, { at: later }))
    expect(record).toMatchObject({ epoch: 2, phase: 'scheduled', firstSeenAt: at, sequence: 7 })
    for (const name of [
      'ended',
      'gone',
      'verdict',
      'directive',
      'stuckAt',
      'dueAt',
      'startedAt',
      'alert',
    ] as const) {
      expect(record).not.toHaveProperty(name)
    }
    expect(record?.history.map(({ what }) => what)).toEqual(['seen', 'gone', 'reopened'])
    const again = step(record!, seen({}, { at: later + 1_000 }))
    expect([again.reason, again.record]).toEqual(['nothing_new', record])
  })

  test('an approval that Azure confirmed carries over', () => {
    const verdict = { decision: 'approved', how: 'link', who: 'chat', at, agreed } as const
    const passedOn = { vm: 'web_0', at }
    const { record } = step({ ...over, verdict, passedOn }, seen({}, { at: later }))
    expect(record).toMatchObject({ verdict, passedOn })
    const { record: without } = step({ ...over, passedOn }, seen({}, { at: later }))
    expect(without).not.toHaveProperty('passedOn')
  })

  test('values of the document replace the known ones; others stay', () => {
    const { description: _, ...now } = event({ notBeforeAt: later + 900_000, resources: ['web_5'] })
    const { record } = step(over, seen({}, { at: later, event: now }))
    expect(record?.facts).toMatchObject({
      notBeforeAt: later + 900_000,
      resources: ['web_5'],
      description: event().description,
    })
  })

  test('as Started', () => {
    const { record, moments } = step(over, begun({ at: later }))
    expect(moments).toEqual(['started'])
    expect(record).toMatchObject({ epoch: 2, phase: 'started', startedAt: later })
  })

  test('a lost event that is seen gone is open again in a new epoch, for its proper end', () => {
    const lost = withEnd(lifeOf(seen()), { at, outcome: 'lost', inferred: 'nobody_left_to_see' })
    const { record, reason } = step(lost, gone({ at: later }))
    expect(reason).toBe('gone')
    expect(record).toMatchObject({ epoch: 2, gone: { firstAt: later } })
    expect(record).not.toHaveProperty('ended')
    expect(step(lost, gone({ at: later, live: false })).record).toBe(lost)
  })
})
