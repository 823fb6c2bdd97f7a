// How far VMs are prepared: each row is what their beacons reported, and the state that follows.
import { describe, expect, test } from 'vitest'
import type { HookState, HookStates } from '../../../functions/core/event/hook-state.ts'
import type { Observer } from '../../../functions/core/event/observer.ts'
import { readinessOf, withReadiness } from '../../../functions/core/event/readiness.ts'
import { at, type Fields, facts, observer, record } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const minute = 60_000
const now = at + 5 * minute
const run = (state: HookState['state'], more: Partial<HookState> = {}): HookState => {
  return { state, since: at, ...more }
}
const web0 = (hooks?: HookStates, beacon = {}): Observer =>
  observer('web_0', { heardAt: now, ...beacon }, hooks === undefined ? {} : { hooks })

const stateOf = (observers: Observer[], changes: Fields = {}, listeningSince = 0, when = now) =>
  readinessOf(record(changes), observers, { now: when, listeningSince })

describe('the state of a VM', () => {
  test.each<[string, Observer[], Fields, object]>([
    ['planned', [web0({ prepare: run('planned') })], {}, { state: 'planned', since: at }],
    ['running', [web0({ prepare: run('running') })], {}, { state: 'preparing' }],
    ['succeeded', [web0({ prepare: run('succeeded') })], {}, { state: 'ready' }],
    [
      'failed',
      [web0({ prepare: run('failed', { exitCode: 3, note: 'busy' }) })],
      {},
      { state: 'failed', exitCode: 3, note: 'busy' },
    ],
    [
      'succeeded for the type that the event has, however late the change was reported',
      [web0({ prepare: run('succeeded', { eventType: 'reboot' }) })],
      { changedAt: { eventType: at + 1 } },
      { state: 'ready' },
    ],
    [
      'succeeded for another type',
      [web0({ prepare: run('succeeded', { eventType: 'Freeze', since: now }) })],
      { changedAt: { eventType: at } },
      { state: 'planned' },
    ],
    [
      'succeeded before the type changed, and nobody knows for which',
      [web0({ prepare: run('succeeded') })],
      { changedAt: { eventType: at + 1 } },
      { state: 'planned' },
    ],
    [
      'succeeded after the type changed, and nobody knows for which',
      [web0({ prepare: run('succeeded') })],
      { changedAt: { eventType: at } },
      { state: 'ready' },
    ],
    [
      'failed before the type changed',
      [web0({ prepare: run('failed') })],
      { changedAt: { eventType: at + 1 } },
      { state: 'failed' },
    ],
    ['refused', [web0({ prepare: run('refused') })], {}, { state: 'refused' }],
    ['no run', [web0()], {}, { state: 'no_hook' }],
    ['only a run of restore', [web0({ restore: run('planned') })], {}, { state: 'no_hook' }],
    ['no beacon', [], {}, { state: 'silent' }],
    ['no beacon, at first', [], { firstSeenAt: now }, { state: 'awaited' }],
    [
      'no beacon, since Azure added it',
      [],
      { changedAt: { resources: now } },
      { state: 'awaited' },
    ],
    ['no beacon, since it is back', [], { reopenedAt: now }, { state: 'awaited' }],
    [
      'its own document does not show that it is hit, at first',
      [observer('web_0', { heardAt: now }, { event: event({ resources: ['db_0'] }) })],
      { firstSeenAt: now },
      { state: 'awaited' },
    ],
    [
      'silent for two minutes',
      [web0({ prepare: run('succeeded') }, { heardAt: now - 2 * minute - 1 })],
      {},
      { state: 'silent', since: now - 2 * minute - 1 },
    ],
    [
      'silent for two of its paces',
      [web0({ prepare: run('succeeded') }, { heardAt: now - 2 * minute - 1, paceMs: minute })],
      {},
      { state: 'ready' },
    ],
    [
      'silent, as it has started',
      [web0({ prepare: run('succeeded') }, { heardAt: at })],
      { phase: 'started', startedAt: at + minute },
      { state: 'ready' },
    ],
    [
      'of two VMs with its name, the one whose hook runs, as the other one may be a lie',
      [web0({ prepare: run('running') }), web0({}), web0({}, { heardAt: at - 60 * minute })],
      {},
      { state: 'preparing' },
    ],
    [
      'of two VMs with its name, the one that is less ready',
      [
        web0({ prepare: run('succeeded') }),
        observer(
          'WEB_0',
          { beacon: 'other', heardAt: now },
          { hooks: { prepare: run('running') } },
        ),
      ],
      {},
      { state: 'preparing' },
    ],
  ])('%s', (_, observers, changes, expected) => {
    expect(stateOf(observers, changes)).toEqual([
      expect.objectContaining({ vm: 'web_0', ...expected }),
    ])
  })

  test('silence does not count while the relay was away', () => {
    const silent = web0({ prepare: run('succeeded') }, { heardAt: at - minute })
    expect(stateOf([silent], {}, now - minute)).toMatchObject([{ state: 'ready' }])
  })
})

describe('the summary', () => {
  const names = [...Array(60).keys()].map((i) => `web_${i}`)
  const many = record({ facts: facts({ resources: names }) })
  const listening = { now, listeningSince: 0 }
  const summaryOf = (observers: Observer[], of = many) =>
    withReadiness(of, readinessOf(of, observers, listening), observers).readiness

  test('counts all VMs, and names few of them, the failed ones first', () => {
    const observers = names.map((vm, i) =>
      observer(
        vm,
        { heardAt: now },
        {
          event: event({ resources: names }),
          hooks: {
            prepare: run(i < 50 ? 'planned' : i < 55 ? 'failed' : 'succeeded', {
              note: 'n'.repeat(300),
            }),
          },
        },
      ),
    )
    const { counts, unready } = summaryOf(observers)!
    expect(counts).toEqual({ failed: 5, planned: 50, ready: 5 })
    expect(unready).toHaveLength(20)
    expect(unready.slice(0, 6).map(({ state }) => state)).toEqual([
      ...Array(5).fill('failed'),
      'planned',
    ])
    expect(Math.max(...unready.map(({ note = '' }) => note.length))).toBeLessThanOrEqual(160)
  })

  test('there is none if no affected VM has a hook', () => {
    const other = observer('db_0', { heardAt: now }, { hooks: { prepare: run('planned') } })
    expect(summaryOf([web0(), other], record())).toBeUndefined()
  })

  test('there is one if a rule waits for hooks', () => {
    const waiting = record({ policy: { decide: 'approve', rule: 'r', whenReady: true } })
    expect(summaryOf([web0()], waiting)).toMatchObject({ counts: { no_hook: 1 } })
  })

  test('an unchanged record is the same object', () => {
    const observers = [web0({ prepare: run('planned') })]
    const once = withReadiness(record(), stateOf(observers), observers)
    expect(withReadiness(once, stateOf(observers), observers)).toBe(once)
    expect(withReadiness(once, stateOf([web0()]), [web0()])).not.toHaveProperty('readiness')
  })

  test('shows how "restore" went', () => {
    const hooks = { prepare: run('succeeded'), restore: run('refused', { note: 'not root' }) }
    expect(summaryOf([web0(hooks)], record())?.restore).toEqual({
      counts: { refused: 1 },
      failed: [{ vm: 'web_0', state: 'refused', since: at, note: 'not root' }],
    })
  })
})
