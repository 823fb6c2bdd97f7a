// A person decides. Showing an event changes nothing; deciding is a compare-and-set on the event, so
// the second of two clicks is shown what the first one did.
import { type DecideOutcome, decide } from './core/approval.ts'
import { nextLook } from './core/conclude.ts'
import type { EventRecord, Verdict } from './core/event.ts'
import { isExpired, type LinkToken, readToken } from './link.ts'
import { commitOf, maxCommitAttempts, type Relay } from './relay.ts'

export type Opened =
  | { outcome: 'open'; token: LinkToken; record: EventRecord }
  | { outcome: 'forged' | 'expired' | 'unknown' }

/** Finds the event that a link is for. */
export async function open(relay: Relay, text: string): Promise<Opened> {
  const token = await readToken(relay.linkKeys, text)
  if (token === undefined) return { outcome: 'forged' }
  const record = await relay.store.readEvent(token)
  if (record === undefined) return { outcome: 'unknown' }
  if (isExpired(token, record, relay.now())) return { outcome: 'expired' }
  return { outcome: 'open', token, record }
}

export type Decided = { outcome: DecideOutcome['outcome'] | 'busy'; record: EventRecord }

/** Puts a person's decision on record, or says why that is no longer possible. */
export async function decideByLink(
  relay: Relay,
  { token, record: shown }: Extract<Opened, { outcome: 'open' }>,
  decision: Verdict['decision'],
): Promise<Decided> {
  let before = shown
  for (let attempt = 0; attempt < maxCommitAttempts; attempt++) {
    const now = relay.now()
    const decided = decide(before, { decision, how: 'link', who: token.channel, at: now })
    if (decided.outcome !== 'decided') return { outcome: decided.outcome, record: before }
    const { fleet, eventId } = token
    const observers = await relay.store.readObservers(token)
    const { moments } = decided
    const record = { ...decided.record, dueAt: nextLook(decided.record, observers, now) }
    const existing = await relay.store.readDeliveries(token)
    const commit = commitOf(relay, before, record, moments, { observers, existing, now })
    if ((await relay.store.commit(commit)) === 'committed') {
      relay.wake(commit.deliveries.length)
      relay.log.info('event_decided', { fleet, eventId, decision, how: 'link', who: token.channel })
      return { outcome: 'decided', record: commit.record }
    }
    before = (await relay.store.readEvent(token)) ?? before
  }
  return { outcome: 'busy', record: before }
}
