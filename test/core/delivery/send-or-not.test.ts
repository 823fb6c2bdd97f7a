// Whether a claimed delivery is sent: each reason against it, and which reason comes first.
import { describe, expect, test } from 'vitest'
import { planChannelAlert, planTroubleAlert } from '../../../functions/core/delivery/alert.ts'
import { channelTroubleIn } from '../../../functions/core/delivery/delivery.ts'
import { judgeDelivery, type Known } from '../../../functions/core/delivery/overtake.ts'
import { at, claimed, delivery, notification, record } from '../../support/records.ts'

const own = claimed('own')
const ended = record({ ended: { at, outcome: 'cancelled' } })
const failed = delivery('failed', { channel: 'chat' })
const refusing = { state: 'refusing' as const, note: 'HTTP 404', alert: at }
const trouble = { ...own, ...planTroubleAlert(failed, 'team', refusing, at) }

function known(changes: Partial<Known> = {}): Known {
  return { record: record(), siblings: [own], takes: 'newest', inTrouble: [], ...changes }
}

const gone = 'the configuration has no such channel any more'
const later = delivery('later', { seq: 128, notification: notification({ moment: 'approved' }) })

describe('a claimed delivery', () => {
  test.each([
    ['of an open event', own, known(), undefined],
    ['whose event is gone', own, known({ record: undefined }), undefined],
    ['to a removed channel', own, known({ takes: undefined }), 'refused', gone],
    ['of an ended event', own, known({ record: ended }), 'superseded', 'the event ended first'],
    [
      'of an ended event, to a channel that wants every step',
      own,
      known({ record: ended, takes: 'every' }),
      undefined,
    ],
    [
      'of an ended event, to a removed channel',
      own,
      known({ record: ended, takes: undefined }),
      'superseded',
      'the event ended first',
    ],
    [
      'with a later step behind it',
      own,
      known({ siblings: [own, later] }),
      'superseded',
      'overtaken by "approved"',
    ],
    ['about a channel in trouble', trouble, known({ inTrouble: ['chat'] }), undefined],
    [
      'about a channel that recovered',
      trouble,
      known({ inTrouble: ['hook'] }),
      'superseded',
      'that channel takes messages again',
    ],
    [
      'about one refused message',
      { ...own, ...planChannelAlert(failed, 'team', failed, at) },
      known(),
      undefined,
    ],
  ] as const)('%s', (_, one, values, outcome, note = undefined) => {
    const expected = outcome === undefined ? undefined : { outcome, note }
    expect(judgeDelivery(one, values)).toEqual(expected)
  })

  test('about trouble is known as such', () => {
    expect(channelTroubleIn(trouble.notification)).toMatchObject({
      channel: 'chat',
      health: 'refusing',
    })
    expect(
      channelTroubleIn({ ...own, ...planChannelAlert(failed, 'team', failed, at) }.notification),
    ).toBeUndefined()
  })
})
