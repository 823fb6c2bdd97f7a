// How many changes of an event people hear of.
import { describe, expect, test } from 'vitest'
import { hashChange } from '../../../functions/core/delivery/delivery.ts'
import type { Decided, OpenRecord } from '../../../functions/core/event/event.ts'
import type { Conclusion } from '../../../functions/core/event/stage.ts'
import { told } from '../../../functions/core/event/told.ts'
import { at, facts, openRecord, scope } from '../../support/records.ts'

const minute = 60_000
const before = openRecord({ notified: { epoch: 1, count: 0, last: 'what people knew' } })
const notified = (count: number, more: object = {}) => ({ ...before.notified!, count, ...more })
const changed = { names: ['eventType' as const], from: {} }

function step(record: OpenRecord, now = at, from: OpenRecord = record) {
  const listening = { now, listeningSince: 0 }
  const conclusion: Conclusion = {
    before,
    from,
    isShown: true,
    rules: [],
    reminders: [],
    listening,
  }
  return told.step({ record, moments: [] }, conclusion)
}

test('a change is told, and how many there were is noted', () => {
  const { record, moments } = step({ ...before, changed: { at, ...changed } })
  expect(moments).toEqual(['changed'])
  expect(record.notified).toEqual({ epoch: 1, count: 1, last: hashChange(record) })
})

describe('after fifty changes', () => {
  const many = { ...before, notified: notified(50, { at }), changed: { at, ...changed } }

  test('the newest values are told ten minutes later, and nothing if people know them', () => {
    const times = { rules: [], reminders: [], listening: { now: at, listeningSince: 0 } }
    expect(told.nextAt(many, times)).toBe(at + 10 * minute)
    expect(step(many, at + 10 * minute - 1).moments).toEqual([])
    const { record, moments } = step(many, at + 10 * minute)
    expect(moments).toEqual(['changed'])
    expect(record.notified).toMatchObject({ count: 51, at: at + 10 * minute })
    const back = { ...many, notified: notified(50, { at, last: hashChange(many) }) }
    expect(told.nextAt(back, times)).toBe(Number.POSITIVE_INFINITY)
    expect(step(back, at + 10 * minute).moments).toEqual([])
  })

  test.each<[string, Decided['how'], string[]]>([
    ['a person', 'link', ['changed']],
    ['a rule', 'policy', []],
  ])("that %s's approval expired", (_, how, moments) => {
    const expired = { decision: 'approved', how, who: 'x', at, scope, expiredAt: at } as const
    const next = { ...many, overruled: [expired] }
    expect(step(next, at, many).moments).toEqual(moments)
  })
})

test('an event that nobody shows is not announced', () => {
  const { notified: _, ...fresh } = { ...before, facts: facts() }
  const listening = { now: at, listeningSince: 0 }
  const conclusion = { before, from: fresh, isShown: false, rules: [], reminders: [], listening }
  expect(told.step({ record: fresh, moments: [] }, conclusion).moments).toEqual([])
})
