// When a beacon is heard, silent, or has left.
import { describe, expect, test } from 'vitest'
import type { Beacon } from '../../../functions/core/event/beacon.ts'
import {
  nextLookAt,
  shownState,
  silentFrom,
  withReport,
} from '../../../functions/core/event/beacon-state.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { judgeBeacon } from '../../../functions/features/silence/rule.ts'
import { aDrill, at, beaconOf, type Fields, facts, record } from '../../support/records.ts'

const second = 1_000
const minute = 60 * second

const idle = { paceMs: 5 * minute, sees: [] }
const heard = (until: number, explainedBy?: string): ReturnType<typeof judgeBeacon> => ({
  ...{ state: 'heard', until: at + until },
  ...(explainedBy === undefined ? {} : { explainedBy }),
})
const silent: ReturnType<typeof judgeBeacon> = { state: 'silent' }

describe('without events', () => {
  const said = (reason: NonNullable<Beacon['goodbye']>['reason']) => ({
    goodbye: { reason, at },
  })
  test.each<[string, Partial<Beacon>, number, ReturnType<typeof judgeBeacon>]>([
    ['just heard', idle, 0, heard(15 * minute)],
    ['until three paces', idle, 15 * minute - 1, heard(15 * minute)],
    ['from three paces on', idle, 15 * minute, silent],
    ['a short pace: for two minutes', { paceMs: 2 * second }, 2 * minute - 1, heard(2 * minute)],
    ['a short pace: from two minutes on', { paceMs: 2 * second }, 2 * minute, silent],
    ['a minute: three of them', { paceMs: minute }, 3 * minute, silent],
    ['stopped', { paceMs: minute, ...said('stopped') }, 15 * minute - 1, heard(15 * minute)],
    ['stopped, and not back in time', { paceMs: minute, ...said('stopped') }, 15 * minute, silent],
    ['shut down', { paceMs: minute, ...said('shutdown') }, 14 * minute, heard(15 * minute)],
    ['upgraded', { paceMs: minute, ...said('upgrade') }, 14 * minute, heard(15 * minute)],
    ['slower than that', { paceMs: 15 * minute, ...said('upgrade') }, 15 * minute, silent],
    ['left', { ...idle, left: { why: 'owner', at } }, 99 * minute, { state: 'left', why: 'owner' }],
  ])('%s', (_, beacon, ms, state) => {
    expect(judgeBeacon(beaconOf('web_0', beacon), [], at + ms)).toEqual(state)
  })
})

describe('while the relay was away', () => {
  test.each<[string, Partial<Beacon>, number, number, ReturnType<typeof judgeBeacon>]>([
    ['counts from its return', idle, 60 * minute, 75 * minute - 1, heard(75 * minute)],
    ['counts from its return, then ends', idle, 60 * minute, 75 * minute, silent],
    ['a beacon that was heard since', idle, -minute, 15 * minute, silent],
    [
      'a goodbye counts no less',
      { ...idle, paceMs: minute, goodbye: { reason: 'upgrade', at } },
      14 * minute,
      16 * minute,
      heard(17 * minute),
    ],
  ])('%s', (_, beacon, since, ms, state) => {
    expect(judgeBeacon(beaconOf('web_0', beacon), [], at + ms, at + since)).toEqual(state)
  })
})

