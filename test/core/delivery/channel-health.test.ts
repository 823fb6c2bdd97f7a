// Channel health: which messages are sent, try, wait or go to the fallback. And what each answer
// changes, for every health.
import { describe, expect, test } from 'vitest'
import type { SendOutcome } from '../../../functions/core/delivery/attempt.ts'
import {
  type Answer,
  afterAlert,
  afterAnswer,
  beforeRequest,
  type ChannelHealth,
  isOverdue,
  maxWaitMs,
  passageOf,
  type Recovered,
  type Refusing,
  tryNow,
  type Unreachable,
} from '../../../functions/core/delivery/channel-health.ts'
import { at, delivery } from '../../support/records.ts'

const minute = 60_000
const hour = 60 * minute
const lease = { id: 'd1', lease: 'l1', leaseUntil: at + 20_000 }
const alerting = { id: 'd0', until: at }
const known = { channel: 'chat', of: 'a', since: at - minute, note: 'HTTP 404' }
const waits = { nextTryAt: at + minute, waitMs: minute }
const refusing: Refusing = { state: 'refusing', ...known, ...waits, alerting }
const trying: Refusing = { ...refusing, trying: { id: 'd1', by: 'l1', until: at + 20_000 } }
const unreachable: Unreachable = { state: 'unreachable', ...known, alerting }
const recovered: Recovered = { state: 'ok', was: 'refusing', ...known }

const refused: SendOutcome = { outcome: 'refused', note: 'HTTP 410', broken: true }
const wrong: SendOutcome = { outcome: 'refused', note: 'HTTP 400' }
const delivered: SendOutcome = { outcome: 'delivered', note: 'HTTP 200' }
const silent: SendOutcome = { outcome: 'retry', note: 'no answer in time' }
const unsent: SendOutcome = { ...silent, unsent: true }
const superseded: SendOutcome = { outcome: 'superseded', note: 'decided meanwhile' }

function answer(sent: SendOutcome | undefined, changes: Partial<Answer> = {}): Answer {
  return { channel: 'chat', of: 'a', ...lease, sent, ...changes }
}

describe('before a request', () => {
  test.each([
    ['no trouble yet', undefined, at, 'send'],
    ['recovered', recovered, at, 'send'],
    ['unreachable', unreachable, at, 'send'],
    ['just refused', refusing, at, 'divert'],
    ['until a minute is over', refusing, at + minute - 1, 'divert'],
    ['then one tries', refusing, at + minute, 'try'],
    ['while one tries', trying, at + 19_999, 'wait'],
    ['one that tried and died', trying, at + minute, 'try'],
    ['one that tried and died early', trying, at + 20_000, 'divert'],
    ['the clock was set back, and one tried', trying, at - hour, 'try'],
    ['the clock was set back', refusing, at - hour, 'try'],
  ] as const)('%s', (_, health, now, go) => {
    expect(passageOf(health, now).go).toBe(go)
  })

  test('the note of a diverted message: since when, and the answer of the channel', () => {
    const note =
      'not sent, as the channel has refused messages since 2026-11-21T11:59:00.000Z: HTTP 404'
    expect(passageOf(refusing, at)).toEqual({ go: 'divert', note })
  })

  test('a channel with another configuration gets messages at once', () => {
    for (const health of [refusing, trying, unreachable]) {
      expect(beforeRequest(health, 'b', lease, at)).toEqual({ passage: { go: 'send' } })
    }
  })

  test('the one that tries is on record', () => {
    const now = at + minute
    const until = now + 20_000
    const { passage, health } = beforeRequest(refusing, 'a', { ...lease, leaseUntil: until }, now)
    expect(passage).toEqual({ go: 'try' })
    expect(health).toMatchObject({ trying: { id: 'd1', by: 'l1', until } })
  })

  test.each([
    ['is left to the first delivery while its worker may live', at - 1, lease.id, 'd0'],
    ['is left to it for its next attempt', at, 'd0', 'd0'],
    ['goes to another delivery if its worker died', at, lease.id, 'd1'],
  ])('notifying the fallback %s', (_, now, id, expected) => {
    for (const before of [refusing, unreachable]) {
      const { health } = beforeRequest(before, 'a', { ...lease, id }, now)
      expect(health).toMatchObject({ alerting: { id: expected } })
      if (expected === 'd0') expect(health).toBe(before)
    }
  })

  test('nothing changes if no alert and no try is due', () => {
    const { alerting: _, ...told } = refusing
    for (const health of [undefined, recovered, told]) {
      expect(beforeRequest(health, 'a', lease, at).health).toBe(health)
    }
  })
})

