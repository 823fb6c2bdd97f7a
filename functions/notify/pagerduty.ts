// PagerDuty Events API v2: one incident for each epoch of an event, opened, acknowledged when
// somebody decided, resolved at the end. What was never opened is never resolved.
import { cut } from '../../shared/document.ts'
import type { ChannelOf } from '../config.ts'
import { type Delivery, hash } from '../core/delivery.ts'
import { plain } from '../core/message.ts'
import { fromError, fromStatus, type Notifier, type Outgoing, post } from './notifier.ts'

const limit = { summary: 1_024, dedupKey: 255, details: 100_000 }

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
    const body = JSON.stringify(bodyOf(outgoing, action, channel.routingKey))
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await post(send, channel.endpoint, body, headers, outgoing.signal)
      if (answer.status === 202) return { outcome: 'delivered', note: action }
      return fromStatus(answer, outgoing.now)
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

function bodyOf(outgoing: Outgoing, action: Action, routingKey: string) {
  const { message, delivery, pageUrl } = outgoing
  const base = { routing_key: routingKey, event_action: action, dedup_key: dedupKey(delivery) }
  if (action !== 'trigger') return base
  const { event } = delivery.telling
  const details = Object.fromEntries(message.facts.map(({ name, value }) => [name, value]))
  const whole = { summary: message.lines.join(' '), ...details }
  return {
    ...base,
    client: 'Foghorn',
    ...(pageUrl === undefined ? {} : { client_url: pageUrl, links: [link(pageUrl, message.asks)] }),
    payload: {
      summary: cut(message.title, limit.summary),
      source: cut(plain(event.facts.resources[0] ?? event.fleet), limit.summary),
      severity: severityOf(delivery),
      timestamp: new Date(delivery.telling.at).toISOString(),
      group: event.fleet,
      class: event.facts.eventType,
      // the only part without a limit of its own
      ...(JSON.stringify(whole).length > limit.details ? {} : { custom_details: whole }),
    },
  }
}

function link(href: string, asks: boolean) {
  return { href, text: asks ? 'Decide' : 'Show event' }
}

function severityOf({ telling }: Delivery): 'critical' | 'error' | 'warning' | 'info' {
  if (telling.moment === 'notice' || telling.moment === 'stuck') return 'error'
  switch (telling.event.facts.eventType) {
    case 'Freeze':
      return 'info'
    case 'Reboot':
      return telling.event.notice === 'none' ? 'critical' : 'error'
    case 'Redeploy':
    case 'Terminate':
      return 'error'
    default:
      return 'warning'
  }
}
