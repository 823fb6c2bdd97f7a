// Alerts as rows of the store. They are noted where the cause occurs, and the sweep sends them.
import { messageOf } from '../shared/errors.ts'
import type { Config } from './config.ts'
import { alertId, type Occurrence, sendAlert, withOccurrence } from './core/alert.ts'
import type { Alert, EventRecord } from './core/event.ts'
import { channelNamed, maxCommitAttempts, type Relay } from './relay.ts'

/** Never throws. If an alert cannot be noted, it is logged: its cause will occur again. */
export async function raiseAlert(
  relay: Relay,
  fleet: string,
  occurrence: Occurrence,
): Promise<void> {
  try {
    await note(relay, fleet, occurrence)
  } catch (error) {
    relay.log.error('alert_failed', { fleet, kind: occurrence.kind, error: messageOf(error) })
  }
}

async function note(relay: Relay, fleet: string, occurrence: Occurrence): Promise<void> {
  const key = { fleet, eventId: alertId(occurrence.kind) }
  for (let attempt = 0; attempt < maxCommitAttempts; attempt++) {
    const now = relay.now()
    const before = await relay.store.readEvent(key)
    const next = withOccurrence(before, fleet, occurrence, now)
    if (next === undefined) return
    const basedOn = before?.sequence ?? 0
    const record = { ...next, sequence: basedOn + 1 }
    const commit = { record, basedOn, deliveries: [], supersede: [], now }
    if ((await relay.store.commit(commit)) === 'conflict') continue
    if (record.epoch !== before?.epoch) relay.wake(0)
    return
  }
}

/** Whether the row is an alert's. */
export function isAlert(record: EventRecord): record is EventRecord & { alert: Alert } {
  return record.alert !== undefined
}

/** Sends an alert that is due. `conflict`: read it again. */
export async function concludeAlert(
  relay: Relay,
  before: EventRecord & { alert: Alert },
): Promise<'committed' | 'conflict'> {
  const now = relay.now()
  if (before.dueAt === undefined || before.dueAt > now) return 'committed'
  const { fleet, alert } = before
  const owners = ownersOf(relay.config, fleet).filter((name) => channelNamed(relay, name))
  const { record, deliveries } = sendAlert(before, owners, now)
  const commit = { record, basedOn: before.sequence, deliveries, supersede: [], now }
  const outcome = await relay.store.commit(commit)
  if (outcome === 'conflict') return outcome
  const { kind, vms, reasons } = alert
  relay.log.warn('fleet_alert', { fleet, kind, vms, reasons, owners })
  relay.wake(deliveries.length)
  return outcome
}

/**
 * The channels for a fleet's alerts: the fleet's own owners, else those of the whole configuration.
 */
export function ownersOf({ fleets, owners = [] }: Config, fleet: string): string[] {
  const own = Object.hasOwn(fleets, fleet) ? fleets[fleet]!.owners : undefined
  return [...new Set(own ?? owners)]
}
