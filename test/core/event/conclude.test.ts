// Conclusions from passing time: each row is an event, how its observers see it, and what follows.

import { describe, expect, test } from 'vitest'
import { conclude, nextLook, stuckMs } from '../../../functions/core/event/conclude.ts'
import { lostMs, vmGoneMs } from '../../../functions/core/event/is-over.ts'
import type { Observer } from '../../../functions/core/event/observer.ts'
import { at, type Fields, facts, observer, record } from '../../support/records.ts'

const second = 1_000
const minute = 60_000
const approved = { decision: 'approved', how: 'link', who: 'chat', at } as const

const missing = { gone: { firstAt: at + 20 * second, lastSeenAt: at + 15 * second } }
const noted = {
  gone: { firstAt: at + 20 * second, lastSeenAt: at + 15 * second, confirmAt: at + 30 * second },
}
const now = at + 30 * second
const heard = { heardAt: at + 29 * second }
const gone = (vm = 'web_0', beacon = {}) => observer(vm, { ...heard, ...beacon }, missing)
/** The hit VM did not poll for 20 s, and then missed the event. */
const paused = (beacon = {}) =>
  observer(
    'web_0',
    { ...heard, ...beacon },
    { gone: { firstAt: at + 20 * second, lastSeenAt: at, paused: true } },
  )
const seeing = (vm: string, beacon = {}) => observer(vm, { ...heard, ...beacon })
const openAgain: Fields = { phase: 'started', startedAt: at + second, reopenedAt: at }
/** The hit VM missed the event before it was open again. */
const missedBefore = (beacon: object) =>
  observer(
    'web_0',
    { ...heard, ...beacon },
    { gone: { firstAt: at - minute, lastSeenAt: at - minute - second } },
  )

type Ending = [outcome: string, inferred?: string]
const completed: Ending = ['completed']
const cancelled: Ending = ['cancelled', 'gone_before_its_time']
const rebooted: Ending = ['completed', 'start_not_seen_vm_rebooted']
const overdue: Ending = ['completed', 'start_not_seen_not_before_passed']
const wasApproved: Ending = ['completed', 'start_not_seen_approved']

const running: Fields = { ...noted, phase: 'started', startedAt: at }
const runningLate: Fields = { ...running, startedAt: at + 25 * second }
const preempt: Fields = { ...running, facts: facts({ eventType: 'Preempt' }) }
const freeze: Fields = { ...noted, facts: facts({ eventType: 'Freeze' }) }
const dueAfter = (seconds: number): Fields => ({
  ...noted,
  facts: facts({ notBeforeAt: at + seconds * second }),
})
/** It missed the event for a moment before the others did, and shows it no more. */
const hiccup = (heardAt: number, firstAt: number) =>
  observer('web_1', { heardAt }, { gone: { firstAt, lastSeenAt: firstAt } })
const askedOf = { beacon: 'a', vm: 'a', until: at, failed: false }
const restarted = { bootHeardAt: at + 20 * second }
const silentSince = (ms: number) => observer('web_0', { heardAt: ms, paceMs: 60_000 })

