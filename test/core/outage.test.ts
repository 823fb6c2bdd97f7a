// The mark of a channel that refuses everything: who is sent, who tries, who waits, and who goes elsewhere.
import { describe, expect, test } from 'vitest'
import { planNotice } from '../../functions/core/delivery.ts'
import {
  afterRefusal,
  afterSilence,
  divert,
  isOverdue,
  maxWaitMs,
  passageOf,
  type Refusing,
  withTeller,
} from '../../functions/core/outage.ts'
import { at, delivery, telling } from '../support/records.ts'

const minute = 60_000
const first = { channel: 'chat', of: 'a', note: 'HTTP 404', id: 'd1', lease: 'l1', leaseUntil: at }
const marked = afterRefusal(undefined, first, at)
const trying: Refusing = { ...marked, trying: { by: 'l2', until: at + 20_000 } }

describe('what becomes of a message', () => {
  test.each([
    ['no mark', undefined, at, 'send'],
    ['just refused', marked, at, 'divert'],
    ['until a minute is over', marked, at + minute - 1, 'divert'],
    ['then one tries', marked, at + minute, 'try'],
    ['while one tries', trying, at + 19_999, 'wait'],
    ['one that tried and died', trying, at + minute, 'try'],
    ['one that tried and died early', trying, at + 20_000, 'divert'],
  ] as const)('%s', (_, outage, now, go) => {
    expect(passageOf(outage, 'a', now).go).toBe(go)
  })

  test('a channel that is configured anew is sent to at once', () => {
    expect(passageOf(marked, 'b', at).go).toBe('send')
    expect(passageOf(trying, 'b', at).go).toBe('send')
  })

  test('what goes elsewhere says since when, and what the channel answered', () => {
    const note = 'not sent, as the channel refuses since 2026-11-21T12:00:00.000Z: HTTP 404'
    expect(passageOf(marked, 'a', at)).toEqual({ go: 'divert', note })
  })
})

describe('a refusal', () => {
  test('the first one marks, and has the fallback told', () => {
    const marks = { channel: 'chat', of: 'a', note: 'HTTP 404' }
    const times = { since: at, nextTryAt: at + minute, waitMs: minute }
    const teller = { id: 'd1', until: at }
    expect(marked).toEqual({ kind: 'refuses', ...marks, ...times, teller })
  })

  test('of one that was under way with it puts nothing off', () => {
    const again = afterRefusal(marked, { ...first, id: 'd2', note: 'HTTP 410' }, at + 500)
    expect(again).toEqual({ ...marked, note: 'HTTP 410' })
  })

  test('of whoever tried puts the next try off, twice as long each time, to ten minutes', () => {
    const waits: number[] = []
    let outage = marked
    for (let now = at; waits.length < 6; now = outage.nextTryAt) {
      const lease = `try${waits.length}`
      outage = { ...outage, trying: { by: lease, until: now + 20_000 } }
      outage = afterRefusal(outage, { ...first, lease }, now)
      expect(outage.trying).toBeUndefined()
      waits.push((outage.nextTryAt - now) / minute)
    }
    expect(waits).toEqual([2, 4, 8, 10, 10, 10])
    expect(outage.waitMs).toBe(maxWaitMs)
    expect(outage.since).toBe(at)
  })

  test('of another configuration begins anew', () => {
    const outage = afterRefusal(
      { ...marked, waitMs: maxWaitMs },
      { ...first, of: 'b' },
      at + minute,
    )
    expect(outage).toMatchObject({ of: 'b', since: at + minute, waitMs: minute })
    expect(outage.teller).toBeDefined()
  })
})

