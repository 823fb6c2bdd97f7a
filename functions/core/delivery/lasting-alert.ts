// Alerts that last: about beacons that are not heard, and about troubles of the relay. The row of
// the alert lists them as items until that is over. So owners are notified once, also
// after a restart, and once of the end. An episode, and so an epoch, may have several messages.
import { cut } from '../../../shared/document.ts'
import type { Alert, Lasting, LastingItem, LastingKind, LastingNews } from '../event/alert-row.ts'
import type { EventRecord } from '../event/event.ts'
import { withEnd } from '../event/event.ts'
import { viewOf } from '../event/view.ts'
import {
  type AlertAudience,
  alertRow,
  alertsTo,
  audienceOfOver,
  collectMs,
  quietMs,
} from './alert.ts'
import type { Delivery } from './delivery.ts'

/** Others wait until there is room. */
export const maxItems = 500
/** Names in one message. Channels show fewer. */
const maxVms = 50
/** Azure's names are at most this long. A longer, invented name must not overflow the row. */
const maxName = 64
export interface LastingChange {
  add: Omit<LastingItem, 'notified'>[]
  /** Ids of items that are over. */
  back: string[]
  left: string[]
  of?: number
  /** One sentence each, for the next message. */
  reasons?: string[]
}

export type LastingRow = EventRecord & { alert: Alert & { lasting: Lasting } }

export function isLasting(record: EventRecord): record is LastingRow {
  return record.alert?.lasting !== undefined
}

/** The row with this change, or `before` if nothing is new. */
export function withLasting(
  before: EventRecord | undefined,
  fleet: string,
  kind: LastingKind,
  change: LastingChange,
  now: number,
): EventRecord | undefined {
  const isOpen = before !== undefined && before.ended === undefined && isLasting(before)
  if (!isOpen && change.add.length === 0) return before
  const row = isOpen ? before : begun(before, fleet, kind, now)
  const known = row.alert.lasting
  const removed = removeFrom(known, change, now)
  const added = addTo(removed, change.add)
  if (added.items === known.items) return before
  const of = change.of ?? known.of
  const { reasons = row.alert.reasons } = change
  const noted = { ...row, alert: { ...row.alert, reasons } }
  return withNextMessage(noted, { ...added, ...(of === undefined ? {} : { of }) }, now)
}

function begun(
  before: EventRecord | undefined,
  fleet: string,
  kind: LastingKind,
  now: number,
): LastingRow {
  const { notifiedAt = 0, overNotifiedAt = 0 } = before?.alert?.lasting ?? {}
  // a time in the future is from before the clock was set back
  const isPast = (at: number) => at > 0 && at <= now
  const times = {
    ...(isPast(notifiedAt) && { notifiedAt }),
    ...(isPast(overNotifiedAt) && { overNotifiedAt }),
  }
  const lasting: Lasting = { items: [], back: [], left: [], messages: 0, ...times }
  const alert = { kind, since: now, lastAt: now, vms: [], reasons: [], lasting }
  return { ...alertRow(fleet, alert, before, now), alert }
}

/** If owners were not notified that it was back, its return to the list is no news. */
function addTo(known: Lasting, add: LastingChange['add']): Lasting {
  const ids = new Set(known.items.map(({ id }) => id))
  const room = Math.max(0, maxItems - known.items.length)
  const fresh = add
    .filter(({ id }) => !ids.has(id))
    .slice(0, room)
    .map((one): LastingItem => ({ ...one, name: cut(one.name, maxName) }))
  if (fresh.length === 0) return known
  const wasBack = new Set(known.back.filter((back) => fresh.some(({ name }) => name === back)))
  const back = known.back.filter((name) => !wasBack.has(name))
  const noted = fresh.map((one) =>
    wasBack.has(one.name) ? { ...one, notified: true as const } : one,
  )
  return withOver({ ...known, items: [...known.items, ...noted], back })
}

/** Nobody is notified of the end of an item that nobody was notified of. */
function removeFrom(
  known: Lasting,
  change: Pick<LastingChange, 'back' | 'left'>,
  now: number,
): Lasting {
  const [isBack, hasLeft] = [new Set(change.back), new Set(change.left)]
  const isGone = ({ id }: LastingItem) => isBack.has(id) || hasLeft.has(id)
  const gone = known.items.filter(isGone)
  if (gone.length === 0) return known
  const alerted = gone.filter((one) => one.notified)
  const namesIn = (ids: Set<string>) =>
    alerted.filter(({ id }) => ids.has(id)).map(({ name }) => name)
  const back = [...known.back, ...namesIn(isBack)]
  const left = [...known.left, ...namesIn(hasLeft)]
  const items = known.items.filter((one) => !isGone(one))
  return withOver({ ...known, items, back, left, overSince: known.overSince ?? now })
}

