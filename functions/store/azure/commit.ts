// Decides which rows and index entries a commit, a settlement or a replay changes. Pure: it works
// on the rows that were read.
import type { Settlement } from '../../core/delivery/attempt.ts'
import { type Delivery, subscriptionOf } from '../../core/delivery/delivery.ts'
import type { Commit } from '../store.ts'
import { forgetDeliveries } from './forget-deliveries.ts'
import { type Change, insertOrReplace, maxChanges } from './rows.ts'
import {
  deliveryRow,
  entryBody,
  eventBody,
  eventRow,
  type Held,
  type HeldEvent,
  hasFailed,
  isPending,
  momentRow,
  type StoredDelivery,
  type StoredEvent,
  toStored,
  viewOf,
} from './stored.ts'
import type { Entry, Index, Target } from './time-index.ts'

/** Entries are added before the rows are changed, and dropped after. */
export interface Writes {
  /** The first one changes the row that was decided on. No other writer writes the same content. */
  changes: Change[]
  add: { entry: Entry; target: Target }[]
  drop: Entry[]
}

/** `conflict`: the event has changed since the commit was decided. */
export function commitWrites(
  found: HeldEvent,
  { record, basedOn, deliveries, supersede, forget = [], moments, now }: Commit,
  index: Index,
): Writes | 'conflict' {
  const before = found.event
  if ((before?.stored.record.sequence ?? 0) !== basedOn) return 'conflict'
  const writes: Writes = { changes: [], add: [], drop: [] }
  writes.changes.push(eventChange(before, record, index, writes))
  const fresh = insertions(found, deliveries, index, writes)
  writes.changes.push(...fresh)
  for (const [place, moment] of moments.entries()) {
    const entry = index.unloggedAt(moment.telling.at, place)
    writes.add.push({ entry, target: { ...keyIn(record), id: moment.id } })
    const body = entryBody(moment, entry.row)
    writes.changes.push({ kind: 'put', row: momentRow(moment.id), body })
  }
  // if the transaction has no room, the delivery is superseded when its turn comes
  const room = maxChanges - writes.changes.length
  const overtaken = supersessions(found, supersede, now)
  const hurried = hurries(found, deliveries, now).filter(
    (one) => !overtaken.some(({ row }) => row === one.row),
  )
  for (const one of hurried.slice(0, room)) {
    writes.changes.push(moved(one, index, now, {}, writes))
  }
  for (const one of overtaken.slice(0, Math.max(0, room - hurried.length))) {
    const { note } = supersede.find(({ id }) => id === one.stored.delivery.id)!
    const delivery = { ...one.stored.delivery, state: 'superseded' as const, note }
    writes.changes.push(ended(one, { ...one.stored, delivery }, writes))
  }
  const forgotten = forgetDeliveries(found, forget, writes.changes)
  writes.changes.push(...forgotten.changes)
  writes.drop.push(...forgotten.drop)
  return writes
}

/** `lost`: the lease ended, or another claim has the delivery. */
export function settleWrites(
  found: HeldEvent,
  claimed: { id: string; lease: string },
  settlement: Settlement,
  now: number,
  follow: Delivery[],
  index: Index,
): Writes | 'lost' {
  const own = found.deliveries.find(({ stored }) => stored.delivery.id === claimed.id)
  const isMine = own?.stored.lease === claimed.lease && own.stored.delivery.nextAt > now
  if (own === undefined || !isMine || !isPending(own)) return 'lost'
  const { state, nextAt, note, unsent, alone, answered } = settlement
  const { delivery, alone: wasAlone } = own.stored
  const attempts = delivery.attempts - (unsent ? 1 : 0)
  const next = { ...delivery, state, nextAt, note, attempts, ...(answered && { answered }) }
  const stored: StoredDelivery = {
    ...own.stored,
    ...((alone || wasAlone) && { alone: true }),
    delivery: next,
    lease: undefined,
  }
  const writes: Writes = { changes: [], add: [], drop: [] }
  const { plannedAt, channel, fleet } = next
  if (state === 'pending') {
    writes.changes.push(replaced(own, stored, index.plannedAt(channel, fleet, nextAt), writes))
  } else if (state === 'refused' || state === 'given_up') {
    writes.changes.push(replaced(own, stored, index.failedAt(plannedAt), writes))
  } else {
    writes.changes.push(ended(own, stored, writes))
  }
  const behind = state === 'pending' ? undefined : nextBehind(found, next, now)
  if (behind !== undefined) writes.changes.push(moved(behind, index, now, {}, writes))
  writes.changes.push(...insertions(found, follow, index, writes))
  return writes
}

