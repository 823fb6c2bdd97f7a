// Turns: what an event takes of which groups, and whether there is room for it.
import { describe, expect, test } from 'vitest'
import type { HookState } from '../../../functions/core/event/hook-state.ts'
import type { Sight } from '../../../functions/core/event/sight.ts'
import {
  type Holder,
  isTooMuch,
  judgeHolder,
  listRivals,
  slotEveryMs,
  slotRequestId,
  slotsNeeded,
  takeSlot,
} from '../../../functions/core/event/slots.ts'
import type { Match } from '../../../functions/core/rules/match.ts'
import { facts, record, sight } from '../../support/records.ts'

const own = { eventId: 'own', epoch: 1 }
const holder = (eventId: string, groups: Record<string, number>, epoch = 1): Holder => {
  return { eventId, epoch, groups }
}
const wish = (groups: Record<string, number>, max = 1) => ({ max, groups })

describe('whether there is room', () => {
  test.each<[string, Holder[], Record<string, number>, number, boolean]>([
    ['nobody else', [], { a: 1 }, 1, true],
    ['another group', [holder('x', { b: 1 })], { a: 1 }, 1, true],
    ['its group is taken', [holder('x', { a: 1 })], { a: 1 }, 1, false],
    ['one of its groups is taken', [holder('x', { b: 1 })], { a: 1, b: 1 }, 1, false],
    ['two may be taken', [holder('x', { a: 1 })], { a: 1 }, 2, true],
    ['two may be taken, and it needs two', [holder('x', { a: 1 })], { a: 2 }, 2, false],
    ['it has its turn', [holder('own', { a: 1 })], { a: 1 }, 1, true],
    ['it grows, and there is room', [holder('own', { a: 1 })], { a: 2 }, 2, true],
    [
      'it grows, and there is none',
      [holder('own', { a: 1 }), holder('x', { a: 1 })],
      { a: 2 },
      2,
      false,
    ],
    ['an earlier epoch of it had it', [holder('own', { a: 1 }, 0)], { a: 1 }, 1, true],
  ])('%s: %#', (_, holders, groups, max, isHeld) => {
    const taken = takeSlot(holders, own, wish(groups, max), [])
    expect(taken.isHeld).toBe(isHeld)
    expect(taken.holders.some((one) => one.eventId === 'own' && one.epoch === 1)).toBe(
      isHeld || holders.some((one) => one.eventId === 'own' && one.epoch === 1),
    )
  })

  test('a holder whose event is over makes room, and stays in case it comes back', () => {
    const ended = holder('x', { a: 1 })
    const { holders, isHeld } = takeSlot([ended], own, wish({ a: 1 }), [ended])
    expect([isHeld, holders]).toEqual([true, [ended, holder('own', { a: 1 })]])
  })

  test('a slower worker that read the event before it grew takes nothing of its turn away', () => {
    const holders = [holder('own', { a: 2, b: 1 })]
    expect(takeSlot(holders, own, wish({ a: 1 }, 2), []).holders).toBe(holders)
  })

  const groups = (count: number, name = 'g') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, 1]))

  test('an event whose VMs change their group takes no more than fifty groups', () => {
    const holders = [holder('own', groups(50))]
    expect(takeSlot(holders, own, wish({ g0: 1 }), []).isHeld).toBe(true)
    expect(takeSlot(holders, own, wish({ other: 1 }), []).isHeld).toBe(false)
    expect([isTooMuch(wish(groups(50))), isTooMuch(wish(groups(51)))]).toEqual([false, true])
  })

  test('what an event took before counts where the list is full: then some others are asked', () => {
    const full = Array.from({ length: 39 }, (_, i) => holder(`x${i}`, groups(50, `x${i}-`)))
    const holders = [...full, holder('own', groups(50))]
    expect(takeSlot(holders, own, wish({ g0: 1 }), []).isHeld).toBe(true)
    expect(listRivals(holders, own, wish({ other: 1 }), 0)).toHaveLength(5)
    const less = [...full, holder('y', groups(30, 'y')), holder('own', groups(20))]
    expect(takeSlot(less, own, wish({ other: 1 }), []).isHeld).toBe(false)
  })

  test('if nothing changes, the list is the same object', () => {
    const holders = [holder('own', { a: 1 })]
    expect(takeSlot(holders, own, wish({ a: 1 }), []).holders).toBe(holders)
    const others = [holder('x', { a: 1 })]
    expect(takeSlot(others, own, wish({ a: 1 }), []).holders).toBe(others)
  })

  test('the row has a limit, and then a few of its holders are looked at', () => {
    const many = [...Array(2_000).keys()].map((i) => holder(`x${i}`, { [`g${i}`]: 1 }))
    expect(takeSlot(many, own, wish({ a: 1 }), []).isHeld).toBe(false)
    expect(listRivals(many.slice(0, 10), own, wish({ g3: 1 }), 0)).toEqual([many[3]])
    // a few at a time, and all of them in time
    const looked = (turn: number) => listRivals(many, own, wish({ g7: 1 }), turn * slotEveryMs)
    expect(looked(0)).toHaveLength(6)
    expect(looked(0)).toContain(many[7])
    const some = many.slice(0, 40).map((one) => ({ ...one, groups: groups(50, one.eventId) }))
    // an event that asks each minute comes to all of them, too
    const seen = [...Array(100).keys()].flatMap((minute) =>
      listRivals(some, own, wish({ a: 1 }), minute * 60_000),
    )
    expect(new Set(seen).size).toBe(40)
    const { isHeld, holders } = takeSlot(many, own, wish({ a: 1 }), many.slice(5))
    expect([isHeld, holders]).toEqual([true, [...many.slice(0, 5), holder('own', { a: 1 })]])
  })
})

