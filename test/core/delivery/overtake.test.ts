// Which messages a later step overtakes when they are to be sent.
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { overtakesInIncident } from '../../../functions/core/delivery/incident.ts'
import {
  mayHaveHeard,
  overtaken,
  skippedBefore,
  type Takes,
} from '../../../functions/core/delivery/overtake.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import { at, delivery, facts, notification, record } from '../../support/records.ts'

const decided = { decision: 'approved' as const, how: 'link' as const, who: 'chat', at }

function row(moment: Moment, seq: number, changes: Partial<Delivery> = {}): Delivery {
  return delivery(`${moment} ${seq}`, { seq, notification: notification({ moment }), ...changes })
}

describe('overtaken, when it is to be sent', () => {
  const open = record()
  const own = row('scheduled', 64)

  test.each([
    ['nothing else', own, open, [], undefined],
    ['a later one that waits', own, open, [row('approved', 128)], 'overtaken by "approved"'],
    [
      'a later one that was told, as after a replay',
      own,
      open,
      [row('approved', 128, { state: 'delivered' })],
      'overtaken by "approved"',
    ],
    ['a later one that was refused', own, open, [row('approved', 128, { state: 'refused' })]],
    ['one of the same commit', own, open, [row('approved', 65)]],
    ['the end', own, record({ ended: { at, outcome: 'cancelled' } }), [], 'the event ended first'],
    ['the end of its epoch', own, record({ epoch: 2 }), [], 'the event ended first'],
    [
      'a decision, for a reminder',
      row('reminder', 64),
      record({ decided }),
      [],
      'decided meanwhile',
    ],
    ['a decision, for a question', own, record({ decided }), []],
    [
      'a start, for a reminder',
      row('reminder', 64),
      record({ phase: 'started', started: { at: at } }),
      [],
      'started meanwhile',
    ],
    [
      'another NotBefore, for a reminder',
      row('reminder', 64),
      record({ facts: facts({ notBeforeAt: at + 1 }) }),
      [],
      'moved meanwhile',
    ],
    ['the same event, for a reminder', row('reminder', 64), record(), []],
  ] as const)('%s', (_, one, of, siblings, why = undefined) => {
    expect(overtaken(one, of, [...siblings], 'newest')).toBe(why)
  })

  test('a channel that wants every step gets every step', () => {
    const ended = record({ ended: { at, outcome: 'cancelled' } })
    expect(overtaken(own, ended, [row('approved', 128)], 'every')).toBeUndefined()
  })
})

describe('an alert that an owner replays', () => {
  const news = { form: 'over' as const, count: 1, since: at, remaining: 0, left: [] }
  const kind = 'channel_test' as const
  const alert = { alert: kind, episode: 1, message: 1, since: at, names: [], reasons: [] }
  const alertRow = (seq: number, remaining: number, changes: Partial<Delivery> = {}) => {
    const about = { ...alert, news: { ...news, remaining } }
    const told = { moment: 'alert' as const, at, event: notification().event, about }
    return delivery(`alert ${seq}`, { seq, notification: told, ...changes })
  }
  const begun = alertRow(64, 1)
  const delivered = { state: 'delivered' as const }

  test.each<[string, Delivery, Delivery[], Takes, string | undefined]>([
    ['it lasts', begun, [alertRow(128, 1, delivered)], 'newest', undefined],
    ['it is over', begun, [alertRow(128, 0, delivered)], 'newest', 'the alert is over'],
    [
      'another owner knows',
      begun,
      [alertRow(128, 0, { channel: 'x' })],
      'newest',
      'the alert is over',
    ],
    ['its end waits, too', begun, [alertRow(128, 0)], 'newest', undefined],
    ['a machine wants it', begun, [alertRow(128, 0, delivered)], 'every', undefined],
    ['it is the end, as of another owner', alertRow(64, 0), [alertRow(65, 0)], 'newest', undefined],
  ])('%s', (_, own, others, takes, why) => {
    expect(overtaken(own, undefined, [own, ...others], takes)).toBe(why)
  })
})