describe('an event of the VM', () => {
  const id = record().eventId
  const due = (ms: number, more: object = {}) => ({
    facts: facts({ notBeforeAt: at + ms, ...more }),
  })
  const ended = (ms: number, outcome: 'completed' | 'cancelled' | 'lost' = 'completed') => ({
    ended: { at: at + ms, outcome },
  })
  const taking = { facts: facts({ eventType: 'Terminate' }) }
  const gone: ReturnType<typeof judgeBeacon> = { state: 'left', why: 'terminated' }
  const later = 20 * minute
  test.each<[string, Fields, number, ReturnType<typeof judgeBeacon>]>([
    ['that begins later explains nothing', due(later + 1), later, silent],
    ['explains from NotBefore on', due(later), later, heard(later + 2 * minute, id)],
    [
      'explains from its start on',
      { phase: 'started', started: { at: at } },
      later,
      heard(22 * minute, id),
    ],
    [
      'explains once Azure was told to start it',
      { ...due(60 * minute), azure: { accepted: { vm: 'web_1', at } } },
      later,
      heard(22 * minute, id),
    ],
    ['explains for 10 min after its end', ended(11 * minute), later, heard(21 * minute, id)],
    ['explains no longer', ended(10 * minute), later, silent],
    [
      'that was cancelled explains as well',
      ended(11 * minute, 'cancelled'),
      later,
      heard(21 * minute, id),
    ],
    ['that is a drill', { ...ended(11 * minute), drill: aDrill }, later, silent],
    ['that took the VM', { ...taking, ...ended(minute) }, 2 * minute, gone],
    ['that took the VM, days ago', { ...taking, ...ended(minute) }, 5_000 * minute, gone],
    [
      'a Preempt',
      { facts: facts({ eventType: 'Preempt', resources: ['WEB_0'] }), ...ended(minute) },
      later,
      gone,
    ],
    [
      'that was to take it, and was cancelled',
      { ...taking, ...ended(11 * minute, 'cancelled') },
      later,
      heard(21 * minute, id),
    ],
    [
      'that took a VM of this name before',
      { ...taking, ...ended(-61 * second) },
      minute,
      heard(15 * minute),
    ],
    ['a last report while Azure takes it', { ...taking, ...ended(-59 * second) }, minute, gone],
    ['a drill takes nothing', { ...taking, ...ended(minute), drill: aDrill }, later, silent],
  ])('%s', (_, changes, ms, state) => {
    const events: EventRecord[] = [record(changes)]
    expect(judgeBeacon(beaconOf('web_0', idle), events, at + ms)).toEqual(state)
  })

  test('of several, the one that explains longest', () => {
    const events = [
      record(ended(11 * minute)),
      record({ ...ended(15 * minute), eventId: 'b' }),
      record({ ...ended(12 * minute), eventId: 'c' }),
    ]
    const state = judgeBeacon(beaconOf('web_0', idle), events, at + later)
    expect(state).toEqual(heard(25 * minute, 'b'))
  })
})

describe('a report', () => {
  const beacon = beaconOf('web_0', idle)
  const silence = { since: at - 60 * minute, from: at - 45 * minute }

  test('sets the next look a minute before the silence', () => {
    expect(withReport(beacon, undefined)).toEqual({ ...beacon, silentAt: at + 14 * minute })
    expect(nextLookAt(beacon)).toBe(silentFrom(beacon) - minute)
  })

  test('ends what was concluded', () => {
    const known = beaconOf('web_0', { left: { why: 'terminated', at }, explainedBy: 'e' })
    expect(withReport(beacon, known)).toEqual({ ...beacon, silentAt: at + 14 * minute })
  })

  test('after a silence is looked at now', () => {
    const known = beaconOf('web_0', { silence, heardAt: silence.since })
    expect(withReport(beacon, known)).toEqual({ ...beacon, silence, silentAt: at })
  })

  test('that says that the package is removed is the last look', () => {
    const goodbye = { reason: 'removed' as const, at }
    const left = { why: 'removed', at }
    expect(withReport({ ...beacon, goodbye }, undefined)).toEqual({ ...beacon, goodbye, left })
    const known = beaconOf('web_0', { silence, heardAt: silence.since })
    expect(withReport({ ...beacon, goodbye }, known)).toMatchObject({ left, silentAt: at })
  })
})

describe('a list shows', () => {
  test.each<[string, Partial<Beacon>, number, ReturnType<typeof judgeBeacon>['state']]>([
    ['one that is not looked at yet', { silentAt: at + 14 * minute }, 99 * minute, 'heard'],
    ['a silent one', { silence: { since: at, from: at + minute } }, minute, 'silent'],
    ['one that will be silent', { silence: { since: at, from: at + minute } }, minute - 1, 'heard'],
    ['one that is back', { silence: { since: at - 1, from: at } }, minute, 'heard'],
    ['one that left', { left: { why: 'removed', at }, silentAt: at }, 0, 'left'],
    [
      'one that left silently',
      { left: { why: 'owner', at }, silence: { since: at, from: at } },
      minute,
      'left',
    ],
  ])('%s', (_, changes, ms, state) => {
    expect(shownState(beaconOf('web_0', changes), at + ms)).toBe(state)
  })
})
