// How often beacons report: a few often while a decision can be near, the others slowly.

import { describe, expect, test } from 'vitest'
import { type EventRecord, withEnd } from '../../../functions/core/event/event.ts'
import {
  isDecisionNear,
  maxWatchers,
  nearMs,
  nearPaceMs,
  openPaceMs,
  paceFor,
  watcherLeaseMs,
  withWatcher,
} from '../../../functions/core/event/pace.ts'
import { at, type Fields, facts, record } from '../../support/records.ts'

const approved = { decision: 'approved', how: 'link', who: 'chat', at } as const
const due = (inMs: number) => ({ facts: facts({ notBeforeAt: at + inMs }) })
const { notBeforeAt: _, ...undated } = facts()

describe('a decision is near', () => {
  test.each<[string, Fields, boolean]>([
    ['30 min before', due(nearMs), true],
    ['earlier', due(nearMs + 1), false],
    ['after NotBefore, while it is scheduled', due(-60_000), true],
    ['without a date', { facts: undated }, true],
    ['approved, days before', { ...due(9e8), verdict: approved }, true],
    ['approved and passed on', { verdict: approved, passedOn: { vm: 'a', at } }, false],
    ['not now', { verdict: { ...approved, decision: 'declined' } }, true],
    ['started', { phase: 'started' }, false],
    ['over', { ended: { at, outcome: 'cancelled' } }, false],
    ['ignored', { policy: { decide: 'ignore', rule: 'r' } }, false],
    ['only notify: a person may still approve', { policy: { decide: 'notify', rule: 'r' } }, true],
  ])('%s', (_name, changes, near) => {
    expect(isDecisionNear(record(changes), at, false)).toBe(near)
  })
})

describe('watchers', () => {
  const watched = (...beacons: string[]) =>
    beacons.reduce((one, beacon) => withWatcher(one, beacon, at, false), record())

  test('are the first four, and each once', () => {
    const five = watched('a', 'b', 'a', 'c', 'd', 'e')
    expect(five.watchers.map(({ beacon }) => beacon)).toEqual(['a', 'b', 'c', 'd'])
    expect(maxWatchers).toBe(4)
  })

  test('returns the same record if nothing changes', () => {
    const four = watched('a', 'b', 'c', 'd')
    expect(withWatcher(four, 'e', at, false)).toBe(four)
    expect(withWatcher(four, 'a', at + watcherLeaseMs / 2 - 1, false)).toBe(four)
    const far = record(due(nearMs * 2))
    expect(withWatcher(far, 'a', at, false)).toBe(far)
    expect(withWatcher(far, 'a', at, true).watchers).toHaveLength(1)
  })

  test('stay while they report, and make room when they fall silent', () => {
    const renewed = withWatcher(watched('a', 'b', 'c', 'd'), 'a', at + watcherLeaseMs / 2, false)
    expect(renewed.watchers.find(({ beacon }) => beacon === 'a')?.until).toBe(
      at + watcherLeaseMs * 1.5,
    )
    const later = withWatcher(renewed, 'e', at + watcherLeaseMs, false)
    expect(later.watchers.map(({ beacon }) => beacon)).toEqual(['a', 'e'])
  })
})

describe('the pace', () => {
  const idlePaceMs = 300_000
  const near = withWatcher(record(), 'a', at, false)
  const started = record({ phase: 'started', startedAt: at, watchers: near.watchers })
  const ended = withEnd(near, { at, outcome: 'completed' })
  test.each<[string, EventRecord[], string, number]>([
    ['nothing open', [], 'a', idlePaceMs],
    ['only what is over', [ended], 'a', openPaceMs],
    ['a watcher', [near], 'a', nearPaceMs],
    ['another observer', [near], 'b', openPaceMs],
    ['a watcher of what has started', [started], 'a', openPaceMs],
    ['the fastest of several', [ended, started, near], 'a', nearPaceMs],
  ])('%s', (_name, records, beacon, paceMs) => {
    const seen = records.map((one) => ({ record: one, watched: false }))
    expect(paceFor(seen, beacon, at, idlePaceMs)).toBe(paceMs)
  })
})
