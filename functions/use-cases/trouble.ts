// If something is wrong with Foghorn itself, features hear of it here. They tell the owners.
import { messageOf } from '../../shared/errors.ts'
import { hearers } from '../features/hearers.ts'
import type { Trouble } from './hearer.ts'
import type { Relay } from './relay.ts'

/** Throws if that is not stored. */
export async function noteTrouble(relay: Relay, fleet: string, trouble: Trouble): Promise<void> {
  for (const { occurred } of hearers) await occurred(relay, fleet, trouble)
}

/** Logs a failure: what is wrong occurs again. */
export async function raiseTrouble(relay: Relay, fleet: string, trouble: Trouble): Promise<void> {
  try {
    await noteTrouble(relay, fleet, trouble)
  } catch (error) {
    relay.log.error('alert_failed', { fleet, kind: trouble.kind, error: messageOf(error) })
  }
}

/** A channel fell into trouble, or is well again. */
export async function noteHealthChange(relay: Relay): Promise<void> {
  for (const { healthChanged } of hearers) await healthChanged(relay)
}
