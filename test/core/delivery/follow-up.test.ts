// What follows an attempt: the delivery's new state, and what other channels get instead.
import { describe, expect, test } from 'vitest'
import { planChannelAlert } from '../../../functions/core/delivery/alert.ts'
import { giveUpMs, type SendOutcome } from '../../../functions/core/delivery/attempt.ts'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { afterResult, type Context, divert } from '../../../functions/core/delivery/follow-up.ts'
import type { ChannelHealth } from '../../../functions/core/delivery/health.ts'
import { unlimited } from '../../../functions/core/delivery/rate.ts'
import { at, claimed, delivery, notification } from '../../support/records.ts'

const minute = 60_000
const own = claimed('own', { attempts: 2 })
const refused: SendOutcome = { outcome: 'refused', note: 'HTTP 400' }
const broken: SendOutcome = { ...refused, broken: true }
const silent: SendOutcome = { outcome: 'retry', note: 'no answer in time' }
const base = { channel: 'chat', of: 'a', since: at, note: 'HTTP 404', alert: at }
const refusing: ChannelHealth = { ...base, state: 'refusing' }
const unreachable: ChannelHealth = { ...base, state: 'unreachable' }
const recovered: ChannelHealth = { ...base, state: 'ok', was: 'refusing' }

function finish(result: SendOutcome, changes: Partial<Context> = {}, now = at, one = own) {
  const context = {
    ...{ health: undefined, siblings: [one], instead: ['team'], hasIncidents: false },
    ...changes,
  }
  return afterResult(one, result, context, { now, random: 0.5, rate: unlimited })
}

/** A copy of one's own message at the fallback. */
const copy = (state: Delivery['state']) => ({ ...divert(own, 'team', at), state })
const what = ({ channel, notification }: Delivery) => `${notification.moment} to ${channel}`

describe('what other channels get', () => {
  const late = at + 2 * minute
  const behind = delivery('behind', { seq: 128, notification: notification({ moment: 'changed' }) })
  const done: Delivery = { ...behind, id: 'done', state: 'delivered' }
  const scheduled = 'scheduled to team'
  const alert = 'alert to team'

  test.each<[string, SendOutcome, Partial<Context>, number, string[]]>([
    ['delivered', { outcome: 'delivered', note: '' }, {}, late, []],
    ['superseded', { outcome: 'superseded', note: '' }, {}, late, []],
    ['no answer yet', silent, {}, at, []],
    ['no answer for too long', silent, {}, late, [scheduled]],
    ['asked to wait for a while', { ...silent, retryAfterMs: minute }, {}, at, []],
    ['asked to wait for too long', { ...silent, retryAfterMs: 60 * minute }, {}, at, [scheduled]],
    ['not sent for too long', { ...silent, unsent: true }, {}, late, []],
    ['no answer, of an unreachable channel', silent, { health: unreachable }, at, [scheduled]],
    ['no answer, of a refusing channel', silent, { health: refusing }, at, [scheduled]],
    ['no answer, of a recovered channel', silent, { health: recovered }, at, []],
    [
      'no answer for too long, with steps behind it',
      silent,
      { siblings: [own, behind, done] },
      late,
      [scheduled, 'changed to team'],
    ],
    ['refused', refused, {}, at, [scheduled]],
    ['refused, and the fallback has it', refused, { siblings: [copy('pending')] }, at, [alert]],
    ['refused, without a fallback', refused, { instead: [] }, at, []],
    ['refused in a list', refused, { list: { retryAt: undefined } }, at, []],
    ['refused by a refusing channel', broken, { health: refusing }, at, [scheduled]],
    ['given up', silent, {}, at + giveUpMs, [scheduled]],
    ['to several', refused, { instead: ['team', 'ops'] }, at, [scheduled, 'scheduled to ops']],
  ])('%s', (_, result, context, now, expected) => {
    expect(finish(result, context, now).followUps.map(what)).toEqual(expected)
  })

  test('trouble with a channel goes nowhere else', () => {
    const notice = { ...own, ...planChannelAlert(own, 'team', own, at) }
    expect(finish(refused, {}, at, notice).followUps).toEqual([])
    expect(finish(silent, { health: unreachable }, at, notice).followUps).toEqual([])
  })
})