/** Without an ending, the event stays open. */
const settled: [name: string, course: Fields, observers: Observer[], ending?: Ending][] = [
  ['before its time', noted, [gone()], cancelled],
  ['missed by a sighting alone', {}, [gone()], cancelled],
  ['seen Started before', running, [gone()], completed],
  ['nobody misses it', noted, [seeing('web_0')]],
  ['before the settle time', { gone: { ...noted.gone, confirmAt: now + 1 } }, [gone()]],

  // Others still see it.
  ['somebody still sees it', noted, [gone(), seeing('web_1')]],
  [
    'who still saw it has been silent for three paces',
    noted,
    [gone(), seeing('web_1', { heardAt: now - 6_001 })],
    cancelled,
  ],
  [
    'who still saw it is in its third pace',
    noted,
    [gone(), seeing('web_1', { heardAt: now - 6_000 })],
  ],
  [
    'who still saw it is heard, but has not polled for three paces',
    noted,
    [gone(), seeing('web_1', { polledAt: now - 6_001 })],
    cancelled,
  ],
  ['one of two that see it started lags', running, [gone(), seeing('web_1')], completed],
  [
    'the VM that is hit lags, and most observers miss it for less than 30 s',
    running,
    [seeing('web_0'), gone('web_1'), gone('web_2')],
  ],
  [
    'the VM that is hit misses it, and most observers see it Scheduled',
    noted,
    [gone(), seeing('web_1'), seeing('web_2')],
  ],

  // It was missed before.
  [
    'a second absence has not settled, whatever the first one did',
    noted,
    [
      observer('web_0', heard, {
        gone: { firstAt: at + 25 * second, lastSeenAt: at + 24 * second },
      }),
    ],
  ],
  [
    'an earlier hiccup of another VM is not when it went',
    dueAfter(17),
    [gone(), hiccup(at, at - minute)],
    overdue,
  ],
  [
    'it was missed before it started, and most observers still miss it',
    runningLate,
    [seeing('web_0'), gone('web_1'), gone('web_2')],
  ],
  ['it was missed by all before it started, a few seconds ago', runningLate, [gone()]],
  ['it was missed before this epoch began', { ...noted, reopenedAt: at + 20 * second }, [gone()]],
  [
    'the hit VM missed it before this epoch began, restarted, and still misses it',
    openAgain,
    [missedBefore(restarted), seeing('web_1')],
    completed,
  ],
  [
    'the same of a VM that has not restarted',
    openAgain,
    [missedBefore({ bootHeardAt: at - minute }), seeing('web_1')],
  ],
  [
    'the same of a VM that restarted a few seconds ago',
    openAgain,
    [missedBefore({ bootHeardAt: at + 21 * second }), seeing('web_1')],
  ],
  [
    'the same of a restarted VM whose polls fail',
    openAgain,
    [missedBefore({ ...restarted, polledAt: at - minute }), seeing('web_1')],
  ],

  // NotBefore passed, or the VM was away.
  ['NotBefore in the span', dueAfter(17), [gone()], overdue],
  ['NotBefore at the first gone', dueAfter(20), [gone()], overdue],
  ['NotBefore after it, though before we concluded', dueAfter(21), [gone()], cancelled],
  [
    'the hit VM made no poll between its last sight and its first miss',
    noted,
    [paused()],
    cancelled,
  ],
  ['the same of a Freeze, which pauses', freeze, [paused()], rebooted],
  [
    'the same of a Freeze, while the beacon itself was restarted',
    freeze,
    [paused(restarted)],
    cancelled,
  ],
  [
    'the hit VM rebooted in the span',
    noted,
    [gone('web_0', { bootedAt: at + 17 * second })],
    rebooted,
  ],
  [
    'the hit VM rebooted before it',
    noted,
    [gone('web_0', { bootedAt: at + 15 * second })],
    cancelled,
  ],
  [
    'the hit VM rebooted after it',
    noted,
    [gone('web_0', { bootedAt: at + 21 * second })],
    cancelled,
  ],
  [
    'another VM rebooted in the span',
    noted,
    [gone('web_1', { bootedAt: at + 17 * second })],
    cancelled,
  ],
  [
    'the hit VM fell silent in the span, and may come back',
    noted,
    [gone('web_1'), observer('web_0', { heardAt: at })],
  ],
  [
    'only the VM that Preempt took still saw it, silent since others miss it',
    preempt,
    [gone('web_1'), silentSince(at + 19 * second)],
    completed,
  ],
  [
    'the VM that a Reboot hits may come back',
    running,
    [gone('web_1'), silentSince(at + 19 * second)],
  ],

  // It was approved.
  [
    'approved, and passed on',
    { ...noted, verdict: approved, passedOn: { vm: 'a', at } },
    [gone()],
    wasApproved,
  ],
  [
    'approved and passed on, lapsed, and approved again after it was gone',
    {
      ...noted,
      verdict: { ...approved, at: at + 25 * second },
      passedOn: { vm: 'a', at: at + 10 * second },
    },
    [gone()],
    wasApproved,
  ],
  [
    'approved, and a VM was asked',
    { ...noted, verdict: approved, directive: askedOf },
    [gone()],
    wasApproved,
  ],
  ['approved, and nobody was asked', { ...noted, verdict: approved }, [gone()], cancelled],
]