describe('a holder', () => {
  const ended = { at: 1, outcome: 'completed' as const }
  const minute = 60_000
  const run = (state: HookState['state']) => ({ state, since: 1 })
  /** Of its only VM, which had prepared. */
  const by = (changes: Partial<Sight>, restore?: HookState['state']) => {
    const hooks = { prepare: run('succeeded'), ...(restore && { restore: run(restore) }) }
    const sights = [sight('web_0', { isHit: true, restores: true, hooks, ...changes })]
    return record({ ended, facts: facts({ resources: ['web_0'] }), sights })
  }
  const anew = { prepare: run('planned'), restore: run('running') }
  type Standing = ReturnType<typeof judgeHolder>
  test.each<[string, Parameters<typeof judgeHolder>[1], Standing, number?]>([
    ['whose event is open', record(), 'counts'],
    ['whose event has ended', record({ ended }), 'ended'],
    ['whose event ended some minutes ago', record({ ended }), 'gone', 5 * minute + 1],
    ['whose VM runs restore', by({}, 'running'), 'counts', 14 * minute],
    ['whose VM runs restore for long', by({}, 'running'), 'gone', 15 * minute + 1],
    ['whose VM cannot run restore now', by({}, 'refused'), 'counts'],
    ['whose VM is restored', by({}, 'succeeded'), 'ended'],
    ['whose VM restarted while it prepared', by({ hooks: anew }), 'counts'],
    ['whose VM still restarts', by({}), 'counts', 14 * minute],
    ['whose VM has no restore', by({ restores: undefined as never }), 'ended'],
    ['whose VM never prepared', by({ hooks: {} }), 'ended'],
    ['whose beacon was removed', by({ goodbye: 'removed' }), 'ended'],
    [
      'of which nobody knows',
      Object.assign(by({}), { ended: { at: 1, outcome: 'lost' as const } }),
      'ended',
    ],
    ['whose VM is gone', { ...by({}), facts: facts({ eventType: 'Preempt' }) }, 'ended'],
    ['whose event was removed', undefined, 'gone'],
    ['whose event has come back, in a new epoch', record({ epoch: 2 }), 'gone'],
    [
      'whose event has come back and is under way',
      record({ epoch: 2, phase: 'started' }),
      'counts',
    ],
  ])('%s', (_, stored, expected, now = 2) => {
    expect(judgeHolder(holder('x', { a: 1 }), stored, now)).toBe(expected)
  })
})

describe('what an event takes', () => {
  const both = record({ facts: facts({ resources: ['web_0', 'web_1'] }) })
  const rule = (match: Match) => {
    return { name: 'r', match, decide: 'approve' as const, maxConcurrent: 1 }
  }
  const groupsIn = (match: Match, first: object, second: object) => {
    const wish = slotsNeeded(rule(match), both, [sight('web_0', first), sight('web_1', second)])
    return wish === undefined || wish === 'unknown' ? wish : Object.values(wish.groups).sort()
  }

  test.each<[string, Match, object, object, number[]]>([
    ['one scale set', {}, { scaleSet: 'web' }, { scaleSet: 'WEB' }, [2]],
    ['two scale sets', {}, { scaleSet: 'web' }, { scaleSet: 'db' }, [1, 1]],
    ['two resource groups', {}, { resourceGroup: 'a' }, { resourceGroup: 'b' }, [1, 1]],
    ['VMs in no scale set', {}, {}, {}, [2]],
    [
      'one value of the tag',
      { tag: ['role'] },
      { tags: { role: 'a' } },
      { tags: { Role: 'a' } },
      [2],
    ],
    ['two values', { tag: ['role'] }, { tags: { role: 'a' } }, { tags: { role: 'b' } }, [1, 1]],
    ['a value', { tag: ['role=a'] }, { tags: { role: 'a' } }, { tags: { role: 'a' } }, [2]],
  ])('%s', (_, match, first, second, expected) => {
    expect(groupsIn(match, first, second)).toEqual(expected)
  })

  test('unknown, while a beacon has not reported', () => {
    expect(slotsNeeded(rule({}), both, [sight('web_0')])).toBe('unknown')
  })

  test('nothing, without a limit', () => {
    const { maxConcurrent: _, ...unlimited } = rule({})
    expect(slotsNeeded(unlimited, both, [])).toBeUndefined()
  })

  test('too much, if it alone has more than the limit', () => {
    expect(isTooMuch(wish({ a: 1, b: 2 }))).toBe(true)
    expect(isTooMuch(wish({ a: 1, b: 1 }))).toBe(false)
  })

  test('its id does not depend on the order of groups', () => {
    expect(slotRequestId(wish({ a: 1, b: 2 }))).toBe(slotRequestId(wish({ b: 2, a: 1 })))
    expect(slotRequestId(wish({ a: 1 }))).not.toBe(slotRequestId(wish({ a: 2 })))
  })
})
