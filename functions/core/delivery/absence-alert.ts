// Alerts that last: about beacons that are not heard, and about troubles of the relay. The row of
// the alert lists what is absent or in trouble until that is over. So owners are notified once, also
// after a restart, and once of the end. An episode, and so an epoch, may have several messages.
import { cut } from '../../../shared/document.ts'
import type { Absence, AbsenceNews, Absent, Alert, LastingKind } from '../event/alert-row.ts'
import type { EventRecord } from '../event/event.ts'
import { withEnd } from '../event/event.ts'
import { viewOf } from '../event/view.ts'
import { alertRow, alertsTo, collectMs, quietMs } from './alert.ts'
import type { Delivery } from './delivery.ts'

/** Others wait until there is room. */
export const maxAbsent = 500
/** Names in one message. Channels show fewer. */
const maxVms = 50
/** Azure's names are no longer. A liar's must not exceed the row. */
const maxName = 64
export interface AbsenceChange {
  add: Omit<Absent, 'notified'>[]
  /** Ids of beacons that are no longer absent. */
  back: string[]
  left: string[]
  of?: number
  /** One sentence each, for the next message. */
  reasons?: string[]
}

export type AbsenceRow = EventRecord & { alert: Alert & { absence: Absence } }

export function isAbsence(record: EventRecord): record is AbsenceRow {
  return record.alert?.absence !== undefined
}

/** The row with this change, or `before` if nothing is new. */
export function withAbsence(
  before: EventRecord | undefined,
  fleet: string,
  kind: LastingKind,
  change: AbsenceChange,
  now: number,
): EventRecord | undefined {
  const isOpen = before !== undefined && before.ended === undefined && isAbsence(before)
  if (!isOpen && change.add.length === 0) return before
  const row = isOpen ? before : begun(before, fleet, kind, now)
  const known = row.alert.absence
  const removed = removeFrom(known, change, now)
  const added = addTo(removed, change.add)
  if (added.absent === known.absent) return before
  const of = change.of ?? known.of
  const { reasons = row.alert.reasons } = change
  const noted = { ...row, alert: { ...row.alert, reasons } }
  return settled(noted, { ...added, ...(of === undefined ? {} : { of }) }, now)
}

function begun(
  before: EventRecord | undefined,
  fleet: string,
  kind: LastingKind,
  now: number,
): AbsenceRow {
  const { notifiedAt = 0, overNotifiedAt = 0 } = before?.alert?.absence ?? {}
  // a time in the future is from before the clock was set back
  const isPast = (at: number) => at > 0 && at <= now
  const times = {
    ...(isPast(notifiedAt) && { notifiedAt }),
    ...(isPast(overNotifiedAt) && { overNotifiedAt }),
  }
  const absence: Absence = { absent: [], back: [], left: [], messages: 0, ...times }
  const alert = { kind, since: now, lastAt: now, vms: [], reasons: [], absence }
  return { ...alertRow(fleet, alert, before, now), alert }
}

/** If owners were not notified that it was back, its new absence is no news. */
function addTo(known: Absence, add: AbsenceChange['add']): Absence {
  const ids = new Set(known.absent.map(({ beacon }) => beacon))
  const room = Math.max(0, maxAbsent - known.absent.length)
  const fresh = add
    .filter(({ beacon }) => !ids.has(beacon))
    .slice(0, room)
    .map((one): Absent => ({ ...one, vm: cut(one.vm, maxName) }))
  if (fresh.length === 0) return known
  const wasBack = new Set(known.back.filter((vm) => fresh.some((one) => one.vm === vm)))
  const back = known.back.filter((vm) => !wasBack.has(vm))
  const noted = fresh.map((one) =>
    wasBack.has(one.vm) ? { ...one, notified: true as const } : one,
  )
  return withOver({ ...known, absent: [...known.absent, ...noted], back })
}

/** Nobody is notified of the end of an absence that nobody was notified of. */
function removeFrom(
  known: Absence,
  change: Pick<AbsenceChange, 'back' | 'left'>,
  now: number,
): Absence {
  const [isBack, hasLeft] = [new Set(change.back), new Set(change.left)]
  const isGone = ({ beacon }: Absent) => isBack.has(beacon) || hasLeft.has(beacon)
  const gone = known.absent.filter(isGone)
  if (gone.length === 0) return known
  const alerted = gone.filter((one) => one.notified)
  const namesIn = (ids: Set<string>) =>
    alerted.filter(({ beacon }) => ids.has(beacon)).map(({ vm }) => vm)
  const back = [...known.back, ...namesIn(isBack)]
  const left = [...known.left, ...namesIn(hasLeft)]
  const absent = known.absent.filter((one) => !isGone(one))
  return withOver({ ...known, absent, back, left, overSince: known.overSince ?? now })
}

