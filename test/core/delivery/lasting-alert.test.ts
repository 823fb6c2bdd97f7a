// The row of an alert that lasts: what it sends, when, and how it ends.
import { describe, expect, test } from 'vitest'
import {
  isLasting,
  type LastingChange,
  maxItems,
  sendLasting,
  withLasting,
} from '../../../functions/core/delivery/lasting-alert.ts'
import type { BeaconAlertKind } from '../../../functions/core/event/alert-row.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { at } from '../../support/records.ts'

const second = 1_000
const minute = 60 * second
const since = at - 14 * minute

/** A row on a clock: notes changes, and sends what is due. */
function rowOf(kind: BeaconAlertKind = 'beacons_silent') {
  let row: EventRecord | undefined
  let now = at
  /** What the relay finds when it looks at the beacons. */
  const over = { back: [] as string[], left: [] as string[] }
  const told: { form: string; count: number; remaining: number; vms: string[]; left: string[] }[] =
    []
  const ids: string[] = []
  return {
    ...{ told, ids, over },
    get row() {
      return row
    },
    get dueInMs() {
      return row?.dueAt === undefined ? undefined : row.dueAt - now
    },
    note(change: Partial<LastingChange>) {
      row = withLasting(row, 'prod', kind, { add: [], back: [], left: [], ...change }, now)
    },
    pass(ms: number) {
      const until = now + ms
      while (row !== undefined && isLasting(row) && (row.dueAt ?? until + 1) <= until) {
        now = Math.max(now, row.dueAt!)
        const { record, deliveries, news } = sendLasting(
          row,
          over,
          { owners: ['chat', 'pager'], heard: [] },
          now,
        )
        row = { ...record, sequence: row.sequence + 1 } as EventRecord
        ids.push(...deliveries.map(({ id }) => id))
        if (news === undefined) continue
        const { form, count, remaining, vms, left } = news
        told.push({ form, count, remaining, vms, left })
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
      { form: 'begun', count: 3, vms: ['web_0', 'web_1', 'web_2'] },
    ])
    alert.note({ add: [item('web_0')] })
    alert.pass(60 * minute)
    expect(alert.told).toHaveLength(1)
  })

  test('of one who is back before are not told, and leave nothing open', () => {
    const alert = rowOf()
    alert.note({ add: [item('web_0')] })
    alert.note({ back: ['id-web_0'] })
    expect(alert.row?.ended).toBeDefined()
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
    expect(alert.told[1]).toMatchObject({ count: 2, remaining: 3, vms: ['web_1', 'web_2'] })
  })

  test('are listed up to a limit; others have to wait', () => {
    const alert = rowOf()
    const many = Array.from({ length: maxItems + 5 }, (_, i) => item(`vm${i}`))
    alert.note({ add: many })
    alert.pass(2 * minute)
    expect(alert.told).toMatchObject([{ count: maxItems }])
    expect(alert.told[0]!.vms.length).toBeLessThan(100)
    alert.note({ back: ['id-vm0'] })
    alert.note({ add: many.slice(-5) })
    expect(isLasting(alert.row!) && alert.row.alert.lasting.items).toHaveLength(maxItems)
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
    expect(alert.told[1]).toMatchObject({ form: 'over', count: 2, remaining: 1, vms: ['a', 'b'] })
    expect(alert.row?.ended).toBeUndefined()
    alert.note({ back: ['id-c'] })
    alert.pass(13 * minute)
    expect(alert.told).toHaveLength(2)
    alert.pass(2 * minute)
    expect(alert.told[2]).toMatchObject({ form: 'over', count: 1, remaining: 0 })
    expect(alert.row).toMatchObject({ ended: { outcome: 'completed' } })
  })

  test('of an item that begins again before are not sent', () => {
    const alert = rowOf()
    alert.note({ add: [item('a'), item('b')] })
    alert.pass(2 * minute)
    alert.note({ back: ['id-a', 'id-b'] })
    alert.note({ add: [item('a')] })
    alert.pass(60 * minute)
    expect(alert.told[1]).toMatchObject({ form: 'over', count: 1, remaining: 1, vms: ['b'] })
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
    expect(alert.told[1]).toMatchObject({ count: 2, remaining: 0, vms: ['a'], left: ['b'] })
  })

  test('end the episode; the next one has the next number, and waits for the same limit', () => {
    const alert = rowOf()
    const episode = () => alert.row?.epoch
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
  test('a report that came while the silence was noted counts', () => {
    const alert = rowOf()
    alert.note({ add: [item('a'), item('b')] })
    alert.over.back.push('id-a')
    alert.pass(2 * minute)
    expect(alert.told).toMatchObject([{ count: 1, remaining: 1, vms: ['b'] }])
  })

  test.each(['beacons_silent', 'beacons_missing'] as const)('%s: the row is not due', (kind) => {
    const alert = rowOf(kind)
    alert.note({ add: [item('a')] })
    alert.pass(2 * minute)
    expect(alert.told).toHaveLength(1)
    expect(alert.dueInMs).toBeUndefined()
    expect(alert.row?.ended).toBeUndefined()
  })

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
