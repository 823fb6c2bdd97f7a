// A person decides. Showing an event changes nothing. A decision is a compare-and-set on the event:
// the second of two clicks sees the result of the first.
import { messageOf } from '../../shared/errors.ts'
import { decideByPerson, type PersonDecision, type Wish } from '../core/event/decide-by-person.ts'
import { knownVms } from '../core/event/drill.ts'
import type { EventRecord } from '../core/event/event.ts'
import { toView } from '../core/event/view.ts'
import { compose } from '../core/message/message.ts'
import { asksFor } from '../core/message/step.ts'
import { isListed } from '../core/rules/permission.ts'
import { isExpired, type LinkToken, type ListToken, pageLink, readToken } from '../links/link.ts'
import type { DeadPress, Press, PressOutcome, Reply } from '../notify/presses.ts'
import { commitEvent } from './commit-event.ts'
import { decidesHere, readButtonSupport, readValue, waysToDecide } from './decision-buttons.ts'
import { channelNamed, type Relay } from './relay.ts'

export type Opened =
  | { outcome: 'open'; token: LinkToken; record: EventRecord }
  | { outcome: 'list'; token: ListToken }
  | { outcome: 'forged' | 'expired' | 'channel_gone' | 'unknown' }

/** Finds the event or the list that a link names. */
export async function open(relay: Relay, text: string): Promise<Opened> {
  const token = await readToken(relay.credentials.linkKeys, text)
  if (token === undefined) return { outcome: 'forged' }
  return openToken(relay, token)
}

/** Finds the event or the list that a token names. The token's signature was checked. */
export async function openToken(
  relay: Relay,
  token: LinkToken | ListToken,
): Promise<Exclude<Opened, { outcome: 'forged' }>> {
  // if an owner removes a channel, the people in it must not decide any more
  if (channelNamed(relay, token.channel) === undefined) return { outcome: 'channel_gone' }
  if ('events' in token) {
    return { outcome: isExpired(token, undefined, relay.now()) ? 'expired' : 'list', token }
  }
  const record = await relay.store.readEvent(token)
  if (record === undefined) return { outcome: 'unknown' }
  if (isExpired(token, record, relay.now())) return { outcome: 'expired' }
  return { outcome: 'open', token, record }
}

export type Decided = {
  outcome: PersonDecision['outcome'] | 'busy'
  record: EventRecord
}

/** Records a decision, or returns why it cannot be recorded. */
export async function decideEvent(relay: Relay, shown: EventRecord, wish: Wish): Promise<Decided> {
  const { config, listeningSince } = relay
  const { decision, by } = wish
  const { fleet, eventId } = shown
  const committed = await commitEvent(relay, shown, {
    known: shown,
    decide: (before, now) =>
      decideByPerson(before ?? shown, wish, config.routes, { now, listeningSince }),
    log: { event: 'event_decided', fields: () => ({ decision, ...by }) },
  })
  if (committed.outcome === 'busy') return { outcome: 'busy', record: committed.record ?? shown }
  const { record = shown, decision: decided } = committed
  if (decided.permission !== undefined) {
    relay.log.warn('decision_refused', { fleet, eventId, permission: decided.permission, ...by })
  }
  return { outcome: decided.outcome, record }
}

interface Answer {
  /** Undefined if a delivery will edit the message anyway. */
  reply: Reply | undefined
  /** The channel that the button was sent to. */
  channel: string | undefined
}

/** A person pressed a button in a message. Never throws. */
export function decidePress(relay: Relay, pressed: Press): Promise<Answer> {
  return decide(relay, pressed).catch((error) => {
    relay.log.error('press_failed', { error: messageOf(error) })
    return { reply: { dead: 'failed' }, channel: undefined }
  })
}

async function decide(relay: Relay, pressed: Press): Promise<Answer> {
  const { by, decision, value } = pressed
  const carried = readValue(value)
  if (carried === undefined) return deadPress(relay, 'forged')
  const opened = await open(relay, carried.token)
  if (opened.outcome !== 'open') return deadPress(relay, opened.outcome)
  const { token, record } = opened
  const { channel } = token
  const refused = (why: PressOutcome, about: EventRecord): Answer => {
    return { reply: { refused: why, record: about, by }, channel }
  }
  const barred = barredFrom(relay, pressed, record, channel)
  if (barred !== undefined) {
    const { fleet, eventId } = record
    relay.log.warn('press_refused', { reason: barred, fleet, eventId, channel, ...by })
    return refused(barred, record)
  }
  const decided = await decideEvent(relay, record, { decision, by, seen: carried.stamp })
  if (decided.outcome !== 'decided') return refused(decided.outcome, decided.record)
  return { reply: await replacementFor(relay, decided.record, decision, channel), channel }
}

function deadPress(relay: Relay, reason: DeadPress | 'list'): Answer {
  relay.log.warn('press_refused', { reason })
  // buttons of the relay never carry a list
  return { reply: { dead: reason === 'list' ? 'forged' : reason }, channel: undefined }
}

/** Checks the person's workspace and the channel. `decideEvent` checks the approvers. */
function barredFrom(
  relay: Relay,
  { by, team }: Press,
  record: EventRecord,
  channel: string,
): 'outsider' | 'not_here' | undefined {
  const support = readButtonSupport(relay, channel)
  // a button belongs to its service
  if (support === undefined || support.how !== by.how) return 'not_here'
  const homes = support.listHomes(channelNamed(relay, channel)!, relay.config)
  // a shared channel has members of other companies: they decide only if a route lists them
  const named = () => isListed(relay.config.routes, record, knownVms(record), by)
  if (!homes.includes(team) && !named()) return 'outsider'
  return decidesHere(relay, record, channel) ? undefined : 'not_here'
}

/**
 * The text that replaces the message and names the decider. If a route notifies this channel of the
 * decision, some kinds edit the message with that delivery. Other kinds send a new message, and the
 * pressed one becomes one line.
 */
async function replacementFor(
  relay: Relay,
  record: EventRecord,
  decision: Press['decision'],
  channel: string,
): Promise<Reply | undefined> {
  const planned = await relay.store.readDeliveries(record)
  const hasOwn = planned.some(
    ({ channel: name, notification }) =>
      name === channel &&
      notification.moment === decision &&
      notification.event.epoch === record.epoch &&
      notification.event.decided?.at === record.decided?.at,
  )
  if (hasOwn && readButtonSupport(relay, channel)?.isEdited) return undefined
  const now = relay.now()
  const pageUrl = await pageLink(relay, { ...record, channel }, now)
  if (hasOwn) return { decided: record, pageUrl }
  const event = toView(record)
  const notification = { moment: decision, at: now, event }
  if (!asksFor(event, now)) return { shown: { message: compose(notification, now), notification } }
  // after "not now" a person can still approve the event
  const { buttons, askers } = await waysToDecide(relay, record, event, channel)
  const message = compose(notification, now, [], askers)
  return { shown: { message, notification, pageUrl, ...(buttons && { buttons }) } }
}
