// PagerDuty Events API v2. Each epoch of an event has one incident: triggered, acknowledged by a
// decision, resolved at the end. A trigger on an acknowledged incident notifies nobody, so a stuck
// approval and the question after a lapsed approval are separate incidents.
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { linkless } from '../../shared/presentable.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertTelling,
  channelTroubleIn,
  type Delivery,
  isAlertOf,
  isTestOf,
  lapsedAtOf,
  noFleet,
  type Telling,
} from '../core/delivery/delivery.ts'
import { isEnd, traits } from '../core/event/moment.ts'
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

/** developer.pagerduty.com/docs/events-api-v2, which gives no limit for `source`. */
const limit = { summary: 1_024, source: 255, dedupKey: 255, bodyBytes: 512_000 }

/** Of the incidents of one alert. Each message resolves the earlier ones, so more are not open. */
const maxReplaced = 5

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
      outcome = await sendStep(outgoing, step, channel, send)
      // The next attempt repeats the steps that were delivered, which changes nothing.
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
  const body = bodyOf(outgoing, step, channel.routingKey)
  try {
    const headers = { 'content-type': 'application/json' }
    const answer = await post(send, channel.endpoint, body, headers, outgoing.signal)
    const isAccepted = answer.status === 202 && !isWebPage(answer)
    if (isAccepted) return { outcome: 'delivered', note: step.action }
    const judged = fromStatus(answer, outgoing.now)
    // Every message contains the routing key, so every message would fail.
    const isKey = answer.status === 400 && answer.text.includes('routing_key')
    return judged.outcome === 'refused' && isKey ? { ...judged, broken: true } : judged
  } catch (error) {
    return fromError(error, outgoing.signal)
  }
}

/** An acknowledgement does not overtake a trigger. *Stuck* matters until the start or the end. */
function overtakes(later: Telling, earlier: Telling): boolean {
  if (earlier.moment === 'stuck') return unsticks(later)
  if (later.moment === 'stuck') return false
  return actionOf(later) !== 'acknowledge' || actionOf(earlier) === 'acknowledge'
}

/**
 * Acknowledges or resolves only incidents that may be open. A trigger without an answer may have
 * opened one, even if a proxy refused the connection. PagerDuty ignores a step for an unknown
 * incident, while an incident that stays open would page somebody.
 */
