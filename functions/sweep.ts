// Draws the conclusions that time brings: settled, vm gone, stuck, lost. No request need ever come.
import { messageOf } from '../shared/errors.ts'
import { concludeAlert, isAlert } from './alert.ts'
import { conclude } from './core/conclude.ts'
import type { Moment } from './core/event.ts'
import { remindersOf } from './core/policy.ts'
import { heardSince, withHeard } from './core/witness.ts'
import { commitOf, maxCommitAttempts, type Relay } from './relay.ts'
import type { EventKey } from './store/store.ts'

const maxEventsPerSweep = 200
/** Where the store is slow, what is left waits for the next sweep: sending waits for this one. */
const maxSweepMs = 30_000

/**
 * Looks at the events whose due time has come, as many as time allows. One that fails is logged and stays due; it stops no
 * other. Returns how many failed.
 */
export async function sweep(relay: Relay): Promise<number> {
  const from = relay.now()
  const due = await relay.store.dueEvents(from, maxEventsPerSweep)
  let failed = 0
  for (const key of due) {
    if (relay.now() - from >= maxSweepMs) break
    try {
      await concludeOne(relay, key)
    } catch (error) {
      failed += 1
      relay.log.error('conclusion_failed', { ...key, error: messageOf(error) })
    }
  }
  return failed
}

async function concludeOne(relay: Relay, key: EventKey): Promise<void> {
  for (let attempt = 0; attempt < maxCommitAttempts; attempt++) {
    const now = relay.now()
    const before = await relay.store.readEvent(key)
    if (before === undefined) return
    if (isAlert(before)) {
      if ((await concludeAlert(relay, before)) === 'conflict') continue
      return
    }
    const observers = await relay.store.readObservers(key)
    const witnesses = heardSince(withHeard(before, observers), relay.listeningSince)
    const reminders = remindersOf(relay.config.routes)
    const { record, moments, changed } = conclude(before, witnesses, now, reminders)
    if (!changed) return
    const existing = moments.length === 0 ? [] : await relay.store.readDeliveries(key)
    const commit = commitOf(relay, before, record, moments, { observers, existing, now })
    if ((await relay.store.commit(commit)) === 'conflict') continue
    relay.wake(commit.deliveries.length)
    if (commit.deliveries.length > 0 || record.ended) {
      logConclusion(relay, key, moments, record.ended?.inferred)
    }
    return
  }
}

function logConclusion(relay: Relay, key: EventKey, moments: Moment[], inferred?: string): void {
  if (moments.length === 0) return
  relay.log.info('event_concluded', { ...key, moments, ...(inferred ? { inferred } : {}) })
}