/** The next delivery of the same event. It becomes due now, so other events have their turn first. */
function nextBehind({ deliveries }: HeldEvent, ended: StoredDelivery['delivery'], now: number) {
  const next = deliveries.find((one) => {
    const { channel, seq } = one.stored.delivery
    return channel === ended.channel && seq > ended.seq && isPending(one)
  })
  if (next === undefined || next.stored.lease !== undefined) return undefined
  return next.stored.delivery.nextAt < now ? next : undefined
}

/** Undefined if the delivery did not fail, or is pending again. */
export function replayWrites(
  found: HeldEvent,
  id: string,
  now: number,
  index: Index,
): Writes | undefined {
  const own = found.deliveries.find(({ stored }) => stored.delivery.id === id)
  if (own === undefined || !hasFailed(own)) return undefined
  const writes: Writes = { changes: [], add: [], drop: [] }
  const again = {
    ...own,
    stored: { ...own.stored, ...historyFrom(own.stored, index, now, writes) },
  }
  writes.changes.push(moved(again, index, now, { state: 'pending', plannedAt: now }, writes))
  return writes
}

/** A replayed delivery is planned anew, so its list begins with it. */
function historyFrom(
  { delivery, history: before = [] }: StoredDelivery,
  index: Index,
  now: number,
  writes: Writes,
): Pick<StoredDelivery, 'history'> {
  const history = historyOf({ ...delivery, plannedAt: now }, index)
  if (history === undefined) return {}
  for (const entry of history) writes.add.push({ entry, target: targetOf(delivery) })
  writes.drop.push(...before)
  return { history }
}

function historyOf({ channel, plannedAt, seq }: Omit<Delivery, 'telling'>, index: Index) {
  const subscription = subscriptionOf(channel)
  return subscription === undefined ? undefined : index.historyAt(subscription, plannedAt, seq)
}

/** Adds a delivery to a subscription. */
export function additionWrites(delivery: Delivery, index: Index): Writes {
  const writes: Writes = { changes: [], add: [], drop: [] }
  const nothing = { event: undefined, deliveries: [], views: new Map() }
  writes.changes.push(...insertions(nothing, [delivery], index, writes))
  return writes
}

function eventChange(
  before: Held<StoredEvent> | undefined,
  record: Commit['record'],
  index: Index,
  writes: Writes,
): Change {
  const { fleet, eventId, dueAt, ended: end, firstSeenAt } = record
  const key = { fleet, eventId }
  const add = (entry: Entry): Entry => {
    writes.add.push({ entry, target: key })
    return entry
  }
  const old = before?.stored
  // lists show events, not alerts
  const lists = record.alert === undefined ? [undefined, fleet] : []
  const kept = <T>(
    now: T | undefined,
    was: T | undefined,
    had: Entry | undefined,
    make: () => Entry,
  ) => {
    if (now !== undefined && now === was) return had
    if (had !== undefined) writes.drop.push(had)
    return now === undefined ? undefined : add(make())
  }
  const stored: StoredEvent = {
    record,
    due: kept(dueAt, old?.record.dueAt, old?.due, () => index.dueAt(key, dueAt!)),
    ended: kept(end?.at, old?.record.ended?.at, old?.ended, () => index.endedAt(end!.at)),
    open: kept(openNameOf(record), old?.open && openNameOf(old.record), old?.open, () =>
      index.openOf(fleet, openNameOf(record)!),
    ),
    listed: old?.listed ?? lists.map((of) => add(index.listedAt(of, firstSeenAt))),
  }
  const body = eventBody(stored)
  return insertOrReplace(before, eventRow, body)
}

