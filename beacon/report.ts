// Builds the body of a report from what the beacon knows now: no body is sent twice. An item that
// does not fit waits for the next report. If the document does not fit, it is sent without
// descriptions, and then without the events that do not fit.
import { hitsFirst, limits, type ScheduledEvent } from '../shared/document.ts'
import {
  type Change,
  clampAge,
  type Goodbye,
  maxReportBytes,
  type Report,
  type Start,
  type Vm,
} from '../shared/report.ts'
import type { Pending } from './spool.ts'
import type { Snapshot } from './watch.ts'

export interface Facts {
  vm: Vm
  beacon: Report['beacon']
  document: Omit<Snapshot, 'known'> | undefined
  pending: readonly Pending[]
  /** Undefined if no runner of hooks is set up. */
  hooks?: Report['hooks']
  /** Only in the last report. */
  goodbye?: Goodbye | undefined
  /** How long the relay may hold its answer. */
  waitMs?: number | undefined
  /** Monotonic ms. */
  now: number
}

export interface BuiltReport {
  body: string
  /** Sequences of the items inside, oldest first. */
  included: number[]
  /** Whether items wait for the next report. */
  more: boolean
  /** How many events of the document did not fit. */
  leftOut: number
}

/** A report with its document, but without changes and starts. */
type Head = Omit<Report, 'changes' | 'starts'>

interface Item extends Pending {
  text: string
}

/**
 * Includes the document and as many of the oldest items as fit into `maxBytes`. If no item would
 * fit, the document is reduced, so that items never wait for ever. If the oldest item alone does
 * not fit, returns its sequence.
 */
export function buildReport(facts: Facts, maxBytes = maxReportBytes): BuiltReport | number {
  const items = facts.pending.map((pending) => ({ ...pending, text: writeReport(pending) }))
  const whole = buildHead(facts)
  const total = whole.document?.events.length ?? 0
  const heads = [
    () => whole,
    () => reduced(whole, maxBytes - takeHalf(items, maxBytes)),
    () => ({ ...whole, document: null }),
  ]
  for (const head of heads) {
    const report = head()
    const room = maxBytes - countBytes(report) - frameBytes
    const count = fitting(items, room)
    const isTooLarge = items.length > 0 ? count === 0 : room < 0 && report.document !== null
    if (isTooLarge) continue
    const included = items.slice(0, count).map(({ sequence }) => sequence)
    const leftOut = total - (report.document?.events.length ?? 0)
    return {
      body: joined(report, items.slice(0, count)),
      included,
      more: count < items.length,
      leftOut,
    }
  }
  return facts.pending[0]?.sequence ?? 0
}

function buildHead({ vm, beacon, document, hooks, goodbye, waitMs, now }: Facts): Head {
  const own = { ...beacon, uptimeMs: clampAge(beacon.uptimeMs) }
  const head = { version: 1 as const, vm, beacon: own, hooks, goodbye, waitMs }
  if (document === undefined) return { ...head, document: null }
  const { seenAt, apiVersion, incarnation, events, hidden, unreadable } = document
  return {
    ...head,
    document: {
      ageMs: clampAge(now - seenAt),
      incarnation,
      apiVersion,
      events: [...events],
      unreadable: unreadable.count,
      hidden: hidden.map(({ event }) => event.eventId),
    },
  }
}

/** Has no descriptions, and as many events as fit. Those that hit this VM come first. */
function reduced(whole: Head, maxBytes: number): Head {
  const { document, vm } = whole
  if (document === null) return whole
  const ids = document.events.map(({ eventId }) => eventId)
  const without = { ...document, events: [], hidden: [...document.hidden, ...ids] }
  let left = maxBytes - countBytes({ ...whole, document: without }) - frameBytes
  const events = hitsFirst(document.events, vm.name)
    .map(withoutDescription)
    .filter((event) => {
      const bytes = countBytes(event) - countBytes(event.eventId)
      if (bytes > left) return false
      left -= bytes
      return true
    })
  const shown = new Set(events.map(({ eventId }) => eventId))
  const hidden = without.hidden.filter((eventId) => !shown.has(eventId))
  return { ...whole, document: { ...document, events, hidden } }
}

/** The bytes of the oldest items, up to half of a report, but at least of one. */
function takeHalf(items: readonly Item[], maxBytes: number): number {
  const count = Math.max(1, fitting(items, maxBytes / 2))
  return items.slice(0, count).reduce((sum, { text }) => sum + itemBytes(text), 0)
}

function withoutDescription({ description: _, ...event }: ScheduledEvent): ScheduledEvent {
  return event
}

/** The JSON of the whole report, without serialising each item again. */
function joined(head: Head, items: readonly Item[]): string {
  const text = JSON.stringify(head).slice(0, -1)
  const starts = items.filter(({ item }) => item.kind === 'start').map((one) => one.text)
  const changes = items.filter(({ item }) => item.kind !== 'start').map((one) => one.text)
  return `${text},"changes":[${changes.join(',')}],"starts":[${starts.join(',')}]}`
}

const frameBytes = ',"changes":[],"starts":[]'.length

function countBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Bytes of an item with its comma. */
function itemBytes(text: string): number {
  return Buffer.byteLength(text) + 1
}

/** How many of the oldest items. */
function fitting(items: readonly Item[], bytes: number): number {
  let left = bytes
  let starts = 0
  const end = items.findIndex(({ item, text }) => {
    left -= itemBytes(text)
    if (item.kind === 'start') starts += 1
    return left < 0 || starts > limits.events
  })
  return end === -1 ? items.length : end
}

function writeReport(pending: Pending): string {
  const { item } = pending
  const ageMs = clampAge(pending.ageMs())
  if (item.kind === 'start') {
    const { kind: _, ...start } = item
    return JSON.stringify({ ...start, ageMs } satisfies Start)
  }
  const lastSeenAgeMs = pending.lastSeenAgeMs()
  const lastSeen = lastSeenAgeMs === undefined ? {} : { lastSeenAgeMs: clampAge(lastSeenAgeMs) }
  return JSON.stringify({ ...item, ageMs, ...lastSeen } satisfies Change)
}