describe('after an answer', () => {
  const overdue = { overdueSince: at - 3 * minute }
  const begun = { channel: 'chat', of: 'a', since: at, alerting: { id: 'd1', until: at + 20_000 } }
  const refusesNow = { state: 'refusing', ...begun, note: 'HTTP 410', ...waits }
  const awayNow = { state: 'unreachable', ...begun, note: 'no answer in time' }
  const okNow = (was: Recovered['was']) => ({ state: 'ok', was, ...known, since: at })
  const { trying: own, ...tried } = trying
  const { nextTryAt: _at, waitMs: _ms, ...rest } = tried
  const hanging = { ...rest, state: 'unreachable', was: 'refusing', note: 'no answer in time' }
  const byOther = (other: object): Refusing => ({ ...trying, trying: { ...own!, ...other } })
  const answers = {
    nothing: answer(undefined),
    unsent: answer(unsent, overdue),
    superseded: answer(superseded),
    delivered: answer(delivered),
    wrong: answer(wrong),
    refused: answer(refused),
    silent: answer(silent),
    overdue: answer(silent, overdue),
  }
  type Rows = Partial<Record<keyof typeof answers, [health: object, log?: string]>>
  const same = Symbol()

  // each answer that a row does not name changes nothing
  test.each<[string, ChannelHealth | undefined, Rows]>([
    [
      'ok, and never in trouble',
      undefined,
      {
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'ok since before the overdue message was planned',
      { ...recovered, since: at - hour },
      {
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'ok, as it took another message since then',
      recovered,
      { refused: [refusesNow, 'channel_refuses'] },
    ],
    [
      'ok since a time that lies ahead',
      { ...recovered, since: at + 1 },
      {
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'refusing, and the request is older than that',
      refusing,
      { refused: [{ ...refusing, note: 'HTTP 410' }] },
    ],
    [
      'refusing, and another worker tries it',
      byOther({ by: 'l2' }),
      { refused: [{ ...byOther({ by: 'l2' }), note: 'HTTP 410' }] },
    ],
    [
      'refusing, and another request that was claimed together with this one tries it',
      byOther({ id: 'd2' }),
      { refused: [{ ...byOther({ id: 'd2' }), note: 'HTTP 410' }] },
    ],
    [
      'refusing, and this message tries it',
      trying,
      {
        nothing: [tried],
        unsent: [tried],
        superseded: [tried],
        delivered: [okNow('refusing'), 'channel_recovered'],
        wrong: [okNow('refusing'), 'channel_recovered'],
        refused: [{ ...tried, note: 'HTTP 410', waitMs: 2 * minute, nextTryAt: at + 2 * minute }],
        silent: [hanging],
        overdue: [hanging],
      },
    ],
    [
      'unreachable',
      unreachable,
      {
        delivered: [okNow('unreachable'), 'channel_recovered'],
        wrong: [okNow('unreachable'), 'channel_recovered'],
        refused: [refusesNow, 'channel_refuses'],
      },
    ],
  ])('%s', (_, before, rows) => {
    for (const [name, one] of Object.entries(answers)) {
      const [health, log] = rows[name as keyof Rows] ?? [same]
      const after = afterAnswer(before, one, at)
      expect([name, after.log]).toEqual([name, log])
      if (health === same) expect([name, after.health === before]).toEqual([name, true])
      else expect([name, after.health]).toEqual([name, health])
    }
  })

  test('another configuration of the channel begins as ok', () => {
    for (const before of [recovered, refusing, trying, unreachable]) {
      for (const one of Object.values(answers)) {
        expect(afterAnswer(before, { ...one, of: 'b' }, at)).toEqual(
          afterAnswer(undefined, { ...one, of: 'b' }, at),
        )
      }
    }
  })

  test('each refused try waits twice as long, to ten minutes', () => {
    const minutes: number[] = []
    let health = refusing
    for (let now = at; minutes.length < 6; now = health.nextTryAt) {
      const before = { ...health, trying: { id: 'd1', by: 'l1', until: now } }
      health = afterAnswer(before, answer(refused), now).health as Refusing
      minutes.push((health.nextTryAt - now) / minute)
    }
    expect(minutes).toEqual([2, 4, 8, 10, 10, 10])
    expect(health).toMatchObject({ waitMs: maxWaitMs, since: refusing.since })
  })

  test('the same answer again is no change', () => {
    const again = answer({ ...refused, note: refusing.note })
    expect(afterAnswer(refusing, again, at).health).toBe(refusing)
  })
})

describe('notifying the fallback', () => {
  const refusesAgain = (before: ChannelHealth, now: number) =>
    afterAnswer(before, answer(refused), now).health as Refusing

  test('is over once it was done', () => {
    for (const health of [refusing, unreachable]) {
      const { alerting: _, ...rest } = health
      expect(afterAlert(health, at)).toEqual({ ...rest, alertedAt: at })
    }
    expect(afterAlert(recovered, at)).toEqual({ ...recovered, alertedAt: at })
  })

  test.each([
    ['the same trouble, within an hour', 'refusing', hour - 1, false],
    ['the same trouble, after an hour', 'refusing', hour, true],
    ['other trouble', 'unreachable', minute, true],
    ['the same trouble, as the clock was set back', 'refusing', -1, true],
  ] as const)('is due again or not: %s', (_, was, laterMs, isDue) => {
    const next = refusesAgain({ ...recovered, was, alertedAt: at }, at + laterMs)
    expect(next.alerting !== undefined).toBe(isDue)
    expect(next.alertedAt !== undefined).toBe(!isDue)
  })

  test('a channel that refuses and hangs by turns is reported once', () => {
    const told = { ...trying, alertedAt: at - minute }
    const hanging = afterAnswer(told, answer(silent), at).health!
    expect(refusesAgain(hanging, at + minute)).toMatchObject({ alertedAt: at - minute })
    expect(refusesAgain(hanging, at + minute)).not.toHaveProperty('alerting')
  })

  test('it is remembered over a recovery', () => {
    const told = { ...trying, alertedAt: at - minute }
    expect(afterAnswer(told, answer(delivered), at).health).toMatchObject({
      alertedAt: at - minute,
    })
  })
})

test('after an owner fixed the channel, the next message tries it at once', () => {
  expect(passageOf(tryNow(refusing, at), at).go).toBe('try')
  expect(tryNow(unreachable, at)).toBe(unreachable)
})

test.each([
  ['two minutes', 15 * minute, 2 * minute],
  ['half of what is left', minute, minute / 2],
  ['two minutes, however much is left', 7 * 24 * hour, 2 * minute],
])('a message is overdue after %s', (_, leftMs, patienceMs) => {
  const times = { plannedAt: at, urgentUntil: at + leftMs }
  const waiting = delivery('d', { ...times, attempts: 2 })
  expect(isOverdue(waiting, [], at + patienceMs - 1)).toBe(false)
  expect(isOverdue(waiting, [], at + patienceMs)).toBe(true)
  expect(isOverdue({ ...waiting, attempts: 1 }, [], at + patienceMs)).toBe(false)
})