describe('a channel with incidents', () => {
  const approved = notification({ moment: 'approved' })
  const begun = notification({ moment: 'started', event: { ...notification().event, decided } })

  test.each<[Moment, Moment, boolean]>([
    ['changed', 'scheduled', true],
    ['completed', 'scheduled', true],
    ['approved', 'scheduled', false],
    ['declined', 'reminder', false],
    ['completed', 'approved', true],
    ['started', 'scheduled', true],
    ['started', 'stuck', true],
    ['completed', 'stuck', true],
    ['changed', 'stuck', false],
    ['stuck', 'approved', false],
    ['stuck', 'scheduled', false],
  ])('"%s" overtakes "%s": %s', (later, earlier, expected) => {
    const [one, two] = [notification({ moment: later }), notification({ moment: earlier })]
    expect(overtakesInIncident(one, two)).toBe(expected)
  })

  test('gets the message that opens an incident before the one that acknowledges it', () => {
    expect(overtakesInIncident(begun, notification())).toBe(false)
    expect(overtakesInIncident(begun, approved)).toBe(true)
  })
})

describe('skippedBefore', () => {
  const own = row('completed', 512)
  const done = (moment: Moment, seq: number, state: Delivery['state']) =>
    row(moment, seq, { state })

  test('names each missed step since the last delivered one once', () => {
    const siblings = [
      done('scheduled', 64, 'refused'),
      done('changed', 128, 'delivered'),
      done('changed', 192, 'superseded'),
      done('changed', 193, 'superseded'),
      done('approved', 256, 'given_up'),
      done('started', 320, 'superseded'),
      own,
    ]
    expect(skippedBefore(own, siblings)).toEqual(['changed', 'approved', 'started'])
  })

  test.each([
    ['nothing earlier', [own]],
    ['on another channel', [row('scheduled', 64, { state: 'refused', channel: 'team' })]],
    ['waiting still', [row('scheduled', 64)]],
    ['later', [done('lost', 1_024, 'superseded')]],
  ])('%s is not skipped', (_, siblings) => {
    expect(skippedBefore(own, siblings)).toEqual([])
  })
})

describe('mayHaveHeard', () => {
  const own = delivery('own', { seq: 128 })
  const earlier = (changes: Partial<Delivery> = {}) =>
    delivery('e', { seq: 64, attempts: 1, ...changes })
  const epoch2 = { ...notification(), event: { ...notification().event, epoch: 2 } }
  const alert = { ...notification(), moment: 'alert' as const, about: {} as never }

  test.each([
    ['nothing earlier', [], false],
    ['only itself', [{ ...own, attempts: 3 }], false],
    ['delivered', [earlier({ state: 'delivered' })], true],
    ['in doubt', [earlier({ state: 'pending' })], true],
    ['given up', [earlier({ state: 'given_up' })], true],
    ['refused', [earlier({ state: 'refused' })], false],
    ['never tried', [earlier({ attempts: 0 })], false],
    ['tried, then overtaken by the end', [earlier({ state: 'superseded' })], true],
    [
      'held back, or overtaken before it was sent',
      [earlier({ state: 'superseded', attempts: 0 })],
      false,
    ],
    ['on another channel', [earlier({ channel: 'team' })], false],
    ['of another epoch', [earlier({ notification: epoch2 })], false],
    ['a later one', [earlier({ seq: 192, state: 'delivered' })], false],
    ['an alert', [earlier({ state: 'delivered', notification: alert })], false],
  ])('%s', (_, siblings, heard) => {
    const notifications = siblings.slice(0, heard ? 1 : 0).map(({ notification }) => notification)
    expect(mayHaveHeard(own, siblings, () => false)).toEqual(notifications)
  })

  test('a channel that is configured no more may have been this one', () => {
    const before = earlier({ channel: 'team', state: 'delivered' })
    const isGone = (name: string) => name === 'team'
    expect(mayHaveHeard(own, [before], isGone)).toEqual([before.notification])
  })
})

describe('a copy for a fallback that wants every step', () => {
  const copy = row('reminder', 64, {
    notification: { ...notification({ moment: 'reminder' }), insteadOf: 'team' },
  })
  const end = (changes: Partial<Delivery>) => row('cancelled', 128, changes)

  test.each<[string, Partial<Delivery>, string | undefined]>([
    ['is not sent after the end', { state: 'delivered', attempts: 1 }, 'the event ended first'],
    ['is not sent if the end may have arrived', { attempts: 1 }, 'the event ended first'],
    ['is sent before the end', {}, undefined],
    ['is sent if the end was refused', { state: 'refused', attempts: 1 }, undefined],
  ])('%s', (_, changes, reason) => {
    expect(overtaken(copy, record(), [copy, end(changes)], 'every')).toBe(reason)
  })
})
