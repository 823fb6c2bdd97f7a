// Problems of Foghorn itself: what owners are notified of, when, and how that ends.
import { describe, expect, test } from 'vitest'
import { alertId, alertsTo } from '../../../functions/core/delivery/alert.ts'
import { maxProblems } from '../../../functions/core/limits.ts'
import {
  nextMessageAt,
  type ProblemChange,
  type ProblemKind,
  type ProblemRow,
  withChange,
  withMessage,
} from '../../../functions/features/problems/rule.ts'
import { has } from '../../support/features.ts'
import { at } from '../../support/records.ts'

const second = 1_000
const minute = 60 * second
const since = at - 14 * minute

/** A row on a clock: notes changes, and sends what is due. */
function rowOf(of: ProblemKind | 'subscription_disabled' = 'channels_in_trouble') {
  const kind = of as ProblemKind
  let row: ProblemRow | undefined
  let now = at
  const told: {
    form: string
    count: number
    remaining: number
    names: string[]
    left: string[]
  }[] = []
  const ids: string[] = []
  return {
    ...{ told, ids },
    get row() {
      return row
    },
    get dueInMs() {
      return row && nextMessageAt(row) - now
    },
    note(change: ProblemChange) {
      row = withChange(row, { fleet: 'prod', kind }, change, now)
    },
    pass(ms: number) {
      const until = now + ms
      while (row !== undefined && nextMessageAt(row) <= until) {
        now = Math.max(now, nextMessageAt(row))
        const { row: next, about } = withMessage(row, now)
        row = next
        if (about === undefined) continue
        const key = { fleet: 'prod', eventId: alertId(kind), sequence: row.sent }
        ids.push(...alertsTo(['chat', 'pager'], key, about, now).map(({ id }) => id))
        const { form, count, remaining, left } = about.news
        told.push({ form, count, remaining, names: about.names, left })
      }
      now = until
    },
  }
}

const item = (name: string, from = at + minute) => ({
  id: `id-${name}`,
  name,
  since,
  from,
})
const forms = ({ told }: ReturnType<typeof rowOf>) =>
  told.map(({ form, count }) => `${form} ${count}`)

describe('absences', () => {
  test('are told once, all at the time of the first', () => {
    const alert = rowOf()
    alert.note({ add: [item('web_0'), item('web_1', at + 70 * second)] })
    alert.pass(minute - 1)
    expect(alert.told).toEqual([])
    alert.note({ add: [item('web_0'), item('web_2', at + 119 * second)] })
    alert.pass(60 * minute)
    expect(alert.told).toMatchObject([
      { form: 'begun', count: 3, names: ['web_0', 'web_1', 'web_2'] },
    ])
    alert.note({ add: [item('web_0')] })
    alert.pass(60 * minute)
    expect(alert.told).toHaveLength(1)
  })

  test('of one who is back before are not told, and leave nothing open', () => {
    const alert = rowOf()
    alert.note({ add: [item('web_0')] })
    alert.note({ back: ['id-web_0'] })
    expect(alert.row?.problems).toEqual([])
    alert.pass(60 * minute)
    expect(alert.told).toEqual([])
  })

  test('that follow are told 15 min later, together', () => {
    const alert = rowOf()
    alert.note({ add: [item('web_0')] })
    alert.pass(2 * minute)
    alert.note({ add: [item('web_1')] })
    alert.pass(5 * minute)
    alert.note({ add: [item('web_2')] })
    alert.pass(9 * minute - 1)
    expect(forms(alert)).toEqual(['begun 1'])
    alert.pass(1)
    expect(alert.told[1]).toMatchObject({ count: 2, remaining: 3, names: ['web_1', 'web_2'] })
  })

  test('are listed up to a limit; others have to wait', () => {
    const alert = rowOf()
    const many = Array.from({ length: maxProblems + 5 }, (_, i) => item(`vm${i}`))
    alert.note({ add: many })
    alert.pass(2 * minute)
    expect(alert.told).toMatchObject([{ count: maxProblems }])
    expect(alert.told[0]!.names.length).toBeLessThan(100)
    alert.note({ back: ['id-vm0'] })
    alert.note({ add: many.slice(-5) })
    expect(alert.row?.problems).toHaveLength(maxProblems)
  })

  test('have a message each, with an id of its own for each owner', () => {
    const alert = rowOf()
    for (let i = 0; i < 3; i++) {
      alert.note({ add: [item(`web_${i}`)] })
      alert.pass(20 * minute)
      alert.note({ back: [`id-web_${i}`] })
      alert.pass(20 * minute)
    }
    expect(alert.told).toHaveLength(6)
    expect(new Set(alert.ids).size).toBe(12)
  })
})