function stepsOf({ delivery: { telling }, mayHaveHeard }: Outgoing): Step[] {
  if (telling.moment === 'alert') return stepsOfAlert(telling, mayHaveHeard)
  const heard = mayHaveHeard.filter((one) => one.moment !== 'alert')
  if (telling.moment === 'stuck') return [{ key: stuckKeyOf(telling), action: 'trigger' }]
  const action = actionOf(telling)
  const known = openedBy(heard)
  const own = action === 'trigger' ? openedBy([...heard, telling]).at(-1) : known.at(-1)
  // People are asked again after they acknowledged an earlier incident.
  const isAnew = own !== undefined && known.length > 0 && !known.includes(own)
  const stuck = heard.filter(({ moment }) => moment === 'stuck').map(stuckKeyOf)
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

/** If more beacons fall silent, people may have acknowledged the first incident, so it is replaced. */
function stepsOfAlert(telling: AlertTelling, mayHaveHeard: Delivery['telling'][]): Step[] {
  const key = keyOf(telling)
  const trigger: Step = { key, action: 'trigger' }
  const resolve: Step = { key, action: 'resolve' }
  // a test leaves no incident open
  if (isTestOf(telling)) return [trigger, resolve]
  const news = telling.event.alert?.news
  // the incident stays open for those that are still absent
  if (news?.form === 'over' && news.remaining > 0) return []
  const begun = mayHaveHeard.filter(({ event }) => event.alert?.news?.form !== 'over')
  const known = new Set(inOrder(begun).slice(-maxReplaced).map(keyOf))
  known.delete(key)
  const over = [...known].map((key): Step => ({ key, action: 'resolve' }))
  return news?.form === 'over' ? over : [...over, trigger]
}

/**
 * Keys of the incidents that these steps opened, the newest last. A step after a decision belongs
 * to the open incident. If people are asked again after an approval lapsed, they get a new
 * incident.
 */
function openedBy(tellings: Telling[]): string[] {
  const keys: string[] = []
  for (const telling of inOrder(tellings)) {
    if (telling.moment === 'stuck' || actionOf(telling) !== 'trigger') continue
    // If a rule approves, nobody has to act.
    const { verdict, policy } = telling.event
    const isDecided = verdict !== undefined || policy.decide === 'approve'
    keys.push(isDecided ? (keys.at(-1) ?? eventKeyOf(telling)) : keyOf(telling))
  }
  return [...new Set(keys)]
}

function inOrder<One extends Delivery['telling']>(tellings: One[]): One[] {
  return tellings.toSorted((one, other) => one.event.sequence - other.event.sequence)
}

function unsticks({ moment }: Delivery['telling']): boolean {
  return moment === 'started' || (moment !== 'alert' && isEnd(moment))
}

/**
 * After a decision, a start only acknowledges: a second trigger would page again. If the event is
 * back after a *not now*, nobody expects it to start.
 */
function actionOf({ moment, event: { verdict, epoch } }: Delivery['telling']): Action {
  if (moment === 'alert') return 'trigger'
  const isExpected = verdict?.decision === 'approved' || (verdict !== undefined && epoch === 1)
  return moment === 'started' && isExpected ? 'acknowledge' : actions[traits[moment].incident]
}

const actions = { opens: 'trigger', acknowledges: 'acknowledge', resolves: 'resolve' } as const

/**
 * The same for every action on one incident. If a rule waited in vain, people get an incident of
 * their own: the first one asked nobody to act. So does each trouble of a channel, as nobody may have
 * resolved the last one.
 */
function keyOf(telling: Delivery['telling']): string {
  if (isAlertOf(telling)) {
    const { alert, episode, message = 1 } = telling.about
    const { fleet, eventId } = telling.event
    const which = message === 1 ? '' : `/${message}`
    return `foghorn/alert/${fleet}/${isTestOf(telling) ? eventId : alert}/${episode}${which}`
  }
  if (telling.moment === 'alert') {
    const which = channelTroubleIn(telling) === undefined ? '' : `/${telling.at}`
    return `foghorn/channel/${channelIn(telling)}${which}`
  }
  const lapsedAt = lapsedAtOf(telling.event)
  const { notReady } = telling.event
  const anew = lapsedAt === undefined ? '' : `/anew-${hash(String(lapsedAt))}`
  const asked = notReady === undefined ? '' : `/asked-${hash(String(notReady.at))}`
  return eventKeyOf(telling) + anew + asked
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

/** Acknowledgements and resolutions have the full text, too: the incident's log shows each. */
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
  // The details are the only part without a limit, and the page has them, too.
  return JSON.stringify({ ...whole, payload: payloadOf(outgoing) })
}

function payloadOf({ message, delivery: { telling } }: Outgoing) {
  const { event } = telling
  return {
    // PagerDuty keeps the first title of an incident.
    summary: cut(linkless(message.lastingTitle), limit.summary),
    source: cut(shown(sourceOf(telling)), limit.source),
    severity: severityIn(telling),
    timestamp: new Date(telling.at).toISOString(),
    ...(event.fleet === noFleet ? {} : { group: cut(shown(event.fleet), limit.source) }),
    class: cut(shown(event.facts.eventType), limit.source),
  }
}

function severityIn(telling: Delivery['telling']) {
  if (isAlertOf(telling)) return isTestOf(telling) ? ('info' as const) : ('warning' as const)
  return telling.moment === 'alert' ? ('error' as const) : severityOf(telling)
}

function channelIn({ about }: AlertTelling): string {
  if ('channel' in about) return about.channel
  return 'alert' in about ? about.alert : about.ping
}

/** What has the problem: a VM, a channel, a fleet or the relay. */
function sourceOf(telling: Delivery['telling']): string {
  if (isAlertOf(telling)) {
    return telling.event.fleet === noFleet ? 'Foghorn' : telling.event.fleet
  }
  if (telling.moment === 'alert') return channelIn(telling)
  return telling.event.facts.resources[0] ?? telling.event.fleet
}

function detailsOf({ message, delivery: { telling } }: Outgoing) {
  const { fleet, eventId } = telling.event
  const facts = message.facts.map(({ name, value }) => [name, linkless(value)])
  const which = [
    ...(fleet === noFleet ? [] : [['Fleet', shown(fleet)]]),
    ...(isAlertOf(telling) ? [] : [['Event', shown(eventId)]]),
  ]
  return Object.fromEntries([['In short', linkless(message.lines.join(' '))], ...facts, ...which])
}

/** PagerDuty turns text that looks like a link into one. */
function shown(text: string): string {
  return linkless(plain(text))
}

function linksTo(pageUrl: string, { message }: Outgoing) {
  const timeline = { href: `${pageUrl}#timeline`, text: 'Timeline' }
  return [{ href: pageUrl, text: buttonOf(message) }, timeline]
}
