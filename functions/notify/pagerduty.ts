// PagerDuty Events API v2: one incident for each epoch of an event, opened, acknowledged when somebody
// decided, resolved at the end. What was never sent is never resolved. A trigger on an acknowledged incident
// wakes nobody. So a stuck approval, and the question after a lapsed one, have keys of their own.
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { linkless } from '../../shared/presentable.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertTelling,
  type Delivery,
  isAlertOf,
  lapsedAtOf,
  type Telling,
} from '../core/delivery/delivery.ts'
import { ends } from '../core/delivery/overtake.ts'
import { hash } from '../core/hash.ts'
import { buttonOf, plain } from '../core/message/message.ts'
import { severityOf } from '../core/rules/severity.ts'
import { isWebUrl, textBy, webUrl } from '../schema/checks.ts'
import { entry, type Kind } from './kind.ts'
import {
  fromError,
  fromStatus,
  isWebPage,
  type Notifier,
  type Outgoing,
  post,
  type Send,
} from './notifier.ts'

/** developer.pagerduty.com/docs/events-api-v2; `source` and the like have none there, and are names. */
const limit = { summary: 1_024, source: 255, dedupKey: 255, bodyBytes: 512_000 }

type Action = 'trigger' | 'acknowledge' | 'resolve'

/** An action, and the key of its incident. */
interface Step {
  key: string
  action: Action
}

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
  overtakes,
  // about 120 events a minute and key
  rate: { everyMs: 667, burst: 30, together: 1, atOnce: 4 },
  opensIncidents: true,
  buttons: undefined,
  async notify(outgoing, channel, send) {
    const steps = stepsOf(outgoing)
    let outcome: SendOutcome = { outcome: 'superseded', note: 'no incident was opened' }
    for (const step of steps) {
      outcome = await tell(outgoing, step, channel, send)
      // another attempt begins with the first again, which changes nothing there
      if (outcome.outcome !== 'delivered') return outcome
    }
    return outcome
  },
}

export const pagerduty: Kind<typeof schema> = {
  schema,
  placeholders: { routingKey: (name) => name.replaceAll('_', '0').padEnd(32, '0').slice(-32) },
  notifiers: { pagerduty: notifier },
}

/** PagerDuty's own hosts take events of version 2 nowhere else; another host may be a proxy. */
function isEventsV2(endpoint: string): boolean {
  if (!isWebUrl(endpoint)) return true
  const { host, hostname, pathname, search } = new URL(endpoint)
  if (!/(^|\.)pagerduty\.com$/.test(hostname)) return true
  // a key goes into the body: in the address it would be no secret
  return (
    /^events(\.eu)?\.pagerduty\.com$/.test(host) && pathname.replace(/\/$/, '') + search === enqueue
  )
}

async function tell(
  outgoing: Outgoing,
  step: Step,
  channel: Channel,
  send: Send,
): Promise<SendOutcome> {
  const body = bodyOf(outgoing, step, channel.routingKey)
  try {
    const headers = { 'content-type': 'application/json' }
    const answer = await post(send, channel.endpoint, body, headers, outgoing.signal)
    const taken = answer.status === 202 && !isWebPage(answer)
    if (taken) return { outcome: 'delivered', note: step.action }
    const judged = fromStatus(answer, outgoing.now)
    // every message has this key, so none of them will do
    const isKey = answer.status === 400 && answer.text.includes('routing_key')
    return judged.outcome === 'refused' && isKey ? { ...judged, broken: true } : judged
  } catch (error) {
    return fromError(error, outgoing.signal)
  }
}

/** What opens an incident is told before what acknowledges it; *stuck* matters until the start or the end. */
function overtakes(later: Telling, earlier: Telling): boolean {
  if (earlier.moment === 'stuck') return unsticks(later)
  if (later.moment === 'stuck') return false
  return actionOf(later) !== 'acknowledge' || actionOf(earlier) === 'acknowledge'
}

/**
 * Incidents that may be open already are closed or acknowledged, and no others. A trigger without an answer
 * may have opened one, even where the connection was refused, as something in between may have said so:
 * PagerDuty drops what is said of an incident that it does not have, and one left open would call somebody.
 */
