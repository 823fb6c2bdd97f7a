// PagerDuty Events API v2: the channel's configuration, its requests and their content.
import * as z from 'zod'
import { parseJson } from '../../shared/json.ts'
import { linkless } from '../../shared/presentable.ts'
import { cut } from '../../shared/text.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import { type Delivery, isAlertAbout, noFleet, tellsOfEvent } from '../core/delivery/delivery.ts'
import { composeButton } from '../core/message/message.ts'
import { plain } from '../core/message/phrases.ts'
import { isWebUrl, textBy, webUrl } from '../schema/checks.ts'
import { channelIn, fitting, listSteps, type Step, sendSteps, severityIn } from './incidents.ts'
import { entry, type Kind } from './kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  post,
  type Send,
} from './notifier.ts'

/** developer.pagerduty.com/docs/events-api-v2, which gives no limit for `source`. */
const limit = { summary: 1_024, source: 255, bodyBytes: 512_000 }

const routingRule = 'a routing key has 32 characters, letters and digits'
const enqueue = '/v2/enqueue'
const endpointRule = `write https://events.pagerduty.com${enqueue}, or for the EU https://events.eu.pagerduty.com${enqueue}`

const schema = entry('pagerduty', {
  routingKey: textBy(routingRule)
    .regex(/^[A-Za-z0-9]{32}$/, routingRule)
    .describe('The integration key of Events API v2, 32 characters. It is the secret.'),
  endpoint: webUrl
    .refine(isEventsV2, { error: endpointRule })
    .default(`https://events.pagerduty.com${enqueue}`)
    .describe(`For the EU: https://events.eu.pagerduty.com${enqueue}`),
})

type Channel = z.output<typeof schema>

const notifier: Notifier<Channel> = {
  takes: 'incident',
  // about 120 events a minute and key
  rate: { everyMs: 667, burst: 30, together: 1, atOnce: 4 },
  buttons: undefined,
  async notify(outgoing, channel, send) {
    return sendSteps(listSteps(outgoing), (step) => sendStep(outgoing, step, channel, send))
  },
}

export const pagerduty: Kind<typeof schema> = {
  name: 'PagerDuty',
  sites: [
    {
      name: 'PagerDuty',
      host: /(^|\.)pagerduty\.com$/,
      // a transformer of PagerDuty can accept any body
      takes: (kind) => ['pagerduty', 'webhook'].includes(kind),
      remedy: '"kind": "pagerduty"',
    },
  ],
  schema,
  placeholders: { routingKey: (name) => name.replaceAll('_', '0').padEnd(32, '0').slice(-32) },
  notifiers: { pagerduty: notifier },
}

/** On PagerDuty's hosts, only one path accepts events of version 2. Another host may be a proxy. */
function isEventsV2(endpoint: string): boolean {
  if (!isWebUrl(endpoint)) return true
  const { host, hostname, pathname, search } = new URL(endpoint)
  if (!/(^|\.)pagerduty\.com$/.test(hostname)) return true
  // The key belongs in the body, because addresses are not masked as secrets.
  return (
    /^events(\.eu)?\.pagerduty\.com$/.test(host) && pathname.replace(/\/$/, '') + search === enqueue
  )
}

async function sendStep(
  outgoing: Outgoing,
  step: Step,
  channel: Channel,
  send: Send,
): Promise<SendOutcome> {
  const body = composeBody(outgoing, step, channel.routingKey)
  try {
    const headers = { 'content-type': 'application/json' }
    const answer = await post(send, channel.endpoint, body, headers, outgoing.signal)
    if (isAccepted(answer)) return { outcome: 'delivered', note: step.action }
    const judged = fromStatus(answer, outgoing.now)
    // Every message contains the routing key, so every message would fail.
    const isKey = answer.status === 400 && /routing[_ ]key/i.test(answer.text)
    return judged.outcome === 'refused' && isKey ? { ...judged, broken: true } : judged
  } catch (error) {
    return fromError(error, outgoing)
  }
}

/** PagerDuty answers 202. A compatible service may answer another 2xx that says the same. */
function isAccepted(answer: Answer): boolean {
  if (answer.status === 202) return !isWebPage(answer)
  return isSuccess(answer.status) && accepted.safeParse(parseJson(answer.text)).success
}

const accepted = z.object({ status: z.literal('success') })

/** Acknowledgements and resolutions have the full text, too: the incident's log shows each. */
function composeBody(outgoing: Outgoing, { action, key }: Step, routingKey: string): string {
  const { pageUrl } = outgoing
  const whole = {
    routing_key: routingKey,
    event_action: action,
    dedup_key: fitting(key),
    client: 'Foghorn',
    ...(pageUrl === undefined ? {} : { client_url: pageUrl, links: linksTo(pageUrl, outgoing) }),
    payload: { ...composePayload(outgoing), custom_details: composeDetails(outgoing) },
  }
  const body = JSON.stringify(whole)
  if (new TextEncoder().encode(body).length <= limit.bodyBytes) return body
  // The details are the only part without a limit, and the page has them, too.
  return JSON.stringify({ ...whole, payload: composePayload(outgoing) })
}

function composePayload({ message, delivery: { notification } }: Outgoing) {
  const { event } = notification
  return {
    // PagerDuty keeps the first title of an incident.
    summary: cut(linkless(message.lastingTitle), limit.summary),
    source: cut(shown(nameSource(notification)), limit.source),
    severity: severityIn(notification),
    timestamp: new Date(notification.at).toISOString(),
    ...(event.fleet === noFleet ? {} : { group: cut(shown(event.fleet), limit.source) }),
    class: cut(shown(event.facts.eventType), limit.source),
  }
}

/** What has the problem: a VM, a channel, a fleet or the relay. */
function nameSource(notification: Delivery['notification']): string {
  if (isAlertAbout(notification)) {
    return notification.event.fleet === noFleet ? 'Foghorn' : notification.event.fleet
  }
  if (!tellsOfEvent(notification)) return channelIn(notification)
  return notification.event.facts.resources[0] ?? notification.event.fleet
}

function composeDetails({ message, delivery: { notification } }: Outgoing) {
  const { fleet, eventId } = notification.event
  const facts = message.facts.map(({ name, value }) => [name, linkless(value)])
  const which = [
    ...(fleet === noFleet ? [] : [['Fleet', shown(fleet)]]),
    ...(isAlertAbout(notification) ? [] : [['Event', shown(eventId)]]),
  ]
  return Object.fromEntries([['In short', linkless(message.lines.join(' '))], ...facts, ...which])
}

/** PagerDuty turns text that looks like a link into one. */
function shown(text: string): string {
  return linkless(plain(text))
}

function linksTo(pageUrl: string, { message }: Outgoing) {
  const page = { href: pageUrl, text: composeButton(message) }
  if (message.opensConsole) return [page]
  const further = (message.links ?? []).map(({ label, url }) => ({ href: url, text: label }))
  return [page, { href: `${pageUrl}#timeline`, text: 'Timeline' }, ...further]
}
