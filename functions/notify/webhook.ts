// Signed webhooks for other systems: a CloudEvent 1.0 under Standard Webhooks headers.
import type { z } from 'zod'
import { isAdvice } from '../../shared/document.ts'
import { sign } from '../../shared/signature.ts'
import type { AlertNews, FleetAlert } from '../core/delivery/alert-kind.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertNotification,
  buildMessageId,
  isAlertAbout,
  isPing,
  noFleet,
  readStoredId,
  tellsOfEvent,
} from '../core/delivery/delivery.ts'
import { unlimited } from '../core/delivery/rate.ts'
import type { EventView } from '../core/event/view.ts'
import { alertText } from '../core/message/alert.ts'
import { cloudEventBody, type EventLinks, wholeCharacters } from '../core/message/cloud-event.ts'
import { type AlertData, alertSchemaAddress } from '../schema/alert.ts'
import { listChoices, secrets, webUrl } from '../schema/checks.ts'
import { entry, type Kind } from './kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isRedirect,
  isSuccess,
  type Notified,
  type Notifier,
  type Outgoing,
  post,
  readStart,
  type Send,
} from './notifier.ts'

const schema = entry('webhook', {
  url: webUrl.describe('The address for CloudEvents with Standard Webhooks headers.'),
  secret: secrets.describe(
    'Signs the bodies. "whsec_" and base64, or a list while you replace it.',
  ),
  links: listChoices(['read', 'decide'])
    .optional()
    .describe('With "decide", bodies contain the link that approves: their receiver can decide.'),
})

const notifier: Notifier<z.output<typeof schema>> = {
  rate: unlimited,
  takes: 'every',
  buttons: undefined,
  async notify(outgoing, channel, send) {
    const { delivery, now, signal } = outgoing
    const { notification } = delivery
    const id = buildMessageId(delivery)
    try {
      if (isPing(notification) && notification.about.handshake !== undefined) {
        return await shakeHands(send, channel.url, notification.about.handshake, { now, signal })
      }
      const body = composeBody(id, outgoing, channel.links)
      const signature = await sign(channel.secret, id, now, body, outgoing.hmac)
      const headers = { ...signature, 'content-type': 'application/cloudevents+json' }
      const answer = await post(send, channel.url, body, headers, signal)
      const { status, text } = answer
      const reply = { status, text }
      if (isSuccess(status)) return { outcome: 'delivered', note: `HTTP ${status}`, reply }
      return { ...judge(answer, now), reply }
    } catch (error) {
      const failed = fromError(error, outgoing)
      // who made a stored channel must not learn what a name resolves to here
      const isOwn = readStoredId(delivery.channel) === undefined
      return isOwn ? failed : { ...failed, note: failed.note.split(':', 2).join(':') }
    }
  },
}

export const webhook: Kind<typeof schema> = {
  name: 'webhook',
  schema,
  open: ['links'],
  notifiers: { webhook: notifier },
}

/**
 * 410 means "switched off" in Standard Webhooks, and a redirect is not followed: a person has to
 * act. With any other status, the receiver may be in the middle of a deployment, so retry.
 */
function judge(answer: Answer, now: number): SendOutcome {
  const judged = fromStatus(answer, now)
  const final = answer.status === 410 || isRedirect(answer.status)
  return final || judged.outcome !== 'refused' ? judged : { outcome: 'retry', note: judged.note }
}

/**
 * The address that decides is only for channels that ask for it, and only until the event ends. Of advice, there
 * is nothing to decide.
 */
function composeLinks({ links, pageUrl, delivery }: Outgoing, wanted = 'read'): EventLinks {
  const { notification } = delivery
  const { ended, facts } = notification.event
  const isAsked = tellsOfEvent(notification) && ended === undefined && !isAdvice(facts)
  const decides = wanted === 'decide' && isAsked
  return { ...links!, ...(decides && pageUrl !== undefined ? { decide: pageUrl } : {}) }
}

/** The CloudEvent of a message. `wanted`: which links it has. */
export function composeBody(id: string, outgoing: Outgoing, wanted?: 'read' | 'decide'): string {
  const { notification } = outgoing.delivery
  if (isPing(notification)) {
    const { ping, tests } = notification.about
    if (tests === undefined) return pingBody(id, ping, notification.at)
    const { at, event } = notification
    return cloudEventBody(
      { id, notification: { moment: tests, at, event } },
      outgoing.links!,
      outgoing,
    )
  }
  if (isAlertAbout(notification)) return alertBody(id, notification, outgoing.publicUrl)
  const links = composeLinks(outgoing, wanted)
  if (!tellsOfEvent(notification)) return cloudEventBody({ id, notification }, links, outgoing)
  const { event, moment, at } = notification
  const key = [id, moment, at, outgoing.publicUrl, ...Object.values(links)].join(' ')
  const known = bodies.get(event)
  if (known?.key === key) return known.body
  const body = cloudEventBody({ id, notification }, links, outgoing)
  bodies.set(event, { key, body })
  return body
}

/** All stored channels get the same body of a moment, so it is composed once while its event is in use. */
const bodies = new WeakMap<EventView, { key: string; body: string }>()

/**
 * The endpoint consents by a header of its answer, whatever the status
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection).
 */
async function shakeHands(
  send: Send,
  url: string,
  origin: string,
  { now, signal }: Pick<Outgoing, 'now' | 'signal'>,
): Promise<Notified> {
  const headers = { 'webhook-request-origin': origin }
  const response = await send(url, { method: 'OPTIONS', redirect: 'manual', headers, signal })
  const { status } = response
  await readStart(response, 1)
  const allowed = response.headers.get('webhook-allowed-origin')
  const reply = { status, text: '' }
  if (allowed === '*' || allowed === origin) {
    return { outcome: 'delivered', note: `HTTP ${status}, origin allowed`, reply }
  }
  const answer = { status, text: '', end: 'read', retryAfter: response.headers.get('retry-after') }
  const judged = judge(answer as Answer, now)
  if (judged.outcome === 'retry' && status >= 500) return { ...judged, reply }
  const note = `HTTP ${status} without "WebHook-Allowed-Origin: ${origin}"`
  return { outcome: 'refused', note, reply }
}

function pingBody(id: string, subscription: string, at: number): string {
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: '/subscriptions',
    type: 'foghorn.ping',
    time: new Date(at).toISOString(),
    subject: subscription,
    datacontenttype: 'application/json',
    data: { subscription },
  })
}

/** An alert has no event, so the body has the fleet and the texts. */
function alertBody(
  id: string,
  { at, event: { fleet }, about }: AlertNotification & { about: FleetAlert },
  publicUrl: string,
): string {
  const data: AlertData = {
    ...(fleet === noFleet ? {} : { fleet }),
    kind: about.alert,
    episode: about.episode,
    since: new Date(about.since).toISOString(),
    ...alertText(fleet, about, at),
    vms: about.names.filter(Boolean),
    reasons: about.reasons,
    ...(about.news && composeNews(about.news)),
  }
  const body = {
    specversion: '1.0',
    id,
    source: fleet === noFleet ? '/relay' : `/fleets/${encodeURIComponent(fleet)}`,
    type: `foghorn.alert.${about.alert}`,
    time: new Date(at).toISOString(),
    subject: about.alert,
    datacontenttype: 'application/json',
    dataschema: `${publicUrl}${alertSchemaAddress}`,
    data,
  }
  return JSON.stringify(body, wholeCharacters)
}

/** `vms` has the first of `count`. */
function composeNews({ form, count, remaining, left }: AlertNews) {
  return { form, count, remaining, left }
}
