// A person decides. Showing an event changes nothing; deciding is a compare-and-set on the event, so
// the second of two clicks is shown what the first one did.
import { type DecideOutcome, decide, stampOf } from './core/approval.ts'
import { nextLook } from './core/conclude.ts'
import { knownOf } from './core/drill.ts'
import type { Decider, EventRecord, Verdict } from './core/event.ts'
import { type Permission, permissionOf } from './core/permission.ts'
import { withHeard } from './core/witness.ts'
import { isExpired, type LinkToken, type ListToken, readToken } from './link.ts'
import { channelNamed, commitOf, maxCommitAttempts, type Relay } from './relay.ts'

export type Opened =
  | { outcome: 'open'; token: LinkToken; record: EventRecord }
  | { outcome: 'list'; token: ListToken }
  | { outcome: 'forged' | 'expired' | 'channel_gone' | 'unknown' }

/** Finds what a link is for. */
export async function open(relay: Relay, text: string): Promise<Opened> {
  const token = await readToken(relay.linkKeys, text)
  if (token === undefined) return { outcome: 'forged' }
  return openToken(relay, token)
}

/** The same of a token that is known to be ours. */
export async function openToken(
  relay: Relay,
  token: LinkToken | ListToken,
): Promise<Exclude<Opened, { outcome: 'forged' }>> {
  // whoever takes a channel out means that its people are asked no more
  if (channelNamed(relay, token.channel) === undefined) return { outcome: 'channel_gone' }
  if ('events' in token) {
    return { outcome: isExpired(token, undefined, relay.now()) ? 'expired' : 'list', token }
  }
  const record = await relay.store.readEvent(token)
  if (record === undefined) return { outcome: 'unknown' }
  if (isExpired(token, record, relay.now())) return { outcome: 'expired' }
  return { outcome: 'open', token, record }
}

export interface Wish {
  decision: Verdict['decision']
  by: Decider
  /** `stampOf` what the person saw; absent for whoever names the event itself. */
  seen?: string
}

export type Decided = {
  outcome: DecideOutcome['outcome'] | Exclude<Permission, 'allowed'> | 'moved_on' | 'busy'
  record: EventRecord
}

/**
 * Puts a decision on record, or says why not: it is too late, the decider may not, or the event is no
 * longer what was seen.
 */
export async function decideEvent(
  relay: Relay,
  shown: EventRecord,
  { decision, by, seen }: Wish,
): Promise<Decided> {
  let before = shown
  const { fleet, eventId } = shown
  for (let attempt = 0; attempt < maxCommitAttempts; attempt++) {
    const now = relay.now()
    const decided = decide(before, { decision, how: by.how, who: by.who, at: now })
    if (decided.outcome !== 'decided') return { outcome: decided.outcome, record: before }
    const observers = await relay.store.readObservers(shown)
    const permission = permissionOf(relay.config.routes, before, knownOf(before, observers), by)
    if (permission !== 'allowed') {
      relay.log.warn('decision_refused', { fleet, eventId, permission, ...by })
      return { outcome: permission, record: before }
    }
    if (seen !== undefined && seen !== stampOf(before)) {
      return { outcome: 'moved_on', record: before }
    }
    const { moments } = decided
    const dueAt = nextLook(decided.record, withHeard(before, observers), now)
    const record = { ...decided.record, dueAt }
    const existing = await relay.store.readDeliveries(shown)
    const commit = commitOf(relay, before, record, moments, { observers, existing, now })
    if ((await relay.store.commit(commit)) === 'committed') {
      relay.wake(commit.deliveries.length)
      relay.log.info('event_decided', { fleet, eventId, decision, ...by })
      return { outcome: 'decided', record: commit.record }
    }
    before = (await relay.store.readEvent(shown)) ?? before
  }
  return { outcome: 'busy', record: before }
}
