// How often beacons report: a few often while a decision can be near, the others slowly.

import { describe, expect, test } from 'vitest'
import { type EventRecord, withEnd } from '../../../functions/core/event/event.ts'
import {
  holdMs,
  isDecisionNear,
  nearMs,
  nearPaceMs,
  openPaceMs,
  paceFor,
  seenBy,
} from '../../../functions/core/event/pace.ts'
import { at, type Fields, facts, record, sight } from '../../support/records.ts'

const approved = { decision: 'approved', how: 'link', who: 'chat', at } as const
const due = (inMs: number) => ({ facts: facts({ notBeforeAt: at + inMs }) })
const { notBeforeAt: _, ...undated } = facts()

test('the numbers that docs/heartbeat.md and beacons rely on', () => {
  expect([nearMs, nearPaceMs, openPaceMs, holdMs]).toEqual([1_800_000, 2_000, 60_000, 15_000])
})

describe('a decision is near', () => {
  test.each<[string, Fields, boolean]>([
    ['30 min before', due(nearMs), true],
    ['earlier', due(nearMs + 1), false],
    ['after NotBefore, while it is scheduled', due(-60_000), true],
    ['without a date', { facts: undated }, true],
    ['approved, days before', { ...due(9e8), decided: approved }, true],
    ['approved and passed on', { decided: approved, azure: { accepted: { vm: 'a', at } } }, false],
    ['not now', { decided: { ...approved, decision: 'declined' } }, true],
    ['started', { phase: 'started' }, false],
    ['over', { ended: { at, outcome: 'cancelled' } }, false],
    ['ignored', { policy: { decide: 'ignore', rule: 'r' } }, false],
    ['only notify: a person may still approve', { policy: { decide: 'notify', rule: 'r' } }, true],
  ])('%s', (_name, changes, near) => {
    expect(isDecisionNear(record(changes), at, false)).toBe(near)
  })
})

describe('the pace', () => {
  const idlePaceMs = 300_000
  const listening = { now: at, listeningSince: 0 }
  const sightsOf = (...names: string[]) =>
    names.map((vm, i) => sight(vm, { beacon: vm, firstSeenAt: at + i }))
  const five = sightsOf('a', 'b', 'c', 'd', 'e')
  const near = record({ sights: five })
  const late = record({
    sights: [...five, sight('web_0', { beacon: 'web_0', firstSeenAt: at + 9 })],
  })
  const started = record({ phase: 'started', started: { at: at }, sights: five })
  const ended = withEnd(near, { at, outcome: 'completed' })
  const waits = record({ sights: five, decided: approved })
  const silent = record({ sights: [{ ...five[0]!, heardAt: 0 }, ...five.slice(1)] })
  const missing = { missing: { firstAt: at, lastSeenAt: at } }
  const lacked = record({ sights: [{ ...five[0]!, ...missing }, ...five.slice(1)] })
  test.each<[string, EventRecord[], string, number]>([
    ['nothing open', [], 'a', idlePaceMs],
    ['only what is over', [ended], 'a', openPaceMs],
    ['one of the four that have seen it for longest', [near], 'd', nearPaceMs],
    ['the fifth', [near], 'e', openPaceMs],
    ['the fifth, where one of the four is silent', [silent], 'e', nearPaceMs],
    ['the fifth, where one of the four lacks it', [lacked], 'e', nearPaceMs],
    ['an affected VM that saw it last', [late], 'web_0', nearPaceMs],
    ['the fourth of others beside it', [late], 'd', openPaceMs],
    ['anybody, while an approval waits', [waits], 'x', nearPaceMs],
    ['one of the four of what has started', [started], 'a', openPaceMs],
    ['the fastest of several', [ended, started, near], 'a', nearPaceMs],
  ])('%s', (_name, records, beacon, paceMs) => {
    const seen = records.map((one) => seenBy(beacon, one, false, listening))
    expect(paceFor(seen, idlePaceMs)).toBe(paceMs)
  })
})

test.each<[string, string, number, object, number]>([
  ['the affected VM, as it may have to tell Azure, too', 'web_0', 59_999, {}, nearPaceMs],
  ['a minute later, the usual rule counts', 'web_0', 60_000, {}, openPaceMs],
  ['an onlooker', 'web_1', 1_000, {}, openPaceMs],
  ['the beacon that says so', 'web_0', 1_000, { beacon: 'web_0' }, openPaceMs],
  ['Resource Manager says so', 'web_0', 1_000, { through: 'resource_manager' }, openPaceMs],
])('after another beacon said that Azure accepted: %s', (_name, beacon, msLater, more, pace) => {
  const accepted = { vm: 'liar', beacon: 'liar', at, ...more }
  const sights = ['web_0', 'web_1'].map((vm) => sight(vm, { beacon: vm, heardAt: at + msLater }))
  const listening = { now: at + msLater, listeningSince: 0 }
  const event = record({ decided: approved, azure: { accepted }, sights })
  expect(paceFor([seenBy(beacon, event, false, listening)], 300_000)).toBe(pace)
})
