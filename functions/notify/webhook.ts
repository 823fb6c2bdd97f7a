// Signed webhooks for other systems: a CloudEvent 1.0 under Standard Webhooks headers.
import type { z } from 'zod'
import { sign } from '../../shared/signature.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import { type AlertTelling, type FleetAlert, isAlertOf } from '../core/delivery/delivery.ts'
import { unlimited } from '../core/delivery/rate.ts'
import type { AbsenceNews } from '../core/event/event.ts'
import { alertText } from '../core/message/alert.ts'
import { cloudEventBody, type EventLinks, wholeCharacters } from '../core/message/cloud-event.ts'
import { type AlertData, alertSchemaAddress } from '../schema/alert.ts'
import { oneOf, secrets, webUrl } from '../schema/checks.ts'
import { entry, type Kind } from './kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isRedirect,
  isSuccess,
  type Notifier,
  type Outgoing,
  post,
} from './notifier.ts'

const schema = entry('webhook', {
  url: webUrl.describe('The address for CloudEvents with Standard Webhooks headers.'),
  secret: secrets.describe('Signs them. "whsec_" and base64, or a list while one is replaced.'),
  links: oneOf(['read', 'decide'])
    .optional()
    .describe('With "decide", bodies contain the link that approves: their receiver can decide.'),
})

const notifier: Notifier<z.output<typeof schema>> = {
  overtakes: () => false,
  rate: unlimited,
  opensIncidents: false,
  buttons: undefined,
  async notify(outgoing, channel, send) {
    const { delivery, now, signal } = outgoing
    const { telling } = delivery
    const body = isAlertOf(telling)
      ? alertBody(delivery.id, telling, outgoing.publicUrl)
      : cloudEventBody({ id: delivery.id, telling }, linksOf(outgoing, channel.links), outgoing)
    try {
      const signature = await sign(channel.secret, delivery.id, now, body)
      const headers = { ...signature, 'content-type': 'application/cloudevents+json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (isSuccess(answer.status)) {
        return { outcome: 'delivered', note: `HTTP ${answer.status}` }
      }
      return judge(answer, now)
    } catch (error) {
      return fromError(error, signal)
    }
  },
}

export const webhook: Kind<typeof schema> = { schema, notifiers: { webhook: notifier } }

/**
 * 410 means "switched off" in Standard Webhooks, and a redirect is not followed: a person has to
 * act. With any other status, the receiver may be in the middle of a deployment, so retry.
 */
function judge(answer: Answer, now: number): SendOutcome {
  const judged = fromStatus(answer, now)
  const final = answer.status === 410 || isRedirect(answer.status)
  return final || judged.outcome !== 'refused' ? judged : { outcome: 'retry', note: judged.note }
}

/** The address that decides is only for channels that ask for it, and only until the event ends. */
function linksOf({ links, pageUrl, delivery }: Outgoing, wanted = 'read'): EventLinks {
  const decides = wanted === 'decide' && delivery.telling.event.ended === undefined
  return { ...links!, ...(decides && pageUrl !== undefined ? { decide: pageUrl } : {}) }
}

/** An alert has no event, so the body has the fleet and the texts. */
function alertBody(
  id: string,
  { at, event: { fleet, alert }, about }: AlertTelling & { about: FleetAlert },
  publicUrl: string,
): string {
  const data: AlertData = {
    ...{ fleet, kind: about.alert, episode: about.episode },
    ...(alert && { since: new Date(alert.since).toISOString(), ...alertText(fleet, alert, at) }),
    ...(alert && { vms: alert.vms, reasons: alert.reasons }),
    ...(alert?.news && newsOf(alert.news)),
  }
  const body = {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(fleet)}`,
    type: `foghorn.alert.${about.alert}`,
    time: new Date(at).toISOString(),
    subject: about.alert,
    datacontenttype: 'application/json',
    dataschema: `${publicUrl}${alertSchemaAddress}`,
    data,
  }
  return JSON.stringify(body, wholeCharacters)
}

/** Of an alert about absent beacons. `vms` has the first of `count`. */
function newsOf({ form, count, remaining, left }: AbsenceNews) {
  return { form, count, remaining, left }
}
