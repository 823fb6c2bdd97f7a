// Signed webhooks for other systems: a CloudEvent 1.0 under Standard Webhooks headers.
import { sign } from '../../shared/signature.ts'
import type { ChannelOf } from '../config.ts'
import type { SendOutcome } from '../core/attempt.ts'
import type { Delivery } from '../core/delivery.ts'
import { publicView } from '../core/public-view.ts'
import { unlimited } from '../core/rate.ts'
import { fromError, fromStatus, type Notifier, post } from './notifier.ts'

export const webhook: Notifier<ChannelOf<'webhook'>> = {
  overtakes: () => false,
  rate: unlimited,
  opensIncidents: false,
  async notify({ delivery, now, signal }, channel, send) {
    const body = JSON.stringify(cloudEvent(delivery))
    try {
      const signature = await sign(channel.secret, delivery.id, now, body)
      const headers = { ...signature, 'content-type': 'application/cloudevents+json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (answer.status >= 200 && answer.status < 300) {
        return { outcome: 'delivered', note: `HTTP ${answer.status}` }
      }
      return judge(answer, now)
    } catch (error) {
      return fromError(error, signal)
    }
  },
}

/**
 * 410 means "switched off" in Standard Webhooks, and a redirect must not be followed: both need a
 * person. Any other status may be a receiver in the middle of a deployment.
 */
function judge(answer: Awaited<ReturnType<typeof post>>, now: number): SendOutcome {
  const judged = fromStatus(answer, now)
  const final = answer.status === 410 || (answer.status >= 300 && answer.status < 400)
  return final || judged.outcome !== 'refused' ? judged : { outcome: 'retry', note: judged.note }
}

/** The same bytes at every attempt: nothing in it depends on when it is sent. */
function cloudEvent({ id, telling }: Delivery) {
  const { event } = telling
  return {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(event.fleet)}`,
    type: `foghorn.event.${telling.moment}`,
    time: new Date(telling.at).toISOString(),
    subject: event.eventId,
    datacontenttype: 'application/json',
    data: {
      ...publicView(event),
      moment: telling.moment,
      ...(telling.moment === 'notice' ? { about: telling.about } : {}),
    },
  }
}
