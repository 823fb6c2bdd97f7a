// Channel health: what each answer changes, for every health, and which alert the fallback gets.
import { describe, expect, test } from 'vitest'
import type { SendOutcome } from '../../../functions/core/delivery/attempt.ts'
import {
  type Answer,
  afterAnswer,
  isOverdue,
  isPutOff,
  notPastOverdue,
} from '../../../functions/core/delivery/channel-health.ts'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import type { ChannelHealth, Recovered, Troubled } from '../../../functions/core/delivery/health.ts'
import { at, delivery } from '../../support/records.ts'

const minute = 60_000
const hour = 60 * minute
const lease = { leaseUntil: at + 20_000 }
const known = { channel: 'chat', of: 'a', since: at - minute, note: 'HTTP 404', alert: at - minute }
const refusing: Troubled = { state: 'refusing', ...known }
const unreachable: Troubled = { state: 'unreachable', ...known }
const recovered: Recovered = { state: 'ok', was: 'refusing', ...known, alert: at - 2 * hour }

const refused: SendOutcome = { outcome: 'refused', note: 'HTTP 410', broken: true }
const wrong: SendOutcome = { outcome: 'refused', note: 'HTTP 400' }
const delivered: SendOutcome = { outcome: 'delivered', note: 'HTTP 200' }
const silent: SendOutcome = { outcome: 'retry', note: 'no answer in time' }
const unsent: SendOutcome = { ...silent, unsent: true }
const superseded: SendOutcome = { outcome: 'superseded', note: 'decided meanwhile' }

function answer(sent: SendOutcome, changes: Partial<Answer> = {}): Answer {
  return { channel: 'chat', of: 'a', ...lease, sent, ...changes }
}

