// Messages owed to channels: which ones a commit plans, and when one is tried again or given up.
// The id says what is told to whom, so planning the same message twice is a no-op.
import { backoffMs } from '../../shared/retry.ts'
import type { EventRecord, Moment } from './event.ts'

export const deliveryLeaseMs = 20_000
export const attemptMs = 15_000
/** Attempts stop this long after the message was planned. */
export const giveUpMs = 24 * 3_600_000
/** Dense retries where no NotBefore says how long an answer still matters. */
export const urgentMs = 15 * 60_000
export const maxAttempts = 1_000

const dense = { baseMs: 1_000, capMs: 15_000 }
const sparse = { baseMs: 60_000, capMs: 3_600_000 }
/** Days ahead of the deadline an attempt every few seconds helps nobody. */
const attemptsPerTimeLeft = 60

export type DeliveryState = 'pending' | 'delivered' | 'refused' | 'superseded' | 'given_up'

/** What is told: the event as it was when the moment came. A repeated attempt tells the same. */
export interface Telling {
  moment: Moment
  at: number
  event: EventView
}

/** Trouble with a channel, told on its fallback. */
export interface Notice {
  moment: 'notice'
  at: number
  event: EventView
  about: { channel: string; moment: Delivery['telling']['moment']; state: string; reason: string }
}

/** The part of a record that a message may need. */
export type EventView = Omit<EventRecord, 'watchers' | 'history' | 'dueAt' | 'directive'>

export interface Delivery {
  /** `fleet/eventId/epoch/moment/channel`, each part percent-encoded; also the idempotency key. */
  id: string
  fleet: string
  eventId: string
  channel: string
  /** Order within the event: a later message of a channel waits for an earlier one. */
  seq: number
  createdAt: number
  urgentUntil: number
  telling: Telling | Notice
  state: DeliveryState
  attempts: number
  nextAt: number
  /** What came of the last attempt, without any secret. */
  note: string
}

export interface Claimed extends Delivery {
  /** Settling needs it; another claim makes it worthless. */
  lease: string
  /** From then on somebody else may have it. */
  leaseUntil: number
}

export type SendOutcome =
  | { outcome: 'delivered'; note: string }
  | { outcome: 'retry'; note: string; retryAfterMs?: number }
  | { outcome: 'refused'; note: string }
  | { outcome: 'superseded'; note: string }

export interface Settlement {
  state: DeliveryState
  nextAt: number
  note: string
}

const seqPerCommit = 64

/** One delivery for each moment and channel. `channels` says who hears a moment of this event. */
export function plan(
  record: EventRecord,
  moments: Moment[],
  channels: (moment: Moment) => string[],
  now: number,
): Delivery[] {
  const planned = moments.flatMap((moment) =>
    channels(moment).map((channel) => ({ moment, channel })),
  )
  return planned.map(({ moment, channel }, i) => ({
    id: deliveryId(record, moment, channel),
    fleet: record.fleet,
    eventId: record.eventId,
    channel,
    seq: record.sequence * seqPerCommit + i,
    createdAt: now,
    urgentUntil: urgentUntil(record, moment, now),
    telling: { moment, at: now, event: viewOf(record) },
    state: 'pending',
    attempts: 0,
    nextAt: now,
    note: '',
  }))
}

/** A notice about a delivery that ended badly, for the channel's fallback. */
export function planNotice(failed: Delivery, fallback: string, end: Settlement, now: number) {
  const { telling } = failed
  const about = {
    channel: failed.channel,
    moment: telling.moment,
    state: end.state,
    reason: end.note,
  }
  const notice: Delivery = {
    ...failed,
    id: `${failed.id}/notice/${encode(fallback)}`,
    channel: fallback,
    createdAt: now,
    telling: { moment: 'notice', at: now, event: telling.event, about },
    state: 'pending',
    attempts: 0,
    nextAt: now,
    note: '',
  }
  return notice
}

/** Told in vain once the event is over; on PagerDuty they would open an incident. */
const pointlessAfterEnd: string[] = [
  'scheduled',
  'changed',
  'reminder',
  'declined',
  'stuck',
  'started',
]

/** Pending messages that an end makes pointless; webhook receivers still get every step. */
export function supersededBy(
  moments: Moment[],
  existing: Delivery[],
  keepsEveryStep: (channel: string) => boolean,
): string[] {
  const ends = moments.some((m) => m === 'completed' || m === 'cancelled' || m === 'lost')
  if (!ends) return []
  return existing
    .filter((d) => d.state === 'pending' && pointlessAfterEnd.includes(d.telling.moment))
    .filter((d) => !keepsEveryStep(d.channel))
    .map((d) => d.id)
}

