// Which hook runs, and when: one row for each situation.
import { describe, expect, test } from 'vitest'
import { type Phase, type Plan, planHook, type Situation } from '../../../beacon/hooks/plan.ts'
import { anEvent } from '../events.ts'

const now = Date.UTC(2026, 0, 1)
const ready = { state: 'ready' } as const
const absent = { state: 'absent' } as const
const refused = { state: 'refused', note: 'chmod' } as const
const second = 1_000
const minute = 60_000

/** A reboot in 15 minutes, seen just now, whose hooks are ready. */
function situation(changes: Partial<Situation> = {}): Situation {
  return {
    now,
    event: noticeOf(15 * minute),
    firstSeenAt: now,
    isMissing: false,
    endedAt: undefined,
    isAnswered: true,
    wish: undefined,
    leadMs: 10 * minute,
    presences: { prepare: ready, restore: ready },
    prepare: undefined,
    isOutdated: false,
    restore: undefined,
    isOnRecord: false,
    isPreparedForAnother: false,
    ...changes,
  }
}

function noticeOf(ms: number) {
  return anEvent({ notBeforeAt: now + ms })
}

function phase(state: Phase['state'], starts = 1): Phase {
  return { state, starts }
}

const { notBeforeAt: _, ...withoutNotBefore } = anEvent()
const started = anEvent({ status: 'Started' })
const short = { event: noticeOf(5 * minute) }

const cases: [string, Partial<Situation>, Partial<Plan>][] = [
  ['waits for NotBefore less the lead', {}, { kind: 'wait', forMs: 5 * minute }],
  ['starts with the lead', { event: noticeOf(10 * minute) }, { kind: 'run', limitMs: 570_000 }],
  ['starts late if it was seen late', short, { kind: 'run', limitMs: 4.5 * minute }],
  ['ends 30 s before NotBefore', { event: noticeOf(120_000) }, { kind: 'run', limitMs: 90_000 }],
  ['leaves a quarter if that is less', { event: noticeOf(30_000) }, { limitMs: 22_500 }],
  ['starts at once with a lead of days', { leadMs: 86_400_000 }, { kind: 'run' }],
  ['starts at NotBefore at the latest', { leadMs: 0 }, { kind: 'wait', forMs: 15 * minute }],
  ['starts early if the relay asks', { wish: 'now' }, { kind: 'run', limitMs: 14.5 * minute }],
  ['has a limit without NotBefore', { event: withoutNotBefore }, { kind: 'run', limitMs: 600_000 }],
  [
    'never runs longer than a day',
    { event: noticeOf(5 * 86_400_000), wish: 'now' },
    { kind: 'run', limitMs: 86_400_000 },
  ],
  ['gives the relay 10 s', { ...short, isAnswered: false }, { kind: 'wait', forMs: 10_000 }],
  [
    'starts after 10 s without an answer',
    { ...short, isAnswered: false, firstSeenAt: now - 10_000 },
    { kind: 'run' },
  ],
  [
    'gives the relay a quarter of a short notice',
    { event: noticeOf(30_000), isAnswered: false },
    { kind: 'wait', forMs: 7_500 },
  ],
  [
    'starts after that quarter',
    { event: noticeOf(22_500), isAnswered: false, firstSeenAt: now - 7_500 },
    { kind: 'run', limitMs: 16_875 },
  ],
  ['waits while the relay holds it', { ...short, wish: 'hold' }, { kind: 'wait', forMs: 298_000 }],
  [
    'is missed if it is held for too long',
    { event: noticeOf(2_000), wish: 'hold' },
    { kind: 'missed' },
  ],
  ['is missed once NotBefore passed', { event: noticeOf(-second) }, { kind: 'missed' }],
  ['is missed once the event started', { event: started }, { kind: 'missed' }],
  ['is planned again if NotBefore moves', { prepare: phase('failed', 0) }, { kind: 'wait' }],
  [
    'runs for a status that is unknown',
    { event: { ...short.event, status: 'Unknown' } },
    { kind: 'run' },
  ],
  [
    'waits for its runner',
    { presences: undefined, prepare: phase('planned', 0) },
    { kind: 'wait' },
  ],
  ['is not planned without a runner', { presences: undefined }, { kind: 'nothing' }],
  ['is not there', { presences: { prepare: absent, restore: ready } }, { kind: 'nothing' }],
  [
    'is refused at first sight',
    { presences: { prepare: refused, restore: ready } },
    { kind: 'refused', reason: 'chmod' },
  ],
  ['is left alone while it runs', { ...short, prepare: phase('running') }, { kind: 'nothing' }],
  ['runs once', { ...short, prepare: phase('succeeded') }, { kind: 'nothing' }],
  [
    'is not repeated after it failed',
    { wish: 'now', prepare: phase('failed') },
    { kind: 'nothing' },
  ],
  ['runs again if it was interrupted', { ...short, prepare: phase('planned') }, { kind: 'run' }],
  [
    'gives up if it is always interrupted',
    { ...short, prepare: phase('planned', 3) },
    { kind: 'missed' },
  ],
  [
    'runs again if the event has another type',
    { ...short, prepare: phase('succeeded', 3), isOutdated: true },
    { kind: 'run' },
  ],
  [
    'is left alone while it runs for an earlier type',
    { ...short, prepare: phase('running'), isOutdated: true },
    { kind: 'nothing' },
  ],
  [
    'is missed if the event has another type, and has started',
    { event: started, prepare: phase('succeeded'), isOutdated: true },
    { kind: 'missed' },
  ],
  ['runs for a second event', { ...short, isPreparedForAnother: true }, { kind: 'run' }],
]