describe('returns', () => {
  test('are collected for a minute, and told once', () => {
    const alert = rowOf()
    alert.note({ add: ['a', 'b', 'c'].map((name) => item(name)) })
    alert.pass(2 * minute)
    alert.note({ back: ['id-a'] })
    alert.pass(30 * second)
    alert.note({ back: ['id-a', 'id-b', 'id-unknown'] })
    alert.pass(29 * second)
    expect(forms(alert)).toEqual(['begun 3'])
    alert.pass(second)
    expect(alert.told[1]).toMatchObject({ form: 'over', count: 2, remaining: 1, names: ['a', 'b'] })
    alert.note({ back: ['id-c'] })
    alert.pass(13 * minute)
    expect(alert.told).toHaveLength(2)
    alert.pass(2 * minute)
    expect(alert.told[2]).toMatchObject({ form: 'over', count: 1, remaining: 0 })
    expect(alert.row?.problems).toEqual([])
  })

  test('of an item that begins again before are not sent', () => {
    const alert = rowOf()
    alert.note({ add: [item('a'), item('b')] })
    alert.pass(2 * minute)
    alert.note({ back: ['id-a', 'id-b'] })
    alert.note({ add: [item('a')] })
    alert.pass(60 * minute)
    expect(alert.told[1]).toMatchObject({ form: 'over', count: 1, remaining: 1, names: ['b'] })
    alert.note({ back: ['id-a'] })
    alert.note({ add: [item('a')] })
    alert.pass(60 * minute)
    expect(alert.told).toHaveLength(2)
  })

  test('name those that left apart', () => {
    const alert = rowOf()
    alert.note({ add: [item('a'), item('b')] })
    alert.pass(2 * minute)
    alert.note({ back: ['id-a'], left: ['id-b'] })
    alert.pass(2 * minute)
    expect(alert.told[1]).toMatchObject({ count: 2, remaining: 0, names: ['a'], left: ['b'] })
  })

  test('end the episode; the next one has the next number, and waits for the same limit', () => {
    const alert = rowOf()
    const episode = () => alert.row?.episode
    alert.note({ add: [item('a')] })
    alert.pass(minute)
    alert.note({ back: ['id-a'] })
    alert.pass(minute)
    expect([forms(alert), episode()]).toEqual([['begun 1', 'over 1'], 1])
    alert.note({ add: [item('a')] })
    expect(episode()).toBe(2)
    alert.pass(14 * minute - 1)
    expect(alert.told).toHaveLength(2)
    alert.pass(1)
    expect(forms(alert)).toEqual(['begun 1', 'over 1', 'begun 1'])
  })
})

describe('while nothing is to be told', () => {
  test.each(['channels_in_trouble', 'disk_nearly_full'] as const)(
    '%s: the row is not due',
    (kind) => {
      const alert = rowOf(kind)
      alert.note({ add: [item('a')] })
      alert.pass(2 * minute)
      expect(alert.told).toHaveLength(1)
      expect(alert.dueInMs).toBe(Infinity)
    },
  )

  test('a change without news is no write', () => {
    const alert = rowOf()
    alert.note({ back: ['id-a'] })
    expect(alert.row).toBeUndefined()
    alert.note({ add: [item('a')] })
    const before = alert.row
    alert.note({ add: [item('a')], of: 12 })
    alert.note({ back: ['id-b'] })
    expect(alert.row).toBe(before)
  })
})

describe('without an end of its own', () => {
  test('what occurs is over 15 min after it occurred last', () => {
    const alert = rowOf('over_limits')
    for (let minutes = 0; minutes < 30; minutes++) {
      alert.note({ add: [item('web_0')] })
      alert.pass(minute)
    }
    expect(forms(alert)).toEqual(['begun 1'])
    alert.pass(14 * minute)
    expect(alert.told).toHaveLength(1)
    alert.pass(minute)
    expect(forms(alert)).toEqual(['begun 1', 'over 1'])
    expect(alert.row?.problems).toEqual([])
  })

  test('what occurs is over together', () => {
    const alert = rowOf('over_limits')
    alert.note({ add: [item('web_0')] })
    alert.pass(15 * minute)
    alert.note({ add: [item('web_1', at + 15 * minute)] })
    alert.pass(14 * minute)
    expect(forms(alert)).toEqual(['begun 1', 'begun 1'])
    alert.pass(10 * minute)
    expect(forms(alert)).toEqual(['begun 1', 'begun 1', 'over 2'])
  })

  test.runIf(has('subscriptions'))(
    'a disabled subscription is told once, and its end never',
    () => {
      const alert = rowOf('subscription_disabled')
      alert.note({ add: [item('a')] })
      alert.pass(minute)
      expect(alert.row?.problems).toEqual([])
      alert.note({ add: [item('b')] })
      alert.pass(60 * minute)
      expect(alert.told.map(({ names }) => names)).toEqual([['a'], ['b']])
      expect(alert.row?.episode).toBe(2)
    },
  )
})

test('a message that is not stored yet outlives its episode', () => {
  const alert = rowOf()
  alert.note({ add: [item('a')] })
  const { row, about } = withMessage(alert.row!, at + minute)
  const message = { about: about!, to: ['chat'] }
  const over = { ...row, problems: [], message }
  const next = withChange(over, row, { add: [item('b')] }, at + 2 * minute)
  expect(next).toMatchObject({ episode: 2, message })
})

test('times in the future are from before the clock was set back', () => {
  const alert = rowOf()
  alert.note({ add: [item('a')] })
  alert.pass(2 * minute)
  alert.note({ back: ['id-a'] })
  alert.pass(60 * minute)
  const early = withChange(
    alert.row,
    alert.row!,
    { add: [item('a', at - 60 * minute)] },
    at - 60 * minute,
  )
  expect(nextMessageAt(early!)).toBe(at - 60 * minute)
})
