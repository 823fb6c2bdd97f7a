// Problems of Foghorn itself: silent beacons, channels that fail, a fleet over its limits. A row for
// each fleet and kind lists them. Owners get one message about what is new and one about what is over.
import { cut } from '../../../shared/text.ts'
import type { AlertKind, AlertNews, FleetAlert } from '../../core/delivery/alert-kind.ts'
import { maxProblems } from '../../core/limits.ts'
import { alertKinds } from '../../core/message/alert.ts'
import { quietMs } from './alerts.ts'

/** Ends within this time go into one message. */
export const collectMs = 60_000
/** Names and reasons in one message. Channels show fewer names. */
const maxNames = 50
const maxReasons = 5
/** Azure's names are at most this long. A longer, invented name must not overflow the row. */
const maxNameLength = 64
/** How often the row is written while the same problem occurs again and again. */
const renewMs = 60_000

/** A test of a channel is no problem. */
export type ProblemKind = Exclude<AlertKind, 'channel_test'>

export interface NotedProblem {
  /** If the beacon was never heard, the id is the name of its VM. */
  id: string
  /** The name of its VM, subscription or channel. Empty if it needs none. */
  name: string
  /** When a beacon was last heard, or when the problem began. */
  since: number
  /** Owners are notified from this time on. */
  from: number
  /** One sentence. */
  reason?: string
  notified?: true
  /** Owners were notified of the problem, and are still to be notified of its end. */
  over?: { at: number; left: boolean }
}

/** All times are epoch ms. */
export interface ProblemRow {
  fleet: string
  kind: ProblemKind
  /** How often such problems have begun after there were none, and when they last did. */
  episode: number
  since: number
  problems: NotedProblem[]
  /** Messages of all episodes, and of those before this one. */
  sent: number
  sentBefore: number
  /** The last message of the episode about new problems. */
  begunBy?: number
  /** The last message about new problems, and about ends. */
  notifiedAt?: number
  overNotifiedAt?: number
  /** When a problem of an occurring kind was seen last, to the minute. */
  occurredAt?: number
  /** Beacons in the fleet, as counted last. */
  of?: number
  /** The last message, until its deliveries are stored. */
  message?: { about: Said; to: string[] }
}

export interface ProblemChange {
  add?: Omit<NotedProblem, 'notified' | 'over'>[]
  /** Ids of problems that are over. */
  back?: string[]
  /** Ids of problems whose VM left, or whose channel the configuration no longer has. */
  left?: string[]
  of?: number | undefined
}

/** The row with this change, or `before` if nothing is new. */
export function withChange(
  before: ProblemRow | undefined,
  { fleet, kind }: Pick<ProblemRow, 'fleet' | 'kind'>,
  change: ProblemChange,
  now: number,
): ProblemRow | undefined {
  const { add = [], of = before?.of } = change
  const isOpen = before !== undefined && before.problems.length > 0
  if (!isOpen && add.length === 0) return before
  const row = isOpen ? before : begun(before, fleet, kind, now)
  const problems = withNew(withEnds(row.problems, change, now), add)
  const occurs = add.length > 0 && alertKinds[kind].ends === 'by_quiet'
  const isOld = row.occurredAt === undefined || Math.abs(now - row.occurredAt) >= renewMs
  if (isSame(problems, row.problems) && !(occurs && isOld)) return before
  return {
    ...row,
    problems,
    ...(of !== undefined && { of }),
    ...(occurs && { occurredAt: now }),
  }
}

function isSame(some: NotedProblem[], others: NotedProblem[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i])
}

function begun(
  before: ProblemRow | undefined,
  fleet: string,
  kind: ProblemKind,
  now: number,
): ProblemRow {
  const { episode = 0, sent = 0, notifiedAt = 0, overNotifiedAt = 0, message } = before ?? {}
  const row = { fleet, kind, episode: episode + 1, since: now, problems: [], sent }
  // a time in the future is from before the clock was set back
  return {
    ...{ ...row, sentBefore: sent },
    ...(message && { message }),
    ...(notifiedAt <= now && { notifiedAt }),
    ...(overNotifiedAt <= now && { overNotifiedAt }),
  }
}

/** Nobody is notified of the end of a problem that nobody was notified of. */
function withEnds(known: NotedProblem[], { back = [], left = [] }: ProblemChange, now: number) {
  const [isBack, hasLeft] = [new Set(back), new Set(left)]
  return known.flatMap((one) => {
    const { id, over, notified } = one
    if (over !== undefined || !(isBack.has(id) || hasLeft.has(id))) return [one]
    return notified ? [{ ...one, over: { at: now, left: hasLeft.has(id) } }] : []
  })
}