describe('prepare', () => {
  test.each(cases)('%s', (_name, changes, expected) => {
    expect(planHook(situation(changes))).toMatchObject({ hook: 'prepare', ...expected })
  })
})

const over = { endedAt: now - second, isMissing: true, prepare: phase('succeeded') }

describe('restore', () => {
  test.each<[string, Partial<Situation>, Partial<Plan>]>([
    ['runs when the event is over', over, { kind: 'run', limitMs: 600_000 }],
    ['runs after a failed prepare', { ...over, prepare: phase('failed') }, { kind: 'run' }],
    ['runs after an interrupted prepare', { ...over, prepare: phase('planned') }, { kind: 'run' }],
    ['waits for prepare', { ...over, prepare: phase('running') }, { kind: 'wait' }],
    ['is not due without prepare', { ...over, prepare: phase('failed', 0) }, { kind: 'nothing' }],
    ['is not due where none was planned', { ...over, prepare: undefined }, { kind: 'nothing' }],
    [
      'runs again if it failed and the node is still cordoned',
      { ...over, restore: { state: 'failed', starts: 3 }, isOnRecord: true },
      { kind: 'run' },
    ],
    ['waits for another event', { ...over, isPreparedForAnother: true }, { kind: 'wait' }],
    ['waits for its runner', { ...over, presences: undefined }, { kind: 'wait' }],
    [
      'is not there',
      { ...over, presences: { prepare: ready, restore: absent } },
      { kind: 'nothing' },
    ],
    [
      'is refused',
      { ...over, presences: { prepare: ready, restore: refused } },
      { kind: 'refused' },
    ],
    ['runs once', { ...over, restore: phase('succeeded') }, { kind: 'nothing' }],
    ['is not repeated after it failed', { ...over, restore: phase('failed') }, { kind: 'nothing' }],
    ['runs again if it was interrupted', { ...over, restore: phase('planned') }, { kind: 'run' }],
    [
      'gives up if it is always interrupted',
      { ...over, restore: phase('planned', 3) },
      { kind: 'missed' },
    ],
    ['is missed after a day', { ...over, endedAt: now - 86_400_000 }, { kind: 'missed' }],
    ['ignores what the relay wished of prepare', { ...over, wish: 'hold' }, { kind: 'run' }],
  ])('%s', (_name, changes, expected) => {
    expect(planHook(situation(changes))).toMatchObject({ hook: 'restore', ...expected })
  })
})

test('whatever the notice is, prepare ends before NotBefore, and a wait is no busy loop', () => {
  for (let notice = -5_000; notice < 20 * minute; notice += 500) {
    for (const isAnswered of [true, false]) {
      const plan = planHook(situation({ event: noticeOf(notice), isAnswered }))
      if (plan.kind === 'run') {
        expect(plan.limitMs).toBeGreaterThan(second)
        expect(plan.limitMs).toBe(notice - Math.min(30_000, notice / 4))
      }
      if (plan.kind === 'wait') expect(plan.forMs).toBeGreaterThan(0)
    }
  }
})