/** Without `overSince` if no end is pending. */
function withOver({ overSince, ...rest }: Absence): Absence {
  const isEmpty = rest.back.length + rest.left.length === 0
  return isEmpty || overSince === undefined ? rest : { ...rest, overSince }
}

/** With the time of its next message. Ended if nobody is absent and nothing is pending. */
function settled(row: AbsenceRow, absence: Absence, now: number): EventRecord {
  const record = { ...row, alert: { ...row.alert, lastAt: now, absence } }
  const { absent, back, left } = absence
  if (absent.length + back.length + left.length === 0) {
    return withEnd(record, { at: now, outcome: 'completed' })
  }
  const at = Math.min(absentAt(absence), overAt(absence))
  const dueAt = at === Infinity ? undefined : Math.max(now + 1, at)
  return { ...record, dueAt } as EventRecord
}

/** When owners are notified of new absences. Infinity if there are none. */
function absentAt({ absent, notifiedAt = Number.NEGATIVE_INFINITY }: Absence): number {
  const from = absent.flatMap((one) => (one.notified ? [] : [one.from]))
  return Math.max(Math.min(...from), notifiedAt + quietMs)
}

/** When owners are notified of returns. Infinity if there are none. */
function overAt({ overSince, overNotifiedAt = Number.NEGATIVE_INFINITY }: Absence): number {
  return Math.max((overSince ?? Number.POSITIVE_INFINITY) + collectMs, overNotifiedAt + quietMs)
}

/** What a message said, for the log. */
export type SentNews = AbsenceNews & { vms: string[] }

interface Sent {
  record: EventRecord
  deliveries: Delivery[]
  /** Absent if no message was due. */
  news?: SentNews
}

/** Plans the message that is due, if one is, for each owner. `over` are no longer absent. */
export function sendAbsence(
  before: AbsenceRow,
  over: Pick<AbsenceChange, 'back' | 'left'>,
  owners: string[],
  now: number,
): Sent {
  const current = removeFrom(before.alert.absence, over, now)
  const due = absentAt(current) <= now ? ofAbsent(current, now) : ofOver(current, now)
  if (due === undefined) return { record: settled(before, current, now), deliveries: [] }
  const { news } = due
  const vms = due.vms.sort(byName)
  const sequence = before.sequence + 1
  const messages = current.messages + 1
  const record = settled(before, { ...due.absence, messages }, now)
  const { kind, since, lastAt, reasons } = record.alert!
  const alert = { kind, since, lastAt, reasons, vms: vms.slice(0, maxVms), news }
  const about = { alert: kind, episode: before.epoch, message: messages }
  const view = { ...viewOf({ ...record, sequence }), alert }
  return {
    record,
    deliveries: alertsTo(owners, view, about, now),
    news: { ...news, vms: alert.vms },
  }
}

/** `web_2` before `web_10`. */
function byName(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

/** What a message says, and the row after it. */
interface Due {
  absence: Absence
  vms: string[]
  news: AbsenceNews
}

function ofAbsent(absence: Absence, now: number): Due {
  const { absent, of } = absence
  const fresh = absent.filter((one) => !one.notified)
  return {
    absence: {
      ...absence,
      absent: absent.map((one) => ({ ...one, notified: true })),
      notifiedAt: now,
    },
    vms: fresh.map(({ vm }) => vm),
    news: {
      ...{ form: 'absent', count: fresh.length, remaining: absent.length, left: [] },
      since: Math.max(...fresh.map(({ since }) => since)),
      ...(of === undefined ? {} : { of }),
    },
  }
}

function ofOver(absence: Absence, now: number): Due | undefined {
  if (overAt(absence) > now) return undefined
  const { overSince: since = now, ...rest } = absence
  const { back, left, absent } = rest
  const news = { form: 'over' as const, count: back.length + left.length, since }
  return {
    absence: { ...rest, back: [], left: [], overNotifiedAt: now },
    vms: [...back],
    news: { ...news, remaining: absent.length, left: left.slice(0, maxVms) },
  }
}
