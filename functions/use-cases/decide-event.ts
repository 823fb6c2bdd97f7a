// A person decides. Showing an event changes nothing. A decision is a compare-and-set on the event:
// the second of two clicks sees the result of the first.

import { decideByPerson, type PersonDecision, type Wish } from '../core/event/decide-by-person.ts'
import type { EventRecord } from '../core/event/event.ts'
import { isExpired, type LinkToken, type ListToken, readToken } from '../links/link.ts'
import { commitEvent } from './commit-event.ts'
import { channelNamed, type Relay } from './relay.ts'

export type Opened =
  | { outcome: 'open'; token: LinkToken; record: EventRecord }
  | { outcome: 'list'; token: ListToken }
  | { outcome: 'forged' | 'expired' | 'channel_gone' | 'unknown' }

/** Finds the event or the list that a link names. */
export async function open(relay: Relay, text: string): Promise<Opened> {
  const token = await readToken(relay.linkKeys, text)
  if (token === undefined) return { outcome: 'forged' }
  return openToken(relay, token)
}

/** As `open`, for a token whose signature was checked. */
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
  outcome: PersonDecision['reason'] | 'busy'
  record: EventRecord
}

/** Records a decision, or returns why it cannot be recorded. */
export async function decideEvent(relay: Relay, shown: EventRecord, wish: Wish): Promise<Decided> {
  const { config, listeningSince } = relay
  const { decision, by } = wish
  const { fleet, eventId } = shown
  const committed = await commitEvent(relay, shown, {
    first: shown,
    decide: (before, now) =>
      decideByPerson(before ?? shown, wish, config.routes, { now, listeningSince }),
    log: { event: 'event_decided', fields: () => ({ decision, ...by }) },
  })
  if (committed.outcome === 'busy') return { outcome: 'busy', record: committed.record ?? shown }
  const { record = shown, decision: decided } = committed
  if (decided.permission !== undefined) {
    relay.log.warn('decision_refused', { fleet, eventId, permission: decided.permission, ...by })
  }
  return { outcome: decided.reason, record }
}
