// Alerts that last, as rows of the store. The code that finds an absence, a trouble or its end notes
// it, and the sweep sends what is due.

import { alertId } from '../core/delivery/alert.ts'
import { type Delivery, noFleet } from '../core/delivery/delivery.ts'
import {
  isLasting,
  type LastingChange,
  type LastingRow,
  type SentNews,
  sendLasting,
  withLasting,
} from '../core/delivery/lasting-alert.ts'
import type { LastingKind } from '../core/event/alert-row.ts'
import type { Decision } from '../core/event/decide.ts'
import type { EventRecord } from '../core/event/event.ts'
import { isBack } from '../core/event/silence.ts'
import { commitEvent } from './commit-event.ts'
import { audienceNow, ownersNow } from './raise-alert.ts'
import type { Relay } from './relay.ts'

/** Notes what begins and what is over. Returns the row. Throws if that is not stored. */
export async function noteLasting(
  relay: Relay,
  fleet: string,
  kind: LastingKind,
  change: LastingChange,
): Promise<EventRecord | undefined> {
  const key = { fleet, eventId: alertId(kind) }
  const { outcome, record } = await commitEvent(relay, key, {
    decide: (before, now) => {
      const record = withLasting(before, fleet, kind, change, now)
      return { record, moments: [], reason: 'noted', deliveries: [] }
    },
  })
  if (outcome !== 'busy') return record
  throw new Error(`too many workers write alerts of fleet "${fleet}" at once`)
}

type Sending = Decision & { deliveries: Delivery[]; news?: SentNews }

/** Sends what is due of an alert. */
export async function concludeLasting(relay: Relay, first: LastingRow): Promise<void> {
  const { fleet } = first
  const owners = ownersNow(relay, fleet)
  const over = await noLongerSilent(relay, first)
  const committed = await commitEvent(relay, first, {
    first,
    load: () => relay.store.readDeliveries(first),
    decide: (before, now, deliveries): Sending => {
      const isDue = before !== undefined && isLasting(before) && (before.dueAt ?? now + 1) <= now
      if (!isDue) return { record: before, moments: [], reason: 'not_due', deliveries: [] }
      const audience = audienceNow(relay, before, deliveries)
      return { ...sendLasting(before, over, audience, now), moments: [], reason: 'due' }
    },
  })
  const { news } = committed.outcome === 'committed' ? committed.decision : {}
  if (news !== undefined) logNews(relay, first, news, owners)
}

/** Corrects the alert about silent beacons of a fleet, if it names one that is not silent. */
export async function checkSilent(relay: Relay, fleet: string): Promise<void> {
  const row = await relay.store.readEvent({ fleet, eventId: alertId('beacons_silent') })
  if (row === undefined || row.ended !== undefined || !isLasting(row)) return
  await noteLasting(relay, fleet, 'beacons_silent', {
    add: [],
    ...(await noLongerSilent(relay, row)),
  })
}

/**
 * Looks at each beacon of the alert: a report may have come while its silence was noted, and the
 * relay may have forgotten the beacon.
 */
async function noLongerSilent(
  { store }: Relay,
  { fleet, alert: { kind, lasting } }: LastingRow,
): Promise<Pick<LastingChange, 'back' | 'left'>> {
  const [back, left]: [string[], string[]] = [[], []]
  if (kind !== 'beacons_silent') return { back, left }
  for (const { id } of lasting.items) {
    const beacon = await store.readBeacon(fleet, id)
    if (beacon === undefined || beacon.left !== undefined) left.push(id)
    else if (beacon.silence === undefined || isBack(beacon)) back.push(id)
  }
  return { back, left }
}

function logNews(
  { log }: Relay,
  { fleet, alert: { kind, reasons } }: LastingRow,
  { form, vms, count, remaining, left }: SentNews,
  owners: string[],
): void {
  if (fleet === noFleet) {
    const channels = [...vms, ...left].filter(Boolean)
    const what = { kind, ...(channels.length > 0 && { channels }) }
    if (form === 'begun') log.warn('relay_troubled', { ...what, reasons, owners })
    else log.info('relay_recovered', { ...what, owners })
    return
  }
  const fields = { fleet, kind, form, count, remaining, vms, left, owners }
  if (form === 'begun') log.warn('beacons_absent', fields)
  else log.info('beacons_back', fields)
}
