// Builds the body of a report from what the beacon knows now: no body is sent twice. Its surprise:
// an item that does not fit waits for the next report, and a document that does not fit is sent
// without descriptions, or not.
import { limits, type ScheduledEvent } from '../shared/document.ts'
import {
  type Change,
  type Goodbye,
  maxReportBytes,
  type Report,
  type Start,
  type Vm,
} from '../shared/report.ts'
import type { Pending } from './spool.ts'
import type { Snapshot } from './watch.ts'

/** The highest age or uptime that the schema of a report accepts. */
const longestAgeMs = 366 * 86_400_000

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
  /** How much of the document fits: all, all but descriptions, or nothing (then it is null). */
  document: 'whole' | 'bare' | 'left_out'
}

/**
 * Includes the document and as many of the oldest items as fit into `maxBytes`. If no item would
 * fit, the document is reduced, so that items never wait for ever. If the oldest item alone does
 * not fit, returns its sequence.
 */
export function buildReport(facts: Facts, maxBytes = maxReportBytes): BuiltReport | number {
  const items = facts.pending.map((pending) => ({ ...pending, text: textOf(pending) }))
  for (const form of ['whole', 'bare', 'left_out'] as const) {
    const report = headOf(facts, form)
    const budget = maxBytes - Buffer.byteLength(JSON.stringify(report))
    const count = fitting(items, budget)
    const tooLarge = items.length > 0 ? count === 0 : budget < 0 && form !== 'left_out'
    if (tooLarge) continue
    const taken = items.slice(0, count)
    const starts = taken.filter(({ item }) => item.kind === 'start').map(({ text }) => text)
    const changes = taken.filter(({ item }) => item.kind !== 'start').map(({ text }) => text)
    return {
      body: joined(report, changes, starts),
      included: taken.map(({ sequence }) => sequence),
      more: count < items.length,
      document: form,
    }
  }
  return facts.pending[0]?.sequence ?? 0
}

function headOf(facts: Facts, form: BuiltReport['document']): Omit<Report, 'changes' | 'starts'> {
  const { vm, beacon, document, hooks, goodbye, waitMs, now } = facts
  const uptimeMs = clampAge(beacon.uptimeMs)
  const own = { ...beacon, uptimeMs }
  const head = { version: 1 as const, vm, beacon: own, hooks, goodbye, waitMs }
  if (document === undefined || form === 'left_out') return { ...head, document: null }
  const { seenAt, apiVersion, incarnation, events, kept, unreadable } = document
  return {
    ...head,
    document: {
      ...{ ageMs: clampAge(now - seenAt), incarnation, apiVersion },
      events: form === 'whole' ? [...events] : events.map(withoutDescription),
      unreadable: unreadable.count,
      hidden: kept.map(({ event }) => event.eventId),
    },
  }
}

function withoutDescription({ description: _, ...event }: ScheduledEvent): ScheduledEvent {
  return event
}

/** The JSON of the whole report, without serialising each item again. */
function joined(head: object, changes: string[], starts: string[]): string {
  const text = JSON.stringify(head).slice(0, -1)
  return `${text},"changes":[${changes.join(',')}],"starts":[${starts.join(',')}]}`
}

const frameBytes = ',"changes":[],"starts":[]'.length

function fitting(items: readonly { item: Pending['item']; text: string }[], bytes: number): number {
  let left = bytes - frameBytes
  let starts = 0
  const end = items.findIndex(({ item, text }) => {
    left -= Buffer.byteLength(text) + 1
    if (item.kind === 'start') starts += 1
    return left < 0 || starts > limits.events
  })
  return end === -1 ? items.length : end
}

function textOf(pending: Pending): string {
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

function clampAge(ms: number): number {
  return Math.min(longestAgeMs, Math.max(0, Math.round(ms)))
}
