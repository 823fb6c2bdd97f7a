// Laws 4 to 6 at their edges: each number and each comparison of is-over.ts, a millisecond before and after.
import { describe, expect, test } from 'vitest'
import type { OpenRecord, StartedRecord } from '../../../functions/core/event/event.ts'
import { findEnd, nextEndAt, seemsOver } from '../../../functions/core/event/is-over.ts'
import type { Sight } from '../../../functions/core/event/sight.ts'
import { at, facts, openRecord, sight } from '../../support/records.ts'

const second = 1_000
const minute = 60 * second
const vms = ['web_0', 'web_1', 'web_2', 'web_3']

interface Case {
  /** Of each VM: since when it lacks the event, ms from now. Undefined: it shows it. */
  lacks: (number | undefined)[]
  /** Names of the affected VMs. Default: all. */
  affected?: string[]
  startedMsAgo?: number
  /** NotBefore, ms from now. */
  dueInMs?: number
  more?: (one: Sight, i: number) => Partial<Sight>
  changes?: Partial<StartedRecord>
}

const now = at + 60 * minute

function made({ lacks, affected, startedMsAgo, dueInMs = 30 * minute, ...rest }: Case): OpenRecord {
  const resources = affected ?? vms.slice(0, lacks.length)
  const sights = lacks.map((ms, i) => {
    const missing = ms === undefined ? {} : missingSince(now - ms)
    const seen = { heardAt: now, polledAt: now, ...missing }
    const { isHit: _, ...one } = sight(vms[i]!, seen)
    return { ...one, ...rest.more?.(one, i) }
  })
  const started = startedMsAgo === undefined ? {} : { at: now - startedMsAgo }
  return openRecord({
    ...{ sights, facts: facts({ resources, notBeforeAt: now + dueInMs }) },
    ...(startedMsAgo !== undefined && { phase: 'started', started: started as { at: number } }),
    ...rest.changes,
  })
}

const missingSince = (firstAt: number) => ({
  missing: { firstAt, lastSeenAt: firstAt - second },
})
const listening = { now, listeningSince: 0 }
const outcomeOf = (one: Case) => findEnd(made(one), listening)?.outcome

