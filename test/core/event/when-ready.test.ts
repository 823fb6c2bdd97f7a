// What a rule that waits does: each row is an event, its VMs and the time, and what follows.
import { describe, expect, test } from 'vitest'
import type { Loaded } from '../../../functions/core/event/decision.ts'
import type { HookState } from '../../../functions/core/event/hook-state.ts'
import type { Observer } from '../../../functions/core/event/observer.ts'
import type { TurnTaken } from '../../../functions/core/event/turn.ts'
import { weigh } from '../../../functions/core/event/when-ready.ts'
import { at, beaconOf, type Fields, facts, observer, record } from '../../support/records.ts'

const second = 1_000
const minute = 60 * second
const due = at + 15 * minute

interface Row {
  course?: Fields
  /** The state of `prepare` on web_0; `none`: it has no hook. */
  prepare?: HookState['state'] | 'none'
  afterMs?: number
  rule?: { whenReady?: boolean; maxConcurrent?: number }
  turn?: TurnTaken
  /** The event is not stored yet. */
  isNew?: boolean
}

function weighed({ course = {}, prepare = 'running', afterMs = 0, rule, turn, isNew }: Row) {
  const now = at + afterMs
  const hooks = prepare === 'none' ? {} : { hooks: { prepare: { state: prepare, since: at } } }
  const observers: Observer[] = [observer('web_0', { heardAt: now, polledAt: now }, hooks)]
  const before = record(course)
  const policy = [
    { name: 'r', match: {}, decide: 'approve' as const, ...(rule ?? { whenReady: true }) },
  ]
  const rules = { policy, routes: [] }
  const stored = isNew ? undefined : before
  const loaded: Loaded = turn === undefined ? {} : { turn }
  const frozen = JSON.stringify(before)
  const step = weigh(before, observers, loaded, { rules, listeningSince: 0, now, stored })
  expect(JSON.stringify(before)).toBe(frozen)
  return step
}

const declined = { decision: 'declined', how: 'link', who: 'chat', at } as const
const limited = { whenReady: true, maxConcurrent: 1 }
const held: Fields = { turn: { state: 'held', wish: '' } }