describe('settling', () => {
  test('the hit VM has been silent for three minutes since', () => {
    const firstAt = now - 3 * minute
    const others = observer('web_1', heard, { gone: { firstAt, lastSeenAt: firstAt - second } })
    const silent = observer('web_0', { heardAt: firstAt - minute })
    expect(conclude(record(), [others, silent], now - 1).moments).toEqual([])
    const { record: after } = conclude(record(), [others, silent], now)
    expect(after.ended).toMatchObject({ inferred: 'start_not_seen_vm_rebooted', at: firstAt })
  })

  test.each(settled)('%s', (_, course, observers, ending) => {
    const { record: after, moments } = conclude(record({ dueAt: now, ...course }), observers, now)
    if (ending === undefined) {
      expect(after.ended).toBeUndefined()
      expect(moments).toEqual([])
      expect(after.dueAt).toBeGreaterThan(now)
      return
    }
    const [outcome, inferred] = ending
    expect(moments).toEqual([outcome])
    expect(after.ended).toEqual({ at: at + 20 * second, outcome, ...(inferred && { inferred }) })
    expect(after.phase).toBe(outcome)
    expect(after.dueAt).toBeUndefined()
  })

  test('a hiccup that is over is noted as such, once', () => {
    const first = conclude(record(noted), [seeing('web_0')], now)
    expect(first.record.gone).toBeUndefined()
    expect(first.record.history.at(-1)?.what).toBe('seen_again')
    const again = conclude(first.record, [seeing('web_0')], now)
    expect(again.record).toBe(first.record)
  })

  test('an event that has ended stays as it is', () => {
    const over = record({ ended: { at, outcome: 'cancelled' } })
    expect(conclude(over, [gone()], now)).toEqual({
      ...{ record: over, moments: [], reason: 'look_later' },
    })
  })
})

describe('a VM that is gone', () => {
  const silent = (vm: string, heardAt: number) => observer(vm, { heardAt })
  const dies = (changes: Fields, observers: Observer[], when: number) =>
    conclude(record(changes), observers, when).record.ended?.inferred
  const preempt = { facts: facts({ eventType: 'Preempt', notBeforeAt: at }) }
  const started = { ...preempt, phase: 'started' as const, startedAt: at + minute }

  test.each(['Preempt', 'Terminate'])('%s, 2 min after NotBefore, silent since', (eventType) => {
    const due = { facts: facts({ eventType, notBeforeAt: at }) }
    expect(dies(due, [silent('web_0', at)], at + vmGoneMs - 1)).toBeUndefined()
    expect(dies(due, [silent('web_0', at)], at + vmGoneMs)).toBe('vm_gone')
  })

  test('counted from the start if there was one, and from the last report', () => {
    expect(dies(started, [silent('web_0', at)], at + minute + vmGoneMs - 1)).toBeUndefined()
    expect(dies(started, [silent('web_0', at)], at + minute + vmGoneMs)).toBe('vm_gone')
    const alive = [silent('web_0', at + 90 * second)]
    expect(dies(started, alive, at + 90 * second + vmGoneMs - 1)).toBeUndefined()
    expect(dies(started, alive, at + 90 * second + vmGoneMs)).toBe('vm_gone')
  })

  test('others that are alive do not count; every hit VM does', () => {
    const both = {
      facts: facts({ eventType: 'Preempt', notBeforeAt: at, resources: ['web_0', 'web_1'] }),
    }
    const when = at + vmGoneMs
    expect(dies(preempt, [silent('web_0', at), silent('web_9', when)], when)).toBe('vm_gone')
    expect(dies(both, [silent('web_0', at), silent('web_1', when)], when)).toBeUndefined()
  })

  test('if no hit VM has reported yet, the silence of the others counts', () => {
    const other = [silent('web_9', at + vmGoneMs - 10 * second)]
    expect(dies(preempt, other, at + vmGoneMs)).toBeUndefined()
    expect(dies(preempt, other, at + 2 * vmGoneMs - 10 * second)).toBe('vm_gone')
  })

  test.each(['Freeze', 'Reboot', 'Redeploy'])('%s never', (eventType) => {
    const due = { facts: facts({ eventType, notBeforeAt: at }) }
    expect(dies(due, [silent('web_0', at)], at + vmGoneMs)).toBeUndefined()
  })

  test('not before its time', () => {
    const due = { facts: facts({ eventType: 'Preempt', notBeforeAt: at + 60 * minute }) }
    expect(dies(due, [silent('web_0', at)], at + 59 * minute)).toBeUndefined()
  })
})