describe('by documents', () => {
  test.each<[string, Case, string | undefined]>([
    ['all lack it for 10 s', { lacks: [10 * second] }, 'cancelled'],
    ['a millisecond less', { lacks: [10 * second - 1] }, undefined],
    ['the last one counts', { lacks: [60 * second, 9 * second] }, undefined],
    ['one shows it', { lacks: [minute, undefined] }, undefined],
    ['half lack it, not due', { lacks: [minute, minute, undefined, undefined] }, undefined],
    [
      'half lack it for 30 s, started',
      { lacks: [30 * second, 30 * second, undefined, undefined], startedMsAgo: minute },
      'completed',
    ],
    [
      'a millisecond less',
      { lacks: [30 * second, 30 * second - 1, undefined, undefined], startedMsAgo: minute },
      undefined,
    ],
    [
      'fewer than half',
      { lacks: [minute, undefined, undefined, undefined], startedMsAgo: 2 * minute },
      undefined,
    ],
    [
      'one of three is fewer than half',
      { lacks: [minute, undefined, undefined], startedMsAgo: 2 * minute },
      undefined,
    ],
    ['two of three', { lacks: [minute, minute, undefined], startedMsAgo: 2 * minute }, 'completed'],
    [
      'half lack it for 30 s, due now',
      { lacks: [30 * second, undefined], dueInMs: 0 },
      'cancelled',
    ],
    ['due in a moment', { lacks: [30 * second, undefined], dueInMs: 1 }, undefined],
    [
      'they lack it since before its start: 30 s count from there',
      { lacks: [5 * minute, undefined], startedMsAgo: 30 * second - 1 },
      undefined,
    ],
    [
      'onlookers count with the affected VM for the half rule',
      { lacks: [undefined, minute, minute], affected: ['web_0'], startedMsAgo: 2 * minute },
      'completed',
    ],
    [
      'onlookers do not outvote it before its time',
      { lacks: [undefined, minute, minute], affected: ['web_0'] },
      undefined,
    ],
    [
      'without an affected VM, onlookers speak',
      { lacks: [10 * second, 10 * second], affected: ['db_0'] },
      'cancelled',
    ],
    [
      'a VM that is silent for more than 3 min does not speak, and may be restarting',
      {
        lacks: [minute, undefined],
        more: (_, i) => (i === 1 ? { heardAt: now - 3 * minute - 1 } : {}),
      },
      'completed',
    ],
    [
      'one that was heard 3 min ago still does',
      {
        lacks: [minute, undefined],
        more: (_, i) => (i === 1 ? { heardAt: now - 3 * minute } : {}),
      },
      undefined,
    ],
  ])('%s', (_, one, outcome) => {
    expect(outcomeOf(one)).toBe(outcome)
  })

  test.each<[string, Case, string]>([
    ['before its time', { lacks: [minute] }, 'gone_before_its_time'],
    [
      'NotBefore had passed',
      { lacks: [minute], dueInMs: -minute },
      'start_not_seen_not_before_passed',
    ],
    [
      'a moment before NotBefore',
      { lacks: [minute], dueInMs: -minute + 1 },
      'gone_before_its_time',
    ],
    [
      'Azure had accepted',
      { lacks: [minute], changes: { azure: { accepted: { vm: 'web_0', at: now - minute } } } },
      'start_not_seen_approved',
    ],
    [
      'Azure accepted later',
      { lacks: [minute], changes: { azure: { accepted: { vm: 'web_0', at: now - minute + 1 } } } },
      'gone_before_its_time',
    ],
    [
      'an approval before counts, too',
      {
        lacks: [minute],
        changes: {
          azure: {
            accepted: { vm: 'web_0', at: now },
            acceptedBefore: { vm: 'web_0', at: now - minute },
          },
        },
      },
      'start_not_seen_approved',
    ],
    [
      'its VM restarted',
      { lacks: [minute], more: (one) => ({ missing: { ...one.missing!, restarted: true } }) },
      'start_not_seen_vm_rebooted',
    ],
  ])('why, if nobody saw it start: %s', (_, one, inferred) => {
    expect(findEnd(made(one), listening)!.inferred).toBe(inferred)
  })

  test.each<[string, Case, number]>([
    ['of the last VM that showed it', { lacks: [5 * minute, minute] }, minute],
    ['of the affected VMs alone', { lacks: [2 * minute, minute], affected: ['web_0'] }, 2 * minute],
  ])('when it disappeared: by the documents %s', (_, one, msAgo) => {
    expect(findEnd(made(one), listening)!.at).toBe(now - msAgo)
  })

  test('a document of the moment of the start counts for the half rule, an older one does not', () => {
    const polled = (ms: number): Case => ({
      ...{ lacks: [minute, undefined], startedMsAgo: minute },
      more: (_, i) => (i === 0 ? { polledAt: now - minute - ms } : {}),
    })
    expect(outcomeOf(polled(0))).toBe('completed')
    expect(outcomeOf(polled(1))).toBeUndefined()
  })

  test('an end is when it disappeared, and not before its start', () => {
    const seen = { lacks: [5 * minute], startedMsAgo: minute }
    expect(findEnd(made(seen), listening)).toEqual({ at: now - minute, outcome: 'completed' })
    const late = { lacks: [minute], startedMsAgo: 5 * minute }
    expect(findEnd(made(late), listening)).toEqual({ at: now - minute, outcome: 'completed' })
  })
})

