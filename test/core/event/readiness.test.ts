// How far VMs are prepared: each row is what their beacons reported, and the state that follows.
import { describe, expect, test } from 'vitest'
import type { HookState, HookStates } from '../../../functions/core/event/hook-state.ts'
import { judgeReadiness, withReadiness } from '../../../functions/core/event/readiness.ts'
import type { Sight } from '../../../functions/core/event/sight.ts'
import { at, type Fields, facts, record, sight } from '../../support/records.ts'

const minute = 60_000
const now = at + 5 * minute
const run = (state: HookState['state'], more: Partial<HookState> = {}): HookState => {
  return { state, since: at, ...more }
}
const web0 = (hooks?: HookStates, changes: Partial<Sight> = {}) =>
  sight('web_0', { heardAt: now, ...changes, ...(hooks && { hooks }) })

const stateOf = (sights: Sight[], changes: Fields = {}, listeningSince = 0) =>
  judgeReadiness(record({ ...changes, sights }), { now, listeningSince })

/** Its own document does not name it. */
const without = ({ isHit: _, ...rest }: Sight): Sight => rest

test('a relay that has just started waits for the first reports', () => {
  expect(stateOf([], {}, now - 2 * minute + 1)).toMatchObject([{ state: 'awaited' }])
  expect(stateOf([], {}, now - 2 * minute)).toMatchObject([{ state: 'silent' }])
})

describe('the state of a VM', () => {
  test.each<[string, Sight[], Fields, object]>([
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
      {},
      { state: 'ready' },
    ],
    [
      'succeeded for another type',
      [web0({ prepare: run('succeeded', { eventType: 'Freeze', since: now }) })],
      {},
      { state: 'planned' },
    ],
    ['refused', [web0({ prepare: run('refused') })], {}, { state: 'refused' }],
    ['no run', [web0()], {}, { state: 'no_hook' }],
    ['only a run of restore', [web0({ restore: run('planned') })], {}, { state: 'no_hook' }],
    ['no beacon', [], {}, { state: 'silent' }],
    ['no beacon, at first', [], { firstSeenAt: now }, { state: 'awaited' }],
    [
      'no beacon, since Azure added it',
      [],
      { changed: { at: now, names: ['resources'], from: {} } },
      { state: 'awaited' },
    ],
    ['no beacon, since it is back', [], { backAt: now }, { state: 'awaited' }],
    ['no beacon, heard of late', [], { firstHeardAt: now }, { state: 'awaited' }],
    [
      'its own document does not show that it is hit, at first',
      [without(web0())],
      { firstSeenAt: now },
      { state: 'awaited' },
    ],
    [
      'silent for three minutes',
      [web0({ prepare: run('succeeded') }, { heardAt: now - 3 * minute - 1 })],
      {},
      { state: 'silent', since: now - 3 * minute - 1 },
    ],
    [
      'silent, as it has started',
      [web0({ prepare: run('succeeded') }, { heardAt: at })],
      { phase: 'started', started: { at: at + minute } },
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
        web0({ prepare: run('running') }, { beacon: 'other', vm: 'WEB_0' }),
      ],
      {},
      { state: 'preparing' },
    ],
  ])('%s', (_, sights, changes, expected) => {
    expect(stateOf(sights, changes)).toEqual([
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
  const summaryOf = (sights: Sight[], of = many) => {
    const known = { ...of, sights }
    return withReadiness(known, judgeReadiness(known, listening)).wait.readiness
  }

  test('counts all VMs, and names few of them, the failed ones first', () => {
    const sights = names.map((vm, i) => {
      const state = i < 50 ? 'planned' : i < 55 ? 'failed' : 'succeeded'
      const hooks = { prepare: run(state, { note: 'n'.repeat(300) }) }
      return sight(vm, { heardAt: now, isHit: true, hooks })
    })
    const { counts, unready } = summaryOf(sights)!
    expect(counts).toEqual({ failed: 5, planned: 50, ready: 5 })
    expect(unready).toHaveLength(20)
    expect(unready.slice(0, 6).map(({ state }) => state)).toEqual([
      ...Array(5).fill('failed'),
      'planned',
    ])
    expect(Math.max(...unready.map(({ note = '' }) => note.length))).toBeLessThanOrEqual(160)
  })

  test('there is none if no affected VM has a hook', () => {
    const other = sight('db_0', { heardAt: now, hooks: { prepare: run('planned') } })
    expect(summaryOf([web0(), other], record())).toBeUndefined()
  })

  test('there is one if a rule waits for hooks', () => {
    const waiting = record({ policy: { decide: 'approve', rule: 'r', whenReady: true } })
    expect(summaryOf([web0()], waiting)).toMatchObject({ counts: { no_hook: 1 } })
  })

  test('an unchanged record is the same object', () => {
    const of = (sights: Sight[], known = record()) => {
      const seen = { ...known, sights }
      return withReadiness(seen, judgeReadiness(seen, listening))
    }
    const once = of([web0({ prepare: run('planned') })])
    expect(withReadiness(once, judgeReadiness(once, listening))).toBe(once)
    expect(of([web0()], once)).not.toHaveProperty('readiness')
  })

  test('shows how "restore" went', () => {
    const hooks = { prepare: run('succeeded'), restore: run('refused', { note: 'not root' }) }
    expect(summaryOf([web0(hooks)], record())?.restore).toEqual({
      counts: { refused: 1 },
      failed: [{ vm: 'web_0', state: 'refused', since: at, note: 'not root' }],
    })
  })
})
