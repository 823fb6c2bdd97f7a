// Alerts as rows of the store. Code that finds a cause notes it, and the sweep sends the alert.
import { messageOf } from '../../shared/errors.ts'
import {
  type AbsenceChange,
  isAbsence,
  type SentNews,
  sendAbsence,
  withAbsence,
} from '../core/delivery/absence-alert.ts'
import { alertId, type Occurrence, sendAlert, withOccurrence } from '../core/delivery/alert.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { Decision } from '../core/event/decision.ts'
import type { AbsenceKind, Alert, EventRecord } from '../core/event/event.ts'
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
    decide: (before, _, now) => {
      const record = withOccurrence(before, fleet, occurrence, now) ?? before
      return { record, moments: [], reason: 'occurred', deliveries: [] }
    },
  })
}

/** Notes who is absent, and who is no longer. Returns the row. Throws if that is not stored. */
export async function noteAbsence(
  relay: Relay,
  fleet: string,
  kind: AbsenceKind,
  change: AbsenceChange,
): Promise<EventRecord | undefined> {
  const { outcome, record } = await commitEvent(
    relay,
    { fleet, eventId: alertId(kind) },
    {
      decide: (before, _, now) => {
        const record = withAbsence(before, fleet, kind, change, now)
        return { record, moments: [], reason: 'noted', deliveries: [] }
      },
    },
  )
  if (outcome === 'busy')
    throw new Error(`too many workers write alerts of fleet "${fleet}" at once`)
  return record
}

export function isAlert(record: EventRecord): record is EventRecord & { alert: Alert } {
  return record.alert !== undefined
}

type Sending = Decision & { deliveries: Delivery[]; news?: SentNews }

/** Sends an alert that is due. */
export async function concludeAlert(
  relay: Relay,
  first: EventRecord & { alert: Alert },
): Promise<void> {
  const { fleet } = first
  const owners = ownersOf(relay.config, fleet).filter((name) => channelNamed(relay, name))
  const committed = await commitEvent(relay, first, {
    first,
    decide: (before, _, now): Sending => {
      const isDue = before !== undefined && isAlert(before) && (before.dueAt ?? now + 1) <= now
      if (!isDue) return { record: before, moments: [], reason: 'not_due', deliveries: [] }
      const sent = isAbsence(before)
        ? sendAbsence(before, owners, now)
        : sendAlert(before, owners, now)
      return { ...sent, moments: [], reason: 'due' }
    },
  })
  if (committed.outcome !== 'committed') return
  if (isAbsence(first)) return logAbsence(relay, first, committed.decision.news, owners)
  // another worker may have added reasons after `first` was read
  const { kind, vms, reasons } = committed.record?.alert ?? first.alert
  relay.log.warn('fleet_alert', { fleet, kind, vms, reasons, owners })
}

function logAbsence(
  { log }: Relay,
  { fleet, alert: { kind } }: EventRecord & { alert: Alert },
  news: SentNews | undefined,
  owners: string[],
): void {
  if (news === undefined) return
  const { form, vms, count, remaining, left } = news
  const fields = { fleet, kind, form, count, remaining, vms, left, owners }
  if (form === 'absent') log.warn('beacons_absent', fields)
  else log.info('beacons_back', fields)
}

/** The channels for a fleet's alerts: the fleet's own owners, else those of the configuration. */
export function ownersOf({ fleets, owners = [] }: Config, fleet: string): string[] {
  const own = Object.hasOwn(fleets, fleet) ? fleets[fleet]!.owners : undefined
  return [...new Set(own ?? owners)]
}
