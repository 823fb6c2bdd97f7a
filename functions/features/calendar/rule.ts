// Maintenance as a calendar that programs subscribe to: RFC 5545 and, for the hints how often to
// read it, RFC 7986. An entry keeps its UID for the life of the event, and its SEQUENCE grows with
// each change.
import { linkless, visible } from '../../../shared/presentable.ts'
import { type EventRecord, isOpen } from '../../core/event/event.ts'
import { toView } from '../../core/event/view.ts'
import { drillMark } from '../../core/message/message.ts'
import {
  describeDecided,
  describeImpact,
  describeNames,
  describeSubject,
} from '../../core/message/phrases.ts'
import { dayMs, minuteMs } from '../../core/units.ts'

/** Shown for an event whose duration is unknown or short: calendars hide shorter entries. */
const leastMs = 15 * minuteMs
/** The entry of a running event ends at least this long after now: the next read extends it. */
const stillMs = 15 * minuteMs
/** How long a cancelled event stays in the calendar, so that programs read that it was cancelled. */
const cancelledMs = 7 * dayMs
/** Octets of a line, without its end. */
const maxLine = 75
const refresh = 'PT15M'

/** Whether the calendar has the event: it is open, or it was cancelled lately. */
export function isInCalendar(record: EventRecord, now: number): boolean {
  if (isOpen(record)) return true
  return record.ended.outcome === 'cancelled' && now - record.ended.at < cancelledMs
}

/** An event in the calendar, and what its place is by. */
export interface CalendarEntry {
  begin: number
  eventId: string
  text: string
}

/** The order of entries. */
export function byBegin(a: CalendarEntry, b: CalendarEntry): number {
  return a.begin - b.begin || (a.eventId < b.eventId ? -1 : 1)
}

/** `entries`: their texts. */
export function calendarText(entries: string[]): string {
  const head = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Foghorn//Maintenance//EN',
    'METHOD:PUBLISH',
    'NAME:Azure maintenance',
    'X-WR-CALNAME:Azure maintenance',
    `REFRESH-INTERVAL;VALUE=DURATION:${refresh}`,
    `X-PUBLISHED-TTL:${refresh}`,
  ]
  return [composeLines(head), ...entries, composeLines(['END:VCALENDAR'])].join('')
}

/** `publicUrl`: the address of the relay, which the entry leads to. */
export function calendarEntry(record: EventRecord, publicUrl: string, now: number): CalendarEntry {
  const text = composeLines(composeEntry(record, publicUrl, now))
  return { begin: findBegin(record), eventId: record.eventId, text }
}

function composeLines(lines: string[]): string {
  return lines.map((line) => `${folded(line)}\r\n`).join('')
}

function composeEntry(record: EventRecord, publicUrl: string, now: number): string[] {
  const { fleet, eventId, sequence, facts } = record
  const view = toView(record)
  // programs that ignore the status would show it as still to come
  const mark = record.ended === undefined ? '' : 'Cancelled: '
  const changedAt = record.history.at(-1)?.at ?? record.firstSeenAt
  return [
    'BEGIN:VEVENT',
    `UID:${text(`${eventId}@${fleet}.foghorn`)}`,
    `SEQUENCE:${sequence}`,
    `DTSTAMP:${utc(changedAt)}`,
    `LAST-MODIFIED:${utc(changedAt)}`,
    `DTSTART:${utc(findBegin(record))}`,
    `DTEND:${utc(findEnd(record, now))}`,
    `SUMMARY:${text(`${mark}${drillMark(view)}${describeSubject(view)} (${fleet})`)}`,
    `DESCRIPTION:${text(describe(record).join('\n'))}`,
    `CATEGORIES:${text(facts.eventType)}`,
    `STATUS:${chooseStatus(record)}`,
    // do not mark people as busy
    'TRANSP:TRANSPARENT',
    `URL:${publicUrl}/console`,
    'END:VEVENT',
  ]
}

function chooseStatus({ ended, decided, started }: EventRecord): string {
  if (ended !== undefined) return 'CANCELLED'
  return started !== undefined || decided?.decision === 'approved' ? 'CONFIRMED' : 'TENTATIVE'
}

function findBegin({ started, facts: { notBeforeAt }, firstSeenAt }: EventRecord): number {
  return started?.at ?? notBeforeAt ?? firstSeenAt
}

function findEnd(record: EventRecord, now: number): number {
  const { durationSeconds = 0 } = record.facts
  const end = findBegin(record) + Math.max(durationSeconds * 1_000, leastMs)
  const isRunning = isOpen(record) && record.phase === 'started'
  return isRunning ? Math.max(end, now + stillMs) : end
}

function describe(record: EventRecord): string[] {
  const { decided, phase, ended, facts, drill } = record
  const over = drill ? 'The drill is over.' : 'Azure no longer lists it.'
  const known = facts.durationSeconds !== undefined && facts.durationSeconds >= 0
  return [
    describeImpact(toView(record)),
    ...(ended === undefined ? [describeDecision(phase, decided)] : [over]),
    `VMs: ${describeNames(facts.resources, facts.vmCount)}`,
    ...(known ? [] : ['Azure does not say how long it takes.']),
    ...(facts.description ? [`Azure says: ${facts.description}`] : []),
  ]
}

function describeDecision(phase: EventRecord['phase'], decided: EventRecord['decided']): string {
  if (phase === 'started') return 'It is running.'
  if (decided === undefined) return 'Nobody has decided yet. Azure may start it at this time.'
  return `Decision: ${describeDecided(decided)}.`
}

/** `20261121T121500Z` */
function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
}

/** Escapes a text. Names from outside may contain line breaks, invisible characters and links. */
function text(value: string): string {
  const lines = value.split('\n').map((line) => linkless(visible(line)))
  return lines
    .join('\n')
    .replace(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n')
}

/** Continues a long line in the next one, which begins with a blank. Cuts no character in two. */
function folded(line: string): string {
  const parts: string[] = []
  let part = ''
  let length = 0
  for (const character of line) {
    const bytes = new TextEncoder().encode(character).length
    if (length + bytes > maxLine) {
      parts.push(part)
      part = ' '
      length = 1
    }
    part += character
    length += bytes
  }
  return [...parts, part].join('\r\n')
}