describe('the new state', () => {
  const end = { ...own, notification: notification({ moment: 'cancelled' }) }
  const insteadOf = { ...own, notification: notification({ insteadOf: 'hook' }) }
  const notice = { ...own, ...planChannelAlert(own, 'team', own, at) }

  test.each<[string, SendOutcome, Partial<Context>, object, typeof own?]>([
    ['refused', refused, {}, { state: 'refused' }],
    ['refused in a list', refused, { list: { retryAt: 5 } }, { state: 'pending', alone: true }],
    ['no answer to a list', silent, { list: { retryAt: 5 } }, { state: 'pending', nextAt: 5 }],
    ['refused by the channel', broken, {}, { state: 'refused' }],
    ['and by the fallback', broken, { siblings: [copy('refused')] }, { state: 'pending' }],
    ['and the fallback waits', broken, { siblings: [copy('pending')] }, { state: 'refused' }],
    ['without a fallback', broken, { instead: [] }, { state: 'refused' }],
    ['a copy, without a fallback', broken, { instead: [] }, { state: 'pending' }, insteadOf],
    ['about trouble', broken, { instead: [] }, { state: 'pending' }, notice],
    ['an end without incidents', broken, {}, { state: 'refused' }, end],
    ['an end that resolves', broken, { hasIncidents: true }, { state: 'pending' }, end],
    ['a step before', broken, { hasIncidents: true }, { state: 'refused' }],
  ])('%s', (_, result, context, expected, one = own) => {
    expect(finish(result, context, at, one).settlement).toMatchObject(expected)
  })

  test('an end that resolves goes to the fallback all the same', () => {
    const { followUps } = finish(broken, { hasIncidents: true }, at, end)
    expect(followUps.map(what)).toEqual(['cancelled to team'])
  })

  test('waits as long as it has waited, a minute to ten', () => {
    const siblings = [copy('refused')]
    for (const [waited, waits] of [
      [0, 1],
      [3, 3],
      [60, 10],
    ] as const) {
      const now = at + waited * minute
      const waiting = { state: 'pending', nextAt: now + waits * minute, unsent: true }
      expect(finish(broken, { siblings }, now).settlement).toMatchObject(waiting)
    }
    expect(finish(broken, { siblings }, at + giveUpMs).settlement.state).toBe('refused')
  })
})

test.each<[string, SendOutcome]>([
  ['that delivers', { outcome: 'delivered', note: '' }],
  ['to be repeated', silent],
  ['that refuses', broken],
])('an attempt %s keeps what the system answered', (_, result) => {
  const answered = { status: 503, text: 'busy', tookMs: 12, at }
  expect(finish({ ...result, answered }).settlement.answered).toEqual(answered)
  expect(finish(result).settlement).not.toHaveProperty('answered')
})

describe('a copy for the fallback', () => {
  const failed = delivery('prod/x/1/scheduled/chat', {
    ...{ state: 'refused', attempts: 3, note: 'HTTP 404', seq: 65, plannedAt: at - 5 },
  })

  test('has the id that it would have had there, and says for which channel it is', () => {
    const other = divert(failed, 'team', at + 7)
    expect(other).toEqual({
      ...failed,
      id: expect.stringMatching(/\/1\/scheduled\/team$/),
      channel: 'team',
      notification: { ...failed.notification, insteadOf: 'chat' },
      ...{ plannedAt: at + 7, nextAt: at + 7, state: 'pending', attempts: 0, note: '' },
    })
    expect(divert(other, 'ops', at).notification).toMatchObject({ insteadOf: 'chat' })
  })

  test('keeps nothing of the claim, as the event may have changed since', () => {
    const one = { ...own, known: { record: undefined, siblings: [own] } }
    const copies = [divert(one, 'team', at), planChannelAlert(one, 'team', one, at)]
    for (const each of copies) expect(Object.keys(each)).not.toContain('known')
    for (const each of copies) expect(Object.keys(each)).not.toContain('lease')
  })

  test.each(['changed', 'reminder'] as const)(
    'the id of a copied "%s" keeps its values',
    (moment) => {
      const event = {
        ...notification().event,
        reminder: { beforeSeconds: 300, due: [300], late: false },
      }
      const step = { ...failed, notification: notification({ moment, event }) }
      const later = { ...event, facts: { ...event.facts, notBeforeAt: at + 3 * minute } }
      const other = { ...failed, notification: notification({ moment, event: later }) }
      expect(divert(step, 'team', at).id).not.toBe(divert(other, 'team', at).id)
      expect(divert(step, 'team', at).id).toBe(divert(step, 'team', at + 1).id)
    },
  )

  test('is never about trouble with a channel', () => {
    const notice = planChannelAlert(failed, 'team', failed, at)
    expect(() => divert(notice, 'hook', at)).toThrow()
  })
})
