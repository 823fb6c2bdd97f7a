// Alerts about beacons that are not heard: silent ones, and expected ones that never reported. The
// row of the alert lists them until they are back. So each absence is told once, also after a
// restart, and so is its end. An episode, and so an epoch, may have several messages.
import { cut } from '../../../shared/document.ts'
import type {
  Absence,
  AbsenceKind,
  AbsenceNews,
  Absent,
  Alert,
  EventRecord,
} from '../event/event.ts'
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
/** A beacon that was silent for a week is forgotten, and nobody would tell that it is back. */
const forgottenMs = 8 * 86_400_000

export interface AbsenceChange {
  add: Omit<Absent, 'told'>[]
  /** Ids of beacons that are no longer absent. */
  back: string[]
  left: string[]
  of?: number
}

type Row = EventRecord & { alert: Alert & { absence: Absence } }

export function isAbsence(record: EventRecord): record is Row {
  return record.alert?.absence !== undefined
}

/** The row with this change, or `before` if nothing is new. */
export function withAbsence(
  before: EventRecord | undefined,
  fleet: string,
  kind: AbsenceKind,
  change: AbsenceChange,
  now: number,
): EventRecord | undefined {
  const isOpen = before !== undefined && before.ended === undefined && isAbsence(before)
  if (!isOpen && change.add.length === 0) return before
  const row = isOpen ? before : begun(before, fleet, kind, now)
  const known = row.alert.absence
  const removed = removeFrom(known, change, now)
  const absent = [...removed.absent, ...newIn(removed.absent, change.add)]
  const isNews =
    absent.length !== known.absent.length || removed.absent.length < known.absent.length
  if (!isNews) return before
  const of = change.of ?? known.of
  return settled(row, { ...removed, absent, ...(of === undefined ? {} : { of }) }, now)
}

function begun(
  before: EventRecord | undefined,
  fleet: string,
  kind: AbsenceKind,
  now: number,
): Row {
  const { toldAt, overToldAt } = before?.alert?.absence ?? {}
  const times = { ...(toldAt && { toldAt }), ...(overToldAt && { overToldAt }) }
  const absence: Absence = { absent: [], back: [], left: [], messages: 0, ...times }
  const alert = { kind, since: now, lastAt: now, vms: [], reasons: [], absence }
  return { ...alertRow(fleet, alert, before, now), alert }
}

function newIn(known: Absent[], add: AbsenceChange['add']): Absent[] {
  const ids = new Set(known.map(({ beacon }) => beacon))
  const fresh = add.filter(({ beacon }) => !ids.has(beacon))
  const room = Math.max(0, maxAbsent - known.length)
  return fresh.slice(0, room).map((one) => ({ ...one, vm: cut(one.vm, maxName) }))
}

/** Whoever was not told as absent is removed without a word. */
function removeFrom(known: Absence, change: Pick<AbsenceChange, 'back' | 'left'>, now: number) {
  const [isBack, hasLeft] = [new Set(change.back), new Set(change.left)]
  const told = known.absent.filter((one) => one.told)
  const namesIn = (ids: Set<string>) =>
    told.filter(({ beacon }) => ids.has(beacon)).map(({ vm }) => vm)
  const back = [...known.back, ...namesIn(isBack)]
  const left = [...known.left, ...namesIn(hasLeft)]
  const absent = known.absent.filter(({ beacon }) => !isBack.has(beacon) && !hasLeft.has(beacon))
  const begins = known.overSince === undefined && back.length + left.length > 0
  return { ...known, absent, back, left, ...(begins && { overSince: now }) }
}

/** With the time of its next message. Ended if nobody is absent and nothing is left to tell. */
function settled(row: Row, absence: Absence, now: number): EventRecord {
  const record = { ...row, alert: { ...row.alert, lastAt: now, absence } }
  const { absent, back, left } = absence
  if (absent.length + back.length + left.length === 0) {
    return withEnd(record, { at: now, outcome: 'completed' })
  }
  const at = Math.min(
    absentAt(absence),
    overAt(absence),
    ...forgottenIn(record.alert).map(forgetAt),
  )
  const dueAt = at === Number.POSITIVE_INFINITY ? undefined : Math.max(now + 1, at)
  return { ...record, dueAt } as EventRecord
}

/** Beacons that the relay will forget, so that no report can end their absence. */
function forgottenIn({ kind, absence }: Row['alert']): Absent[] {
  return kind === 'beacons_silent' ? absence.absent : []
}

function forgetAt({ since }: Absent): number {
  return since + forgottenMs
}

/** When owners are notified of new absences. Infinity if there are none. */
function absentAt({ absent, toldAt = Number.NEGATIVE_INFINITY }: Absence): number {
  const from = absent.flatMap((one) => (one.told ? [] : [one.from]))
  return Math.max(Math.min(...from), toldAt + quietMs)
}

/** When owners are notified of returns. Infinity if there are none. */
function overAt({ overSince, overToldAt = Number.NEGATIVE_INFINITY }: Absence): number {
  return Math.max((overSince ?? Number.POSITIVE_INFINITY) + collectMs, overToldAt + quietMs)
}

/** What a message said, for the log. */
export type SentNews = AbsenceNews & { vms: string[] }

interface Sent {
  record: EventRecord
  deliveries: Delivery[]
  /** Absent if there was nothing to tell. */
  news?: SentNews
}

/** Plans the message that is due, if one is, for each owner. */
export function sendAbsence(before: Row, owners: string[], now: number): Sent {
  const { absence } = before.alert
  const forgotten = forgottenIn(before.alert).filter((one) => forgetAt(one) <= now)
  const left = forgotten.map(({ beacon }) => beacon)
  const current = removeFrom(absence, { back: [], left }, now)
  const told = absentAt(current) <= now ? tellAbsent(current, now) : tellOver(current, now)
  if (told === undefined) return { record: settled(before, current, now), deliveries: [] }
  const { news } = told
  const vms = told.vms.sort(byName)
  const sequence = before.sequence + 1
  const messages = current.messages + 1
  const record = settled(before, { ...told.absence, messages }, now)
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

interface Told {
  absence: Absence
  vms: string[]
  news: AbsenceNews
}

function tellAbsent(absence: Absence, now: number): Told {
  const { absent, of } = absence
  const fresh = absent.filter((one) => !one.told)
  return {
    absence: { ...absence, absent: absent.map((one) => ({ ...one, told: true })), toldAt: now },
    vms: fresh.map(({ vm }) => vm),
    news: {
      ...{ form: 'absent', count: fresh.length, remaining: absent.length, left: [] },
      since: Math.max(...fresh.map(({ since }) => since)),
      ...(of === undefined ? {} : { of }),
    },
  }
}

function tellOver(absence: Absence, now: number): Told | undefined {
  if (overAt(absence) > now) return undefined
  const { overSince: since = now, ...rest } = absence
  const { back, left, absent } = rest
  const news = { form: 'over' as const, count: back.length + left.length, since }
  return {
    absence: { ...rest, back: [], left: [], overToldAt: now },
    vms: [...back],
    news: { ...news, remaining: absent.length, left: left.slice(0, maxVms) },
  }
}
