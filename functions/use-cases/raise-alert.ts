// Alerts as rows of the store. Code that finds a cause notes it, and the sweep sends the alert.
import { messageOf } from '../../shared/errors.ts'
import {
  type AlertAudience,
  alertAudience,
  alertId,
  type Occurrence,
  planAlert,
  withOccurrence,
} from '../core/delivery/alert.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { Alert } from '../core/event/alert-row.ts'
import type { Decision } from '../core/event/decide.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { Config } from '../core/rules/config.ts'
import { commitEvent } from './commit-event.ts'
import { channelNamed, type Relay } from './relay.ts'

/** Never throws. If the store fails, logging is enough: the cause will occur again. */
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
  await commitEvent(relay, key, {
    decide: (before, now) => {
      const record = withOccurrence(before, fleet, occurrence, now) ?? before
      return { record, moments: [], reason: 'occurred', deliveries: [] }
    },
  })
}

export function isAlert(record: EventRecord): record is EventRecord & { alert: Alert } {
  return record.alert !== undefined
}

type Sending = Decision & { deliveries: Delivery[] }

/** Sends an alert that is due. */
export async function concludeAlert(
  relay: Relay,
  first: EventRecord & { alert: Alert },
): Promise<void> {
  const { fleet } = first
  const owners = ownersNow(relay, fleet)
  const committed = await commitEvent(relay, first, {
    first,
    load: () => relay.store.readDeliveries(first),
    decide: (before, now, deliveries): Sending => {
      const isDue = before !== undefined && isAlert(before) && (before.dueAt ?? now + 1) <= now
      if (!isDue) return { record: before, moments: [], reason: 'not_due', deliveries: [] }
      const audience = audienceNow(relay, before, deliveries)
      return { ...planAlert(before, audience, now), moments: [], reason: 'due' }
    },
  })
  if (committed.outcome !== 'committed') return
  // another worker may have added reasons after `first` was read
  const { kind, vms, reasons } = committed.record?.alert ?? first.alert
  const isOver = first.alert.sentAt !== undefined
  if (!isOver) relay.log.warn('fleet_alert', { fleet, kind, vms, reasons, owners })
  else if (committed.record?.ended) relay.log.info('fleet_alert_over', { fleet, kind, owners })
}

/** The channels for a fleet's alerts: the fleet's own owners, else those of the configuration. */
export function ownersOf({ fleets, owners = [] }: Config, fleet: string): string[] {
  const own = Object.hasOwn(fleets, fleet) ? fleets[fleet]!.owners : undefined
  return [...new Set(own ?? owners)]
}

/** Those that the configuration still has as channels. */
export function ownersNow(relay: Relay, fleet: string): string[] {
  return ownersOf(relay.config, fleet).filter((name) => channelNamed(relay, name))
}

/** Who gets the messages of this row. `deliveries`: all of the row. */
export function audienceNow(relay: Relay, row: EventRecord, deliveries: Delivery[]): AlertAudience {
  const { owners, heard } = alertAudience(ownersNow(relay, row.fleet), row, deliveries)
  return { owners, heard: heard.filter((name) => channelNamed(relay, name)) }
}