/** The name under which an open event is counted, or undefined if it does not count. */
function openNameOf({ ended, alert, onlyBeacon = '' }: Commit['record']): string | undefined {
  return ended === undefined && alert === undefined ? onlyBeacon : undefined
}

/** The rows of new deliveries, with their views. */
function insertions(
  found: HeldEvent,
  deliveries: Delivery[],
  index: Index,
  writes: Writes,
): Change[] {
  const known = new Set(found.deliveries.map(({ row }) => row))
  const views = new Map<string, Change>()
  const rows: Change[] = []
  for (const [place, delivery] of deliveries.entries()) {
    const row = deliveryRow(delivery.id)
    if (known.has(row)) continue
    known.add(row)
    const view = viewOf(delivery)
    views.set(view.row, { kind: 'put', ...view })
    const { channel, fleet, state, nextAt, plannedAt } = delivery
    const stored = toStored(delivery, view.row, place)
    if (state === 'pending') stored.entry = index.plannedAt(channel, fleet, nextAt)
    if (state === 'refused' || state === 'given_up') stored.entry = index.failedAt(plannedAt)
    const history = historyOf(delivery, index)
    if (history !== undefined) stored.history = history
    for (const entry of [...(stored.entry ? [stored.entry] : []), ...(history ?? [])]) {
      writes.add.push({ entry, target: targetOf(delivery) })
    }
    rows.push({ kind: 'insert', row, body: JSON.stringify(stored) })
  }
  return [...views.values(), ...rows]
}

/** Deliveries that wait after a failure become due at once if a newer one must follow them. */
function hurries(found: HeldEvent, deliveries: Delivery[], now: number) {
  const channels = new Set(deliveries.map(({ channel }) => channel))
  return found.deliveries.filter((one) => {
    const { lease, delivery } = one.stored
    const waits = isPending(one) && lease === undefined && delivery.nextAt > now
    return waits && channels.has(delivery.channel)
  })
}

function supersessions(found: HeldEvent, supersede: Commit['supersede'], now: number) {
  const ids = new Set(supersede.map(({ id }) => id))
  return found.deliveries.filter((one) => {
    const { lease, delivery } = one.stored
    const isFree = lease === undefined || delivery.nextAt <= now
    return isPending(one) && isFree && ids.has(delivery.id)
  })
}

/** Makes a delivery due at once, with a new index entry. */
function moved(
  one: Held<StoredDelivery>,
  index: Index,
  now: number,
  change: Partial<StoredDelivery['delivery']>,
  writes: Writes,
): Change {
  const delivery = { ...one.stored.delivery, ...change, nextAt: now }
  const entry = index.plannedAt(delivery.channel, delivery.fleet, now)
  return replaced(one, { ...one.stored, delivery }, entry, writes)
}

function replaced(
  { row, etag, stored: before }: Held<StoredDelivery>,
  stored: StoredDelivery,
  entry: Entry,
  writes: Writes,
): Change {
  if (before.entry) writes.drop.push(before.entry)
  writes.add.push({ entry, target: targetOf(stored.delivery) })
  return { kind: 'replace', row, etag, body: JSON.stringify({ ...stored, entry }) }
}

/** An ended delivery needs no index entry. */
function ended(
  { row, etag, stored: before }: Held<StoredDelivery>,
  stored: StoredDelivery,
  writes: Writes,
): Change {
  if (before.entry) writes.drop.push(before.entry)
  const body = JSON.stringify({ ...stored, lease: undefined, entry: undefined })
  return { kind: 'replace', row, etag, body }
}

function keyIn({ fleet, eventId }: Commit['record']): Target {
  return { fleet, eventId }
}

function targetOf(delivery: Omit<Delivery, 'telling'>): Target {
  const { fleet, eventId, id, channel, plannedAt } = delivery
  return { fleet, eventId, id, channel, plannedAt }
}