describe('after an answer', () => {
  const overdue = { overdueSince: at - 3 * minute }
  const begun = { channel: 'chat', of: 'a', since: at, alert: at }
  const refusesNow = { state: 'refusing', ...begun, note: 'HTTP 410' }
  const awayNow = { state: 'unreachable', ...begun, note: 'no answer in time' }
  const okNow = (was: Recovered['was']) => ({ state: 'ok', was, ...known, since: at })
  const answers = {
    unsent: answer(unsent, overdue),
    superseded: answer(superseded),
    given_up: answer({ outcome: 'given_up', note: 'paused' }),
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
        wrong: [{ state: 'ok', ...begun, note: 'HTTP 400', refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'ok since before the overdue message was planned',
      { ...recovered, since: at - hour },
      {
        wrong: [{ ...recovered, since: at - hour, refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'ok, as it took another message since then',
      recovered,
      {
        wrong: [{ ...recovered, refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
      },
    ],
    [
      'ok since a time that lies ahead',
      { ...recovered, since: at + 1 },
      {
        wrong: [{ ...recovered, since: at + 1, refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
        overdue: [awayNow, 'channel_unreachable'],
      },
    ],
    [
      'refusing',
      refusing,
      {
        delivered: [okNow('refusing'), 'channel_recovered'],
      },
    ],
    ['refusing, and the request began before that', { ...refusing, since: at + 1 }, {}],
    [
      'refusing since the request began',
      { ...refusing, since: at },
      {
        delivered: [okNow('refusing'), 'channel_recovered'],
      },
    ],
    [
      'ok since the overdue message was planned',
      { ...recovered, since: at - 3 * minute },
      {
        wrong: [{ ...recovered, since: at - 3 * minute, refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
      },
    ],
    [
      'ok since now',
      { ...recovered, since: at },
      {
        wrong: [{ ...recovered, since: at, refused: 1 }],
        refused: [refusesNow, 'channel_refuses'],
      },
    ],
    [
      'unreachable',
      unreachable,
      {
        delivered: [okNow('unreachable'), 'channel_recovered'],
        wrong: [{ ...okNow('unreachable'), refused: 1 }, 'channel_recovered'],
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
    for (const before of [recovered, refusing, unreachable]) {
      for (const one of Object.values(answers)) {
        expect(afterAnswer(before, { ...one, of: 'b' }, at)).toEqual(
          afterAnswer(undefined, { ...one, of: 'b' }, at),
        )
      }
    }
  })

  test('five refusals in a row: it is refusing, whatever they say; a delivery between them counts anew', () => {
    const said = (...sent: SendOutcome[]) =>
      sent.reduce<ReturnType<typeof afterAnswer>>(
        ({ health }, one) => afterAnswer(health, answer(one), at),
        { health: undefined },
      )
    const four = [wrong, wrong, wrong, wrong]
    expect(said(...four).health).toMatchObject({ state: 'ok', refused: 4 })
    expect(said(...four, wrong)).toEqual({
      health: { state: 'refusing', ...begun, note: 'HTTP 400' },
      log: 'channel_refuses',
    })
    expect(said(...four, delivered).health).toBeUndefined()
    expect(said(...four, delivered, ...four).health).toMatchObject({ state: 'ok' })
    expect(said(...four, silent, wrong).health?.state).toBe('refusing')
    expect(afterAnswer({ ...recovered, refused: 4 }, answer(delivered), at).health).toEqual(
      recovered,
    )
  })

  test('the same answer again is no change', () => {
    const again = answer({ ...refused, note: refusing.note })
    expect(afterAnswer(refusing, again, at).health).toBe(refusing)
  })
})

test.each([
  ['the same trouble, within an hour', 'refusing', hour - 1, at],
  ['the same trouble, after an hour', 'refusing', hour, at + hour],
  ['other trouble', 'unreachable', minute, at + minute],
  ['the same trouble, as the clock was set back', 'refusing', -hour, at - hour],
] as const)('the fallback gets one alert of %s', (_, was, laterMs, alert) => {
  const before: ChannelHealth = { ...recovered, was, alert: at }
  expect(afterAnswer(before, answer(refused), at + laterMs).health).toMatchObject({ alert })
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

describe('a message waits from the first step that its channel has not accepted', () => {
  const own = delivery('d', { seq: 3, plannedAt: at, urgentUntil: at + hour, attempts: 1 })
  const step = (seq: number, more: Partial<Delivery> = {}) =>
    delivery(`b${seq}`, { seq, plannedAt: at - minute, attempts: 1, ...more })
  const alert = { notification: { ...own.notification, moment: 'alert' } } as Partial<Delivery>
  const at60 = at + minute

  test.each<[string, Delivery[], boolean]>([
    ['no other', [], false],
    ['one that waited', [step(2)], true],
    ['one that was overtaken', [step(2, { state: 'superseded' })], true],
    ['one that was refused', [step(2, { state: 'refused' })], false],
    ['one that was never tried', [step(2, { attempts: 0 })], false],
    ['an alert', [step(2, alert)], false],
    ['one of another channel', [step(2, { channel: 'team' })], false],
    ['a later one', [step(4)], false],
    ['itself', [step(3)], false],
    ['one before the last that was delivered', [step(1), step(2, { state: 'delivered' })], false],
    ['one behind it', [step(1, { state: 'delivered' }), step(2)], true],
  ])('%s', (_, others, isCounted) => {
    // two minutes since the step of a minute before, and two attempts
    expect(isOverdue(own, others, at60)).toBe(isCounted)
    expect(isOverdue(own, others, at60 - 1)).toBe(false)
  })

  test.each([
    ['it was urgent until then', 0, 2 * minute],
    ['a millisecond is left', 1, 0.5],
  ])('%s', (_, leftMs, patienceMs) => {
    const waiting = { ...own, attempts: 2, urgentUntil: at + leftMs }
    expect(isOverdue(waiting, [], at + patienceMs)).toBe(true)
    expect(isOverdue(waiting, [], at + patienceMs - 0.5)).toBe(false)
  })

  const retry: SendOutcome = { outcome: 'retry', note: 'HTTP 429', retryAfterMs: hour }
  test.each<[string, SendOutcome, number, boolean]>([
    ['a pause beyond that', retry, at + 2 * minute + 1, true],
    ['a pause until then', retry, at + 2 * minute, false],
    ['no pause that was asked for', silent, at + hour, false],
    ['no retry', delivered, at + hour, false],
  ])('it is put off by %s', (_, result, nextAt, expected) => {
    expect(isPutOff(own, [], result, { nextAt, now: at })).toBe(expected)
  })

  const soon = 15_000
  test.each<[string, number | undefined, number, boolean]>([
    ['a rate that is free beyond that', at + 2 * minute + 1, at, true],
    ['a rate that is free until then', at + 2 * minute, at, false],
    [
      'a rate that is free soon, just before',
      at + 2 * minute + 1,
      at + 2 * minute - soon + 1,
      false,
    ],
    ['a rate that is free soon, long after', at + 9 * minute + soon, at + 9 * minute, false],
    ['a rate that is full, long after', at + 9 * minute + soon + 1, at + 9 * minute, true],
    ['no rate', undefined, at + 9 * minute, false],
  ])('it is put off by %s', (_, freeAt, now, expected) => {
    const tried = { ...own, freeAt }
    expect(isPutOff(tried, [], silent, { nextAt: now + 1_000, now })).toBe(expected)
  })

  test.each([
    [at + 2 * minute - 1, false],
    [at + 2 * minute, true],
  ])('it is overdue at once if its rate is free only then: %i', (freeAt, expected) => {
    expect(isOverdue({ ...own, attempts: 2, freeAt }, [], at)).toBe(expected)
    expect(isOverdue({ ...own, attempts: 1, freeAt }, [], at)).toBe(false)
  })

  test.each([
    ['just then, if the next attempt is later', at + 2 * minute + 1, at + 2 * minute],
    ['as usual before', at + 2 * minute - 1, at + 2 * minute - 1],
  ])('it is tried %s', (_, nextAt, expected) => {
    expect(notPastOverdue(own, [], nextAt, at)).toBe(expected)
  })

  test('it is tried as usual after it became overdue', () => {
    const now = at + 2 * minute
    expect(notPastOverdue(own, [], now + minute, now)).toBe(now + minute)
  })
})