describe('by silence', () => {
  const silent = (ms: number) => ({
    more: () => ({ heardAt: now - ms, polledAt: now - ms }),
  })
  const preempt = (notBeforeAt: number, ms: number, more: Partial<StartedRecord> = {}): Case => ({
    ...{ lacks: [undefined], ...silent(ms) },
    changes: { facts: facts({ eventType: 'Preempt', notBeforeAt }), ...more },
  })

  test.each<[string, Case, string | undefined]>([
    ['a Preempt, its VM silent for 2 min', preempt(now - 5 * minute, 2 * minute), 'completed'],
    ['a millisecond less', preempt(now - 5 * minute, 2 * minute - 1), undefined],
    ['2 min after NotBefore', preempt(now - 2 * minute, 30 * minute), 'completed'],
    ['a millisecond less', preempt(now - 2 * minute + 1, 30 * minute), undefined],
    [
      'from the start on, if that was seen',
      preempt(now + minute, 30 * minute, { phase: 'started', started: { at: now - 2 * minute } }),
      'completed',
    ],
    [
      'from when Azure accepted',
      preempt(now + minute, 30 * minute, {
        azure: { accepted: { vm: 'web_0', at: now - 2 * minute } },
      }),
      'completed',
    ],
    [
      'not a Reboot',
      { lacks: [undefined], ...silent(5 * minute), dueInMs: -5 * minute },
      undefined,
    ],
    [
      'a Reboot is lost after 10 min',
      { lacks: [undefined], ...silent(11 * minute), dueInMs: -10 * minute },
      'lost',
    ],
    [
      'a millisecond less',
      { lacks: [undefined], ...silent(11 * minute), dueInMs: -10 * minute + 1 },
      undefined,
    ],
    [
      '10 min after its last document',
      { lacks: [undefined], ...silent(10 * minute), dueInMs: -20 * minute },
      'lost',
    ],
    [
      'a millisecond less',
      { lacks: [undefined], ...silent(10 * minute - 1), dueInMs: -20 * minute },
      undefined,
    ],
  ])('%s', (_, one, outcome) => {
    expect(outcomeOf(one)).toBe(outcome)
  })

  test.each(['removed', 'upgrade'] as const)(
    'of a VM whose beacon said goodbye (%s) proves nothing',
    (goodbye) => {
      const one = preempt(now - 5 * minute, 5 * minute)
      const more = () => ({ heardAt: now - 5 * minute, polledAt: now - 5 * minute, goodbye })
      expect(outcomeOf({ ...one, more })).toBeUndefined()
    },
  )

  test('while an onlooker still sees it, Azure’s answer alone does not count', () => {
    const accepted = { azure: { accepted: { vm: 'web_0', at: now - 5 * minute } } }
    const one: Case = {
      lacks: [undefined, undefined],
      more: (_, i) => (i === 0 ? { heardAt: now - 5 * minute, polledAt: now - 5 * minute } : {}),
      changes: {
        facts: facts({ eventType: 'Preempt', resources: ['web_0'], notBeforeAt: now + minute }),
        ...accepted,
      },
    }
    expect(outcomeOf(one)).toBeUndefined()
    expect(outcomeOf({ ...one, lacks: [undefined, minute] })).toBe('completed')
  })
})

test('it seems over if every affected VM lacks it, and if there is none, every onlooker', () => {
  expect(seemsOver(made({ lacks: [1, 1] }))).toBe(true)
  expect(seemsOver(made({ lacks: [1, undefined] }))).toBe(false)
  expect(seemsOver(made({ lacks: [1, undefined], affected: ['web_0'] }))).toBe(true)
  expect(seemsOver(made({ lacks: [1, undefined], affected: ['db_0'] }))).toBe(false)
  expect(seemsOver(made({ lacks: [] }))).toBe(false)
})

test('the next look is 10 s ahead while one lacks it, else when it could be lost or gone', () => {
  expect(nextEndAt(made({ lacks: [1, undefined] }), listening)).toBe(now + 10 * second)
  const quiet = made({ lacks: [undefined], dueInMs: minute })
  expect(nextEndAt(quiet, listening)).toBe(now + 11 * minute)
})