/** If owners were not notified of its end, its return is no news. */
function withNew(known: NotedProblem[], add: NonNullable<ProblemChange['add']>): NotedProblem[] {
  const added = new Set(add.map(({ id }) => id))
  const still = known.map((one) => {
    const { over, ...rest } = one
    return over !== undefined && added.has(one.id) ? rest : one
  })
  const ids = new Set(known.map(({ id }) => id))
  const room = Math.max(0, maxProblems - known.length)
  const fresh = add.filter(({ id }) => !ids.has(id)).slice(0, room)
  return [...still, ...fresh.map((one) => ({ ...one, name: cut(one.name, maxNameLength) }))]
}

/** When the row has something to say. `Infinity`: never, unless it changes. */
export function nextMessageAt(row: ProblemRow): number {
  if (row.message !== undefined) return 0
  return Math.min(begunAt(row), overAt(row), quietFrom(row))
}

function begunAt({ problems, notifiedAt = Number.NEGATIVE_INFINITY }: ProblemRow): number {
  const from = problems.flatMap((one) => (one.notified ? [] : [one.from]))
  return Math.max(Math.min(...from), notifiedAt + quietMs)
}

function overAt(row: ProblemRow): number {
  const { kind, problems, overNotifiedAt = Number.NEGATIVE_INFINITY } = row
  // these are over together
  if (alertKinds[kind].ends === 'by_quiet' && remainingIn(problems) > 0)
    return Number.POSITIVE_INFINITY
  const since = Math.min(...problems.flatMap(({ over }) => (over === undefined ? [] : [over.at])))
  return Math.max(since + collectMs, overNotifiedAt + quietMs)
}

function quietFrom({ problems, occurredAt }: ProblemRow): number {
  const isOn = occurredAt !== undefined && problems.some(({ over }) => over === undefined)
  return isOn ? occurredAt + quietMs : Number.POSITIVE_INFINITY
}

/** The row after its next message, and the message, if one is due. */
export function withMessage(before: ProblemRow, now: number): { row: ProblemRow; about?: Said } {
  const isQuiet = quietFrom(before) <= now
  const all = isQuiet ? before.problems.map(({ id }) => id) : []
  const row = { ...before, problems: withEnds(before.problems, { back: all }, now) }
  if (begunAt(row) <= now) return ofBegun(row, now)
  return overAt(row) <= now ? ofOver(row, now) : { row }
}

/** Once the deliveries of its message are stored. `of`: the row that had the message. */
export function withoutMessage(before: ProblemRow, of: ProblemRow): ProblemRow {
  const { message, ...rest } = before
  return message !== undefined && before.sent === of.sent ? rest : before
}

type Said = FleetAlert & { news: AlertNews }

function ofBegun(before: ProblemRow, now: number): { row: ProblemRow; about: Said } {
  const { problems, kind, of } = before
  const fresh = problems.filter((one) => !one.notified)
  const noted = problems.map((one): NotedProblem => ({ ...one, notified: true }))
  const left = alertKinds[kind].ends === 'untold' ? [] : noted
  const sent = before.sent + 1
  const begunBy = sent - before.sentBefore
  const row = { ...before, problems: left, notifiedAt: now, sent, begunBy }
  const reasons = fresh.flatMap(({ reason }) => (reason === undefined ? [] : [reason]))
  const about = {
    ...describeAbout(row, fresh),
    reasons: [...new Set(reasons)].slice(0, maxReasons),
    news: {
      form: 'begun' as const,
      count: fresh.length,
      remaining: remainingIn(left),
      left: [],
      since: Math.max(...fresh.map(({ since }) => since)),
      ...(of !== undefined && { of }),
    },
  }
  return { row, about }
}

function ofOver(before: ProblemRow, now: number): { row: ProblemRow; about: Said } {
  const over = before.problems.filter((one) => one.over !== undefined)
  const problems = before.problems.filter((one) => one.over === undefined)
  const row = { ...before, problems, overNotifiedAt: now, sent: before.sent + 1 }
  const gone = over.filter((one) => one.over?.left)
  const about = {
    ...describeAbout(
      row,
      over.filter((one) => !one.over?.left),
    ),
    reasons: [],
    news: {
      form: 'over' as const,
      count: over.length,
      remaining: problems.length,
      left: gone.map(({ name }) => name).slice(0, maxNames),
      since: Math.min(...over.map((one) => one.over!.at)),
      ...(before.begunBy !== undefined && { begunBy: before.begunBy }),
    },
  }
  return { row, about }
}

function remainingIn(problems: NotedProblem[]): number {
  return problems.filter(({ over }) => over === undefined).length
}

function describeAbout(
  { kind, episode, sent, sentBefore, since }: ProblemRow,
  named: NotedProblem[],
) {
  const names = named.map(({ name }) => name).sort(byName)
  const message = sent - sentBefore
  return { alert: kind, episode, message, since, names: names.slice(0, maxNames) }
}

/** `web_2` before `web_10`. */
function byName(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