describe('the step', () => {
  test.each<[string, Row, object]>([
    ['waits while the hook runs', {}, { moments: [], record: { policy: { decide: 'approve' } } }],
    ['waits while it is planned', { prepare: 'planned' }, { moments: [] }],
    [
      'approves once the VM is ready',
      { prepare: 'succeeded' },
      { moments: ['approved'], reason: 'approved_by_rule', record: { verdict: { who: 'r' } } },
    ],
    [
      'asks if the hook failed',
      { prepare: 'failed' },
      { moments: ['not_ready'], record: { notReady: { why: 'cannot_be_ready' } } },
    ],
    [
      'believes the last report rather than an older row of its beacon',
      {
        course: {
          heard: {
            beacon: beaconOf('web_0', { heardAt: at + second, counter: 2 }),
            sighting: { hooks: { prepare: { state: 'failed', since: at } } },
          },
        },
        prepare: 'succeeded',
      },
      { moments: ['not_ready'] },
    ],
    ['asks if there is no hook', { prepare: 'none' }, { moments: ['not_ready'] }],
    ['waits until a minute before NotBefore', { afterMs: 14 * minute - 1 }, { moments: [] }],
    [
      'asks a minute before NotBefore',
      { afterMs: 14 * minute },
      { moments: ['not_ready'], record: { notReady: { why: 'not_ready_in_time' } } },
    ],
    [
      'approves even then if the VM is ready',
      { prepare: 'succeeded', afterMs: 14 * minute + 30 * second },
      { moments: ['approved'] },
    ],
    [
      'asks earlier than at its former deadline, if Azure moved NotBefore',
      {
        course: { facts: facts({ notBeforeAt: at + 2 * minute }), changedAt: { notBeforeAt: at } },
        afterMs: minute + 20 * second,
      },
      { moments: ['not_ready'] },
    ],
    [
      'waits without a deadline if NotBefore is unknown',
      { course: { facts: withoutTime() }, afterMs: 60 * minute },
      { moments: [] },
    ],
    [
      'does not ask or approve while the event is missing',
      { course: { gone: { firstAt: at, lastSeenAt: at, confirmAt: at } }, prepare: 'succeeded' },
      { moments: [] },
    ],
    [
      'does nothing after a decision',
      { course: { verdict: declined }, prepare: 'succeeded' },
      { moments: [], record: { verdict: declined } },
    ],
    [
      'asks once',
      {
        course: {
          policy: { decide: 'ask', rule: 'r', whenReady: true },
          notReady: { at, rule: 'drained', why: 'cannot_be_ready' },
        },
        prepare: 'failed',
      },
      { moments: [] },
    ],
    [
      'does nothing once it has started',
      { course: { phase: 'started', startedAt: at, lookAt: at }, prepare: 'failed' },
      { moments: [] },
    ],
    ['asks for the turn', { rule: limited, afterMs: 8 * minute }, { needs: 'turn', epoch: 1 }],
    [
      'asks for it only once the event is stored',
      { rule: limited, isNew: true },
      { moments: [], record: { turn: { state: 'waits' }, lookAt: at + 1 } },
    ],
    [
      'asks for it only from ten minutes before NotBefore on',
      {
        rule: limited,
        course: { facts: facts({ notBeforeAt: due + minute }) },
        afterMs: 5 * minute,
      },
      { moments: [], record: { turn: { state: 'waits' }, lookAt: at + 5 * minute + 5 * second } },
    ],
    [
      'does not ask for it again at once',
      {
        rule: limited,
        course: { turn: { state: 'waits', behind: ['x'] }, lookAt: at + 9 * minute },
        afterMs: 8 * minute,
      },
      { record: { turn: { behind: ['x'] } } },
    ],
    [
      'waits for it, and looks again in some seconds',
      { rule: limited, turn: { outcome: 'waits', behind: ['web_1'] }, afterMs: 8 * minute },
      {
        record: {
          turn: { state: 'waits', behind: ['web_1'] },
          lookAt: at + 8 * minute + 5 * second,
        },
      },
    ],
    [
      'asks if it does not come in time',
      { rule: limited, turn: { outcome: 'waits', behind: ['web_1'] }, afterMs: 14 * minute },
      { moments: ['not_ready'], record: { notReady: { why: 'no_turn_in_time' } } },
    ],
    [
      'does not approve without it, even if the VM is ready',
      {
        rule: limited,
        prepare: 'succeeded',
        turn: { outcome: 'waits', behind: [] },
        afterMs: 8 * minute,
      },
      { moments: [] },
    ],
    [
      'approves with it',
      { rule: limited, prepare: 'succeeded', turn: { outcome: 'held' }, afterMs: 8 * minute },
      { moments: ['approved'], record: { turn: { state: 'held' } } },
    ],
    [
      'takes a new turn if the event has grown',
      { rule: limited, course: held, afterMs: 8 * minute },
      { needs: 'turn' },
    ],
    [
      'without whenReady, takes the turn to approve',
      { rule: { maxConcurrent: 1 }, prepare: 'none', turn: { outcome: 'held' } },
      { moments: ['approved'] },
    ],
  ])('%s', (_, row, expected) => {
    expect(weighed(row)).toMatchObject(expected)
  })

  test('all times are whole milliseconds, as stores demand', () => {
    const step = weighed({ course: { facts: facts({ notBeforeAt: at + 10_001 }) } })
    expect(Number.isInteger('record' in step && step.record.lookAt)).toBe(true)
  })

  test('looks again while it waits, at the latest when people must be asked', () => {
    for (let afterMs = 0; afterMs < 14 * minute; afterMs += 7 * second) {
      const step = weighed({ afterMs, prepare: afterMs < 5 * minute ? 'planned' : 'running' })
      if ('needs' in step) throw new Error('nothing is needed')
      const { lookAt = Number.POSITIVE_INFINITY } = step.record
      expect(lookAt).toBeGreaterThan(at + afterMs)
      expect(lookAt).toBeLessThanOrEqual(at + 14 * minute)
    }
  })

  test('a rule that does not wait leaves no trace', () => {
    const step = weighed({ rule: {}, prepare: 'none' })
    expect(step).toMatchObject({ moments: ['approved'] })
    for (const name of ['lookAt', 'turn', 'readiness', 'notReady']) {
      expect(step).not.toHaveProperty(`record.${name}`)
    }
  })
})

function withoutTime() {
  const { notBeforeAt: _, ...rest } = facts()
  return rest
}
