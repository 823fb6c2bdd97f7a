// Troubles of the relay itself: a nearly full disk, a clock that jumps, a backlog that grows, and
// channels whose owners would not hear of it. Each check says what is in trouble now. `wasOn` keeps
// an alert from starting and ending again and again. The row of the alert does the rest.
import type { TroubleKind } from '../event/alert-row.ts'
import { span } from '../event/time.ts'
import type { Tally } from '../metrics/tally.ts'
import { total } from '../metrics/tally.ts'
import type { Channel } from '../rules/config.ts'
import type { Troubled } from './channel-health.ts'
import type { LastingChange } from './lasting-alert.ts'

/** A disk is nearly full if less than the smaller of these two is free. */
const nearlyFull = { share: 0.1, bytes: 2_000_000_000 }
/** The trouble is over once this many times that limit is free. */
const spaceAgain = 1.2
/** A clock that is corrected gradually moves less between two checks. */
export const clockJumpMs = 60_000
/** The clock is steady again after this time without a jump. */
export const steadyMs = 15 * 60_000
/** Fewer waiting messages are no backlog: a channel may reject one of them again and again. */
export const minBacklog = 20
/** Channels with a rate may let a burst wait for a while. */
export const backlogMs = 5 * 60_000

/** What is in trouble now. */
export interface Trouble {
  kind: TroubleKind
  /** Empty if all is well. */
  items: { id: string; name: string; since: number }[]
  /** For people. */
  reasons: string[]
}

export interface Disk {
  freeBytes: number
  totalBytes: number
}

export function isNearlyFull({ freeBytes, totalBytes }: Disk, wasOn: boolean): boolean {
  const limit = Math.min(nearlyFull.share * totalBytes, nearlyFull.bytes)
  return freeBytes < limit * (wasOn ? spaceAgain : 1)
}

export function diskTrouble(disk: Disk, wasOn: boolean, now: number): Trouble {
  const reasons = [describeDisk(disk)]
  const isOn = isNearlyFull(disk, wasOn)
  return { kind: 'disk_nearly_full', items: isOn ? [only(now)] : [], reasons }
}

export function describeDisk({ freeBytes, totalBytes }: Disk): string {
  return `${sizeOf(freeBytes)} of ${sizeOf(totalBytes)} are free`
}

function sizeOf(bytes: number): string {
  const mb = bytes / 1_000_000
  return mb < 1_000 ? `${Math.floor(mb)} MB` : `${(mb / 1_000).toFixed(1)} GB`
}

function only(since: number): Trouble['items'][number] {
  return { id: 'relay', name: '', since }
}

/** Two clocks of one machine at one moment, in ms. The second one is never set. */
export interface Clocks {
  wall: number
  monotonic: number
}

interface ClockWatch {
  last: Clocks
  /** By the monotonic clock. */
  startedAt: number
  jump?: { at: number; ms: number }
}

export function watchedSince(clocks: Clocks): ClockWatch {
  return { last: clocks, startedAt: clocks.monotonic }
}

export function afterLook({ last, jump, startedAt }: ClockWatch, clocks: Clocks): ClockWatch {
  const ms = clocks.wall - last.wall - (clocks.monotonic - last.monotonic)
  const isJump = Math.abs(ms) >= clockJumpMs
  const known = isJump ? { at: clocks.monotonic, ms } : jump
  return { last: clocks, startedAt, ...(known && { jump: known }) }
}

/** After a restart, an earlier jump counts until this process has seen a steady clock. */
export function clockTrouble({ last, jump, startedAt }: ClockWatch, wasOn: boolean): Trouble {
  const from = jump?.at ?? (wasOn ? startedAt : Number.NEGATIVE_INFINITY)
  const isOn = last.monotonic - from < steadyMs
  const reasons = jump === undefined || !isOn ? [] : [`${span(Math.abs(jump.ms))} ${to(jump.ms)}`]
  return { kind: 'clock_jumped', items: isOn ? [only(last.wall)] : [], reasons }
}

function to(ms: number): string {
  return ms > 0 ? 'forward' : 'back'
}

/** Pending messages to channels that are not in trouble. */
export interface Backlog {
  pending: number
  /** When the oldest was planned. */
  since?: number
}

/** `names`: the configured channels. */
export function backlogIn(tally: Tally, names: string[], inTrouble: string[]): Backlog {
  const isOwn = (name: string) => names.includes(name) && !inTrouble.includes(name)
  const own = total(tally.counts).filter(
    ({ what, one, two }) => what === 'delivery' && two === 'pending' && isOwn(one),
  )
  const times = tally.oldest.flatMap(({ channel, plannedAt }) =>
    isOwn(channel) ? [plannedAt] : [],
  )
  const pending = own.reduce((sum, { n }) => sum + n, 0)
  return { pending, ...(times.length > 0 && { since: Math.min(...times) }) }
}

/** `before`: at the last check. It grows only if it is not shorter than it was then. */
export function backlogTrouble(
  { pending, since }: Backlog,
  before: Backlog | undefined,
  wasOn: boolean,
  now: number,
): Trouble {
  const kind = 'backlog_grows'
  const isLong = since !== undefined && now - since >= backlogMs && pending >= minBacklog
  const grows = before !== undefined && pending >= before.pending
  if (!isLong || !(wasOn || grows)) return { kind, items: [], reasons: [] }
  const reasons = [`${pending} messages wait, the oldest for ${span(now - since)}`]
  return { kind, items: [only(since)], reasons }
}

/** Leaves out channels whose fallback is one of the owners: it gets an alert of its own. */
export function channelTrouble(
  inTrouble: Troubled[],
  channels: Record<string, Channel>,
  owners: string[],
): Trouble {
  const unheard = inTrouble.filter(({ channel }) => {
    const { fallback } = channels[channel]!
    return (
      !(fallback !== undefined && owners.includes(fallback)) &&
      owners.some((owner) => owner !== channel)
    )
  })
  return {
    kind: 'channels_in_trouble',
    items: unheard.map(({ channel, since }) => ({ id: channel, name: channel, since })),
    reasons: unheard.map(({ channel, state, note }) => `${channel} is ${state}: ${note}`),
  }
}

/** What changes in the row of the alert. `known`: ids that the row lists. */
export function changeFor(
  { items, reasons }: Trouble,
  known: string[],
  exists: (id: string) => boolean,
  now: number,
): LastingChange {
  const ids = new Set(items.map(({ id }) => id))
  const gone = known.filter((id) => !ids.has(id))
  return {
    add: items.map(({ id, name, since }) => ({ id, name, since, from: now })),
    back: gone.filter(exists),
    left: gone.filter((id) => !exists(id)),
    reasons,
  }
}