describe('a channel that cannot be reached', () => {
  const silent = afterSilence(undefined, { ...first, note: 'no answer in time' }, at)

  test('is marked, has the fallback told, and is sent to all the same', () => {
    const teller = { id: 'd1', until: at }
    const marks = { channel: 'chat', of: 'a', note: 'no answer in time' }
    expect(silent).toEqual({ kind: 'unreachable', ...marks, since: at, teller })
    expect(passageOf(silent, 'a', at).go).toBe('send')
  })

  test('stays marked as it was, by whatever mark it has', () => {
    expect(afterSilence(silent, first, at + minute)).toBe(silent)
    expect(afterSilence(marked, first, at + minute)).toBe(marked)
    expect(afterSilence(silent, { ...first, of: 'b' }, at + minute)).toMatchObject({ of: 'b' })
  })

  test('and then refuses, is marked anew', () => {
    const refusing = afterRefusal(silent, { ...first, id: 'd2' }, at + minute)
    expect(refusing).toMatchObject({ kind: 'refuses', since: at + minute, teller: { id: 'd2' } })
  })

  test.each([
    ['two minutes', 15 * minute, 2 * minute],
    ['half of what is left', minute, minute / 2],
    ['two minutes, however much is left', 7 * 24 * 60 * minute, 2 * minute],
  ])('is known as such by a message that waits for %s', (_, leftMs, patienceMs) => {
    const times = { owedAt: at, urgentUntil: at + leftMs }
    const waiting = delivery('d', { ...times, attempts: 2 })
    expect(isOverdue(waiting, [], at + patienceMs - 1)).toBe(false)
    expect(isOverdue(waiting, [], at + patienceMs)).toBe(true)
    expect(isOverdue({ ...waiting, attempts: 1 }, [], at + patienceMs)).toBe(false)
  })
})

describe('telling the fallback', () => {
  const heir = { id: 'd2', leaseUntil: at + 40_000 }

  test('is left to the first one while it may live', () => {
    const outage = { ...marked, teller: { id: 'd1', until: at + 20_000 } }
    expect(withTeller(outage, heir, at + 19_999)).toBe(outage)
    expect(withTeller(outage, { ...heir, id: 'd1' }, at + minute)).toBe(outage)
  })

  test('goes over to another when it died', () => {
    const outage = { ...marked, teller: { id: 'd1', until: at + 20_000 } }
    const teller = { id: 'd2', until: at + 40_000 }
    expect(withTeller(outage, heir, at + 20_000)).toEqual({ ...outage, teller })
  })

  test('is over once it is told', () => {
    const { teller: _, ...told } = marked
    expect(withTeller(told, heir, at + minute)).toBe(told)
  })
})

describe('a message in the place of another', () => {
  const failed = delivery('prod/x/1/scheduled/chat', {
    ...{ state: 'refused', attempts: 3, note: 'HTTP 404', seq: 65, owedAt: at - 5 },
  })

  test('has the id that it would have had there, and says for whom it stands', () => {
    const other = divert(failed, 'team', at + 7)
    expect(other).toEqual({
      ...failed,
      id: expect.stringMatching(/\/1\/scheduled\/team$/),
      channel: 'team',
      telling: { ...failed.telling, insteadOf: 'chat' },
      ...{ owedAt: at + 7, nextAt: at + 7, state: 'pending', attempts: 0, note: '' },
    })
  })

  test.each(['changed', 'reminder'] as const)('"%s" keeps what tells it from others', (moment) => {
    const event = { ...telling().event, reminder: { beforeSeconds: 300, due: [300], late: false } }
    const step = { ...failed, telling: telling({ moment, event }) }
    const later = { ...event, facts: { ...event.facts, notBeforeAt: at + 3 * minute } }
    const other = { ...failed, telling: telling({ moment, event: later }) }
    expect(divert(step, 'team', at).id).not.toBe(divert(other, 'team', at).id)
    expect(divert(step, 'team', at).id).toBe(divert(step, 'team', at + 1).id)
  })

  test('is never a notice', () => {
    const notice = planNotice(failed, 'team', failed, at)
    expect(() => divert(notice, 'hook', at)).toThrow()
  })
})
