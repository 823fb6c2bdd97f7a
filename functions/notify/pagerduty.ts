// PagerDuty Events API v2: one incident for each epoch of an event, opened, acknowledged when
// somebody decided, resolved at the end. What was never opened is never resolved.
import { cut } from '../../shared/document.ts'
import type { ChannelOf } from '../config.ts'
import { type Delivery, hash } from '../core/delivery.ts'
import { buttonOf, plain } from '../core/message.ts'
import { severityOf } from '../core/severity.ts'
import { fromError, fromStatus, type Notifier, type Outgoing, post } from './notifier.ts'

/** developer.pagerduty.com/docs/events-api-v2; `source` and the like have none there, and are names. */
const limit = { summary: 1_024, source: 255, dedupKey: 255, bodyBytes: 512_000 }

export const pagerduty: Notifier<ChannelOf<'pagerduty'>> = {
  // what opens an incident is told before what acknowledges it
  overtakes: (later, earlier) =>
    actionOf(later) !== 'acknowledge' || actionOf(earlier) === 'acknowledge',
  // about 120 events a minute and key
  rate: { everyMs: 667, burst: 30, together: 1, atOnce: 4 },
  opensIncidents: true,
  async notify(outgoing, channel, send) {
    const action = actionOf(outgoing.delivery.telling)
    if (action !== 'trigger' && !outgoing.mayHaveHeard) {
      return { outcome: 'superseded', note: 'no incident was opened' }
    }
    const body = bodyOf(outgoing, action, channel.routingKey)
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await post(send, channel.endpoint, body, headers, outgoing.signal)
      if (answer.status === 202) return { outcome: 'delivered', note: action }
      const judged = fromStatus(answer, outgoing.now)
      // every message has this key, so none of them will do
      const isKey = answer.status === 400 && answer.text.includes('routing_key')
      return judged.outcome === 'refused' && isKey ? { ...judged, broken: true } : judged
    } catch (error) {
      return fromError(error, outgoing.signal)
    }
  },
}

type Action = 'trigger' | 'acknowledge' | 'resolve'

/** Once decided, further steps only acknowledge: a second trigger would page again. */
function actionOf(telling: Delivery['telling']): Action {
  switch (telling.moment) {
    case 'completed':
    case 'cancelled':
    case 'lost':
      return 'resolve'
    case 'approved':
    case 'declined':
      return 'acknowledge'
    case 'started':
      return telling.event.verdict === undefined ? 'trigger' : 'acknowledge'
    default:
      return 'trigger'
  }
}

/** The same for every action of one epoch. A channel in trouble is one incident, whatever it missed. */
function dedupKey({ telling }: Delivery): string {
  const { fleet, eventId, epoch } = telling.event
  const key =
    telling.moment === 'notice'
      ? `foghorn/channel/${telling.about.channel}`
      : `foghorn/${fleet}/${eventId}/${epoch}`
  return key.length <= limit.dedupKey ? key : `${cut(key, limit.dedupKey - 17)}/${hash(key)}`
}

/** What a trigger says, an acknowledgement and the end say, too: the incident's log shows each. */
function bodyOf(outgoing: Outgoing, action: Action, routingKey: string): string {
  const { delivery, pageUrl } = outgoing
  const whole = {
    routing_key: routingKey,
    event_action: action,
    dedup_key: dedupKey(delivery),
    client: 'Foghorn',
    ...(pageUrl === undefined ? {} : { client_url: pageUrl, links: linksTo(pageUrl, outgoing) }),
    payload: { ...payloadOf(outgoing), custom_details: detailsOf(outgoing) },
  }
  const body = JSON.stringify(whole)
  if (new TextEncoder().encode(body).length <= limit.bodyBytes) return body
  // the only part without a limit of its own, and the page has all of it
  return JSON.stringify({ ...whole, payload: payloadOf(outgoing) })
}

function payloadOf({ message, delivery: { telling } }: Outgoing) {
  const { event } = telling
  return {
    summary: cut(message.title, limit.summary),
    source: cut(plain(event.facts.resources[0] ?? event.fleet), limit.source),
    severity: telling.moment === 'notice' ? ('error' as const) : severityOf(telling),
    timestamp: new Date(telling.at).toISOString(),
    group: cut(plain(event.fleet), limit.source),
    class: cut(plain(event.facts.eventType), limit.source),
  }
}

function detailsOf({ message, delivery: { telling } }: Outgoing) {
  const { fleet, eventId } = telling.event
  const facts = message.facts.map(({ name, value }) => [name, value])
  const which = [
    ['Fleet', plain(fleet)],
    ['Event', plain(eventId)],
  ]
  return Object.fromEntries([['In short', message.lines.join(' ')], ...facts, ...which])
}

function linksTo(pageUrl: string, { message }: Outgoing) {
  const course = { href: `${pageUrl}#course`, text: 'What happened so far' }
  return [{ href: pageUrl, text: buttonOf(message) }, course]
}