describe('lost', () => {
  const { notBeforeAt: _, ...undated } = facts()
  test.each<[string, Fields, number, number]>([
    ['10 min after NotBefore', { facts: facts({ notBeforeAt: at + minute }) }, at, at + minute],
    ['after it was last heard', { facts: facts({ notBeforeAt: at }) }, at + minute, at + minute],
    ['after it started', { phase: 'started', startedAt: at + minute }, at, at + minute],
    ['after it was approved', { verdict: { ...approved, at: at + minute } }, at, at + minute],
    ['after first sight, without a date', { facts: undated }, at - minute, at],
  ])('%s', (_name, changes, heardAt, from) => {
    const observers = [observer('web_0', { heardAt }), observer('web_1', { heardAt: at - minute })]
    const early = conclude(record(changes), observers, from + lostMs - 1)
    expect(early.record.ended).toBeUndefined()
    const { record: after, moments } = conclude(record(changes), observers, from + lostMs)
    expect(moments).toEqual(['lost'])
    expect(after.ended).toMatchObject({ outcome: 'lost', inferred: 'nobody_left_to_see' })
    expect(after.phase).toBe(changes.phase ?? 'scheduled')
  })
})

describe('stuck', () => {
  const waiting = { verdict: approved }
  const alive = [observer('web_0', { heardAt: at + stuckMs })]

  test('30 s after an approval that no beacon passed on, once', () => {
    expect(conclude(record(waiting), alive, at + stuckMs - 1).moments).toEqual([])
    const { record: after, moments } = conclude(record(waiting), alive, at + stuckMs)
    expect(moments).toEqual(['stuck'])
    expect(conclude(after, alive, at + 2 * stuckMs).moments).toEqual([])
  })

  test.each<[string, Fields]>([
    ['passed on', { ...waiting, passedOn: { vm: 'a', at } }],
    ['started', { ...waiting, phase: 'started', startedAt: at }],
    ['not now', { verdict: { ...approved, decision: 'declined' } }],
    ['not decided', {}],
  ])('not if it is %s', (_name, changes) => {
    expect(conclude(record(changes), alive, at + stuckMs).moments).toEqual([])
  })
})

describe('the next look', () => {
  test('is in the future, and there is one for every open event', () => {
    for (const [, course] of settled) {
      for (const observers of [[], [gone()], [seeing('web_0'), gone('web_1')]]) {
        for (const when of [at, now, at + 60 * minute]) {
          const due = nextLook(record(course), observers, when)
          expect(due).toBeGreaterThan(when)
          expect(Number.isFinite(due)).toBe(true)
        }
      }
    }
  })

  test('is never later than when something could be concluded', () => {
    for (const [, course, observers] of settled) {
      const open = record(course)
      for (let when = now; when < at + 20 * minute; ) {
        const result = conclude(open, observers, when)
        if (result.record.ended !== undefined) break
        const due = result.record.dueAt!
        if (due > when + 1) {
          const early = conclude(result.record, observers, due - 1)
          expect(early.record.ended).toBeUndefined()
        }
        when = due
      }
    }
  })
})