function stepsOf({ delivery: { telling }, mayHaveHeard }: Outgoing): Step[] {
  if (telling.moment === 'alert') return [{ key: keyOf(telling), action: 'trigger' }]
  if (telling.moment === 'stuck') return [{ key: stuckKeyOf(telling), action: 'trigger' }]
  const action = actionOf(telling)
  const known = openedBy(mayHaveHeard)
  const own = action === 'trigger' ? openedBy([...mayHaveHeard, telling]).at(-1) : known.at(-1)
  // people who acknowledged an earlier incident are asked again
  const isAnew = own !== undefined && known.length > 0 && !known.includes(own)
  const stuck = mayHaveHeard.filter(({ moment }) => moment === 'stuck').map(stuckKeyOf)
  const over = [
    ...(unsticks(telling) || isAnew ? stuck : []),
    ...(isAnew ? known : []),
    ...(action === 'resolve' ? known : []),
  ]
  return [
    ...[...new Set(over)].map((key): Step => ({ key, action: 'resolve' })),
    ...(own === undefined || action === 'resolve' ? [] : [{ key: own, action }]),
  ]
}

/**
 * Keys of the incidents that these steps opened, the newest last. A step after a decision is added
 * to the open incident. If people are asked again after an approval lapsed, a new incident is
 * opened.
 */
function openedBy(tellings: Telling[]): string[] {
  const keys: string[] = []
  const inOrder = tellings.toSorted((one, other) => one.event.sequence - other.event.sequence)
  for (const telling of inOrder) {
    if (telling.moment === 'stuck' || actionOf(telling) !== 'trigger') continue
    // if a rule approves, nobody has to act
    const { verdict, policy } = telling.event
    const isDecided = verdict !== undefined || policy.decide === 'approve'
    keys.push(isDecided ? (keys.at(-1) ?? eventKeyOf(telling)) : keyOf(telling))
  }
  return [...new Set(keys)]
}

function unsticks({ moment }: Delivery['telling']): boolean {
  return moment === 'started' || ends.some((end) => end === moment)
}

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

/**
 * The same for every action on one incident. A channel in trouble is one incident, for all messages
 * it missed.
 */
function keyOf(telling: Delivery['telling']): string {
  if (isAlertOf(telling)) {
    const { alert, episode } = telling.about
    return `foghorn/alert/${telling.event.fleet}/${alert}/${episode}`
  }
  if (telling.moment === 'alert') return `foghorn/channel/${channelIn(telling)}`
  const lapsedAt = lapsedAtOf(telling.event)
  const anew = lapsedAt === undefined ? '' : `/anew-${hash(String(lapsedAt))}`
  return eventKeyOf(telling) + anew
}

function stuckKeyOf(telling: Telling): string {
  return `${keyOf(telling)}/stuck`
}

function eventKeyOf({ event: { fleet, eventId, epoch } }: Telling): string {
  return `foghorn/${fleet}/${eventId}/${epoch}`
}

function fitting(key: string): string {
  if (key.length <= limit.dedupKey) return key
  return `${cut(key, limit.dedupKey - 65)}/${hash(key)}`
}

/** What a trigger says, an acknowledgement and the end say, too: the incident's log shows each. */
function bodyOf(outgoing: Outgoing, { action, key }: Step, routingKey: string): string {
  const { pageUrl } = outgoing
  const whole = {
    routing_key: routingKey,
    event_action: action,
    dedup_key: fitting(key),
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
    // an incident's title stays as it was first said
    summary: cut(linkless(message.lastingTitle), limit.summary),
    source: cut(shown(sourceOf(telling)), limit.source),
    severity: severityIn(telling),
    timestamp: new Date(telling.at).toISOString(),
    group: cut(shown(event.fleet), limit.source),
    class: cut(shown(event.facts.eventType), limit.source),
  }
}

function severityIn(telling: Delivery['telling']) {
  if (isAlertOf(telling)) return 'warning' as const
  return telling.moment === 'alert' ? ('error' as const) : severityOf(telling)
}

function channelIn({ about }: AlertTelling): string {
  return 'alert' in about ? about.alert : about.channel
}

/** What has the problem: a VM, a channel or a fleet. */
function sourceOf(telling: Delivery['telling']): string {
  if (isAlertOf(telling)) return telling.event.fleet
  if (telling.moment === 'alert') return channelIn(telling)
  return telling.event.facts.resources[0] ?? telling.event.fleet
}

function detailsOf({ message, delivery: { telling } }: Outgoing) {
  const { fleet, eventId } = telling.event
  const facts = message.facts.map(({ name, value }) => [name, linkless(value)])
  const which = [
    ['Fleet', shown(fleet)],
    ...(isAlertOf(telling) ? [] : [['Event', shown(eventId)]]),
  ]
  return Object.fromEntries([['In short', linkless(message.lines.join(' '))], ...facts, ...which])
}

/** PagerDuty turns text that looks like a link into one. */
function shown(text: string): string {
  return linkless(plain(text))
}

function linksTo(pageUrl: string, { message }: Outgoing) {
  const course = { href: `${pageUrl}#course`, text: 'What happened so far' }
  return [{ href: pageUrl, text: buttonOf(message) }, course]
}