/** Whether a message that was under way when the event ended, or was decided, came too late. */
export function isOvertaken({ telling }: Delivery, record: EventRecord | undefined): boolean {
  if (record?.epoch !== telling.event.epoch) return false
  // nobody is reminded of what was decided meanwhile
  if (telling.moment === 'reminder' && record.verdict !== undefined) return true
  return record.ended !== undefined && pointlessAfterEnd.includes(telling.moment)
}

/** What becomes of a delivery after an attempt. `random` is in [0, 1). */
export function afterAttempt(
  delivery: Delivery,
  result: SendOutcome,
  now: number,
  random: number,
): Settlement {
  const { note } = result
  if (result.outcome !== 'retry') return { state: result.outcome, nextAt: now, note }
  const left = delivery.urgentUntil - now
  const own = left > 0 ? denseWait(delivery, left, random) : sparseWait(-left, random)
  const latest = left > 0 ? left : sparse.capMs
  const wait = Math.max(own, Math.min(result.retryAfterMs ?? 0, latest))
  const spent = now + wait > delivery.createdAt + giveUpMs || delivery.attempts >= maxAttempts
  return spent
    ? { state: 'given_up', nextAt: now, note }
    : { state: 'pending', nextAt: now + wait, note }
}

function denseWait({ attempts }: Delivery, leftMs: number, random: number): number {
  const capMs = Math.min(sparse.capMs, Math.max(dense.capMs, leftMs / attemptsPerTimeLeft))
  return backoffMs(attempts, { ...dense, capMs }, random)
}

/** Starts small again, whatever the dense attempts before: each wait is about the time since then. */
function sparseWait(sinceMs: number, random: number): number {
  return backoffMs(1 + Math.floor(Math.log2(1 + sinceMs / sparse.baseMs)), sparse, random)
}

/**
 * Whether an earlier message of this event may have reached the channel. One that its notifier held
 * back, for want of an earlier one, has not; one that the end overtook may have.
 */
export function mayHaveHeard(delivery: Delivery, siblings: Delivery[]): boolean {
  return siblings.some(
    (other) =>
      other.channel === delivery.channel &&
      other.seq < delivery.seq &&
      other.telling.moment !== 'notice' &&
      other.telling.event.epoch === delivery.telling.event.epoch &&
      other.attempts > 0 &&
      // refused at last: an attempt before that one may have been heard, and its answer lost
      (other.state !== 'refused' || other.attempts > 1) &&
      (other.state !== 'superseded' || needsNoEarlier(other)),
  )
}

function needsNoEarlier({ telling }: Delivery): boolean {
  const first = telling.moment === 'started' && telling.event.verdict === undefined
  return first || ['scheduled', 'changed', 'reminder', 'stuck'].includes(telling.moment)
}

export function viewOf(record: EventRecord): EventView {
  const { watchers: _w, history: _h, dueAt: _d, directive: _l, ...view } = record
  return view
}

function deliveryId(record: EventRecord, moment: Moment, channel: string): string {
  const parts = [record.fleet, record.eventId, String(record.epoch), moment, channel]
  const { notBeforeAt, resources, durationSeconds, description } = record.facts
  const names = resources.map((name) => name.toLowerCase()).sort()
  const values = JSON.stringify([notBeforeAt, names, durationSeconds, description])
  const which = {
    changed: [hash(values)],
    reminder: [`${record.reminder?.beforeSeconds}s`, hash(String(notBeforeAt))],
  }
  const more = moment === 'changed' || moment === 'reminder' ? which[moment] : []
  return [...parts.map(encode), ...more].join('/')
}

/** Standard Webhooks forbids a dot in an id. */
function encode(part: string): string {
  return encodeURIComponent(part).replaceAll('.', '%2E')
}

/** FNV-1a over UTF-16 units, 32 bits twice with other seeds: not for secrets, only to tell values apart. */
export function hash(text: string): string {
  return [0x811c9dc5, 0x01234567]
    .map((seed) => {
      let value = seed
      for (let i = 0; i < text.length; i++) {
        value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
      }
      return (value >>> 0).toString(16).padStart(8, '0')
    })
    .join('')
}

function urgentUntil(record: EventRecord, moment: Moment, now: number): number {
  const asks = ['scheduled', 'changed', 'reminder', 'stuck'].includes(moment)
  const { notBeforeAt } = record.facts
  return asks && notBeforeAt !== undefined ? Math.max(notBeforeAt, now + 60_000) : now + urgentMs
}