/** Without `overSince` if no end is pending. */
function withOver({ overSince, ...rest }: Lasting): Lasting {
  const isEmpty = rest.back.length + rest.left.length === 0
  return isEmpty || overSince === undefined ? rest : { ...rest, overSince }
}

/** With the time of its next message. Ended if no item is left and nothing is pending. */
function withNextMessage(row: LastingRow, lasting: Lasting, now: number): EventRecord {
  const record = { ...row, alert: { ...row.alert, lastAt: now, lasting } }
  const { items, back, left } = lasting
  if (items.length + back.length + left.length === 0) {
    return withEnd(record, { at: now, outcome: 'completed' })
  }
  const at = Math.min(begunAt(lasting), overAt(lasting))
  const dueAt = at === Infinity ? undefined : Math.max(now + 1, at)
  return { ...record, dueAt } as EventRecord
}

/** When owners are notified of new items. Infinity if there are none. */
function begunAt({ items, notifiedAt = Number.NEGATIVE_INFINITY }: Lasting): number {
  const from = items.flatMap((one) => (one.notified ? [] : [one.from]))
  return Math.max(Math.min(...from), notifiedAt + quietMs)
}

/** When owners are notified of returns. Infinity if there are none. */
function overAt({ overSince, overNotifiedAt = Number.NEGATIVE_INFINITY }: Lasting): number {
  return Math.max((overSince ?? Number.POSITIVE_INFINITY) + collectMs, overNotifiedAt + quietMs)
}

/** What a message said, for the log. */
export type SentNews = LastingNews & { vms: string[] }

interface Sent {
  record: EventRecord
  deliveries: Delivery[]
  /** Absent if no message was due. */
  news?: SentNews
}

/** Plans the message that is due, if one is. `over`: items that are over. */
export function sendLasting(
  before: LastingRow,
  over: Pick<LastingChange, 'back' | 'left'>,
  audience: AlertAudience,
  now: number,
): Sent {
  const current = removeFrom(before.alert.lasting, over, now)
  const due = begunAt(current) <= now ? ofBegun(current, now) : ofOver(current, now)
  if (due === undefined) return { record: withNextMessage(before, current, now), deliveries: [] }
  const { news } = due
  const vms = due.vms.sort(byName)
  const sequence = before.sequence + 1
  const messages = current.messages + 1
  const record = withNextMessage(before, { ...due.lasting, messages }, now)
  const { kind, since, lastAt, reasons } = record.alert!
  const alert = { kind, since, lastAt, reasons, vms: vms.slice(0, maxVms), news }
  const about = { alert: kind, episode: before.epoch, message: messages }
  const view = { ...viewOf({ ...record, sequence }), alert }
  return {
    record,
    deliveries: alertsTo(
      news.form === 'over' ? audienceOfOver(audience) : audience.owners,
      view,
      about,
      now,
    ),
    news: { ...news, vms: alert.vms },
  }
}

/** `web_2` before `web_10`. */
function byName(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

/** What a message says, and the row after it. */
interface Due {
  lasting: Lasting
  vms: string[]
  news: LastingNews
}

function ofBegun(lasting: Lasting, now: number): Due {
  const { items, of } = lasting
  const fresh = items.filter((one) => !one.notified)
  return {
    lasting: {
      ...lasting,
      items: items.map((one) => ({ ...one, notified: true })),
      notifiedAt: now,
    },
    vms: fresh.map(({ name }) => name),
    news: {
      form: 'begun',
      count: fresh.length,
      remaining: items.length,
      left: [],
      since: Math.max(...fresh.map(({ since }) => since)),
      ...(of === undefined ? {} : { of }),
    },
  }
}

function ofOver(lasting: Lasting, now: number): Due | undefined {
  if (overAt(lasting) > now) return undefined
  const { overSince: since = now, ...rest } = lasting
  const { back, left, items } = rest
  const news = { form: 'over' as const, count: back.length + left.length, since }
  return {
    lasting: { ...rest, back: [], left: [], overNotifiedAt: now },
    vms: [...back],
    news: { ...news, remaining: items.length, left: left.slice(0, maxVms) },
  }
}
