// Incidents, for services that have them: which ones a message opens, acknowledges or resolves, their
// keys and severity. Each epoch of an event has one incident: triggered, acknowledged by a decision,
// resolved at the end. A trigger on an acknowledged incident notifies nobody, so a stuck approval and
// the question after an expired approval are separate incidents.
import { cut } from '../../shared/text.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertNotification,
  channelTroubleIn,
  type Delivery,
  isAlertAbout,
  isAlertOver,
  isTestFor,
  type Notification,
  tellsOfEvent,
} from '../core/delivery/delivery.ts'
import { type Action, chooseAction, unsticks } from '../core/delivery/incident.ts'
import { lastExpiry } from '../core/event/event.ts'
import { hash } from '../core/hash.ts'
import { chooseSeverity, type Severity } from '../core/rules/severity.ts'
import type { Outgoing } from './notifier.ts'

/** PagerDuty limits keys to this length: developer.pagerduty.com/docs/events-api-v2. Others allow more. */
const maxKeyLength = 255

/** A message of an alert resolves this many earlier incidents. Each of those resolved the ones before. */
const maxReplaced = 5

/** An action, and the key of its incident. */
export interface Step {
  key: string
  action: Action
}

/** Sends one step after the other. The first is what the message is about. */
export async function sendSteps(
  [first, ...others]: Step[],
  send: (step: Step) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  if (first === undefined) return { outcome: 'superseded', note: 'the incident stays as it is' }
  const told = await send(first)
  if (told.outcome !== 'delivered') return told
  for (const step of others) {
    const outcome = await send(step)
    // The next attempt repeats the steps that were delivered, which changes nothing. If the service
    // refuses to resolve an earlier incident, the end of the event tries it again.
    const isLeft = outcome.outcome === 'refused' && first.action !== 'resolve'
    if (outcome.outcome !== 'delivered' && !isLeft) return outcome
  }
  return told
}

/**
 * Acknowledges or resolves only incidents that may be open. A trigger without an answer may have
 * opened one, even if a proxy refused the connection. Services ignore a step for an unknown
 * incident, while an incident that stays open would page somebody. The message's own incident comes
 * first: if the service refuses it, the earlier one stays open.
 */
export function listSteps({ delivery: { notification }, mayHaveHeard }: Outgoing): Step[] {
  if (!tellsOfEvent(notification)) return stepsOfAlert(notification, mayHaveHeard)
  const heard = mayHaveHeard.filter(tellsOfEvent)
  if (notification.moment === 'stuck')
    return [{ key: buildStuckKey(notification), action: 'trigger' }]
  const action = chooseAction(notification)
  const known = openedBy(heard)
  const own = action === 'trigger' ? openedBy([...heard, notification]).at(-1) : known.at(-1)
  // People are asked again after they acknowledged an earlier incident.
  const isAnew = own !== undefined && known.length > 0 && !known.includes(own)
  const stuck = heard.filter(({ moment }) => moment === 'stuck').map(buildStuckKey)
  const over = [
    ...(unsticks(notification) || isAnew ? stuck : []),
    ...(isAnew ? known : []),
    ...(action === 'resolve' ? known : []),
  ]
  return [
    ...(own === undefined || action === 'resolve' ? [] : [{ key: own, action }]),
    ...[...new Set(over)].map((key): Step => ({ key, action: 'resolve' })),
  ]
}

/** If more beacons fall silent, people may have acknowledged the first incident, so it is replaced. */
function stepsOfAlert(
  notification: AlertNotification,
  mayHaveHeard: Delivery['notification'][],
): Step[] {
  const key = buildKey(notification)
  const trigger: Step = { key, action: 'trigger' }
  const resolve: Step = { key, action: 'resolve' }
  // a test leaves no incident open
  if (isTestFor(notification)) return [trigger, resolve]
  const news = isAlertAbout(notification) ? notification.about.news : undefined
  // the incident stays open for those that are still absent
  if (news?.form === 'over' && news.remaining > 0) return []
  // the incident of an event stays as it is
  const begun = mayHaveHeard.filter((one) => isAlertAbout(one) && !isAlertOver(one))
  const known = new Set(inOrder(begun).slice(-maxReplaced).map(buildKey))
  // the message that opened the last one may be forgotten by now
  if (news?.begunBy !== undefined && isAlertAbout(notification)) {
    known.add(
      buildKey({ ...notification, about: { ...notification.about, message: news.begunBy } }),
    )
  }
  known.delete(key)
  const over = [...known].map((key): Step => ({ key, action: 'resolve' }))
  return news?.form === 'over' ? over : [trigger, ...over]
}

/**
 * Keys of the incidents that these steps opened, the newest last. A step after a decision belongs
 * to the open incident. If people are asked again after an approval expired, they get a new
 * incident.
 */
function openedBy(notifications: Notification[]): string[] {
  const keys: string[] = []
  for (const notification of inOrder(notifications)) {
    if (notification.moment === 'stuck' || chooseAction(notification) !== 'trigger') continue
    // If a rule approves, nobody has to act.
    const { decided, policy } = notification.event
    const isDecided = decided !== undefined || policy.decide === 'approve'
    keys.push(isDecided ? (keys.at(-1) ?? buildEventKey(notification)) : buildKey(notification))
  }
  return [...new Set(keys)]
}

function inOrder<One extends Delivery['notification']>(notifications: One[]): One[] {
  return notifications.toSorted((one, other) => one.event.sequence - other.event.sequence)
}

/**
 * Every action on one incident has the same key. If a rule waited in vain, people get an incident of
 * their own: the first one asked nobody to act. Each trouble of a channel gets an incident of its own,
 * too, because nobody may have resolved the last one.
 */
function buildKey(notification: Delivery['notification']): string {
  if (isAlertAbout(notification)) {
    const { alert, episode, message } = notification.about
    const { fleet, eventId } = notification.event
    const which = message === 1 ? '' : `/${message}`
    return `foghorn/alert/${fleet}/${isTestFor(notification) ? eventId : alert}/${episode}${which}`
  }
  if (!tellsOfEvent(notification)) {
    const which = channelTroubleIn(notification) === undefined ? '' : `/${notification.at}`
    return `foghorn/channel/${channelIn(notification)}${which}`
  }
  const { wait } = notification.event
  const expiredAt = lastExpiry(notification.event)
  const anew = expiredAt === undefined ? '' : `/anew-${hash(String(expiredAt))}`
  const asked = wait.notReady === undefined ? '' : `/asked-${hash(String(wait.notReady.at))}`
  return buildEventKey(notification) + anew + asked
}

function buildStuckKey(notification: Notification): string {
  return `${buildKey(notification)}/stuck`
}

function buildEventKey({ event: { fleet, eventId, epoch } }: Notification): string {
  return `foghorn/${fleet}/${eventId}/${epoch}`
}

export function severityIn(notification: Delivery['notification']): Severity {
  if (isAlertAbout(notification)) return isTestFor(notification) ? 'info' : 'warning'
  return tellsOfEvent(notification) ? chooseSeverity(notification) : 'error'
}

/** The key as the service gets it. */
export function fitting(key: string): string {
  if (key.length <= maxKeyLength) return key
  return `${cut(key, maxKeyLength - 65)}/${hash(key)}`
}

/** All messages about one event, or one alert, have the same key. */
export function buildStoryKey(notification: Delivery['notification']): string {
  return tellsOfEvent(notification) ? buildEventKey(notification) : buildKey(notification)
}

export function channelIn({ about }: AlertNotification): string {
  if ('channel' in about) return about.channel
  return 'alert' in about ? about.alert : about.ping
}
