// Decides which hook runs for an event of this VM, and when. Pure: each plan has its reason.
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Hook, HookRun } from '../../shared/report.ts'
import { longestRunMs, type Presence } from './protocol.ts'

/** `prepare` waits this long for the relay, because a rule may let VMs go one after another. */
const answerWithinMs = 10_000
/** `prepare` must end this long before NotBefore. */
const marginMs = 30_000
/** With short notice, the margin and the wait for the relay each take at most this share of it. */
const shareOfNotice = 1 / 4
/** With no more notice than this, `prepare` does not begin. */
const leastNoticeMs = 2_000
/** The limit of `prepare` if Azure names no NotBefore. */
const unknownNoticeLimitMs = 10 * 60_000
const restoreLimitMs = 10 * 60_000
/** If no runner takes `restore` within this time, it has failed. */
export const restoreWithinMs = 86_400_000
/** A hook that is interrupted this often is not started again. */
const maxStarts = 3

/** The state of one hook for one event. */
export interface Phase {
  state: HookRun['state']
  /** How often it ran. A refused run does not count. */
  starts: number
}

export interface Situation {
  /** Epoch ms. */
  now: number
  event: ScheduledEvent
  firstSeenAt: number
  /** The document lacks the event. It may be over, or that may be a hiccup. */
  isMissing: boolean
  /** When the event was over for this VM, if it is. */
  endedAt: number | undefined
  /** The relay has answered a report that showed this plan. */
  isAnswered: boolean
  /** What the relay asked for in its last answer. */
  wish: 'now' | 'hold' | undefined
  leadMs: number
  /** Undefined while no runner answers. */
  presences: { prepare: Presence; restore: Presence } | undefined
  prepare: Phase | undefined
  /** The event had another type when `prepare` last began. */
  isOutdated: boolean
  restore: Phase | undefined
  /** The runner says that `restore` is not done, whatever a run said. */
  isOnRecord: boolean
  /** Another event that this VM is prepared for is not over. */
  isPreparedForAnother: boolean
}

export type Plan = { hook: Hook; reason: string } & (
  | { kind: 'run'; limitMs: number }
  /** Look again after `forMs`, or when something else changes. */
  | { kind: 'wait'; forMs: number }
  /** The runner refuses the hook as it is now. */
  | { kind: 'refused' }
  /** It is too late for the hook. */
  | { kind: 'missed' }
  /** The hook runs or is done, or there is no such hook. */
  | { kind: 'nothing' }
)

const forever = Number.POSITIVE_INFINITY

export function planHook(situation: Situation): Plan {
  return situation.endedAt === undefined
    ? planPrepare(situation)
    : planRestore(situation, situation.endedAt)
}

/** Whether the hook will not run again for this event. */
function isFinal({ state, starts }: Phase): boolean {
  return starts > 0 && (state === 'succeeded' || state === 'failed')
}

function planPrepare(situation: Situation): Plan {
  return whyNoPrepare(situation) ?? whenPrepare(situation)
}

function measureLeftMs({ event, now }: Situation): number {
  return (event.notBeforeAt ?? forever) - now
}

function whyNoPrepare(situation: Situation): Plan | undefined {
  const { prepare, isOutdated, presences, event } = situation
  const because = (kind: 'nothing' | 'missed' | 'refused', reason: string): Plan => {
    return { hook: 'prepare', kind, reason }
  }
  if (prepare?.state === 'running') return because('nothing', 'it runs')
  const starts = isOutdated ? 0 : (prepare?.starts ?? 0)
  if (prepare !== undefined && !isOutdated && isFinal(prepare))
    return because('nothing', 'it is done')
  const isHopeless = presences === undefined && prepare === undefined
  if (isHopeless) return because('nothing', 'no runner answers')
  if (presences?.prepare.state === 'absent') return because('nothing', 'there is no such hook')
  if (event.status === 'Started')
    return because('missed', 'the event started before the hook was done')
  const isLate = measureLeftMs(situation) <= leastNoticeMs
  if (isLate) return because('missed', 'NotBefore came before the hook was done')
  if (presences?.prepare.state === 'refused') return because('refused', presences.prepare.note)
  if (starts >= maxStarts) return because('missed', 'it was interrupted each time')
  return undefined
}

function whenPrepare(situation: Situation): Plan {
  const { presences, event, now, firstSeenAt, leadMs, wish } = situation
  const wait = (forMs: number, reason: string): Plan => {
    return { hook: 'prepare', kind: 'wait', forMs, reason }
  }
  const leftMs = measureLeftMs(situation)
  const untilLate = leftMs - leastNoticeMs
  if (presences === undefined) return wait(untilLate, 'no runner answers')
  if (situation.isMissing) return wait(untilLate, 'the event may be over')
  if (wish === 'hold') return wait(untilLate, 'the relay lets another VM go first')
  const startsInMs = leftMs === forever ? 0 : leftMs - leadMs
  if (startsInMs > 0 && wish !== 'now') return wait(startsInMs, 'it is too early')
  const noticeMs = (event.notBeforeAt ?? forever) - firstSeenAt
  const graceMs = Math.min(answerWithinMs, noticeMs * shareOfNotice)
  const graceLeftMs = firstSeenAt + graceMs - now
  if (!situation.isAnswered && graceLeftMs > 0)
    return wait(graceLeftMs, 'the relay has not replied')
  const limitMs = chooseLimit(leftMs)
  const reason = wish === 'now' ? 'the relay asked for it' : 'it is time'
  return { hook: 'prepare', kind: 'run', limitMs, reason }
}

/** The limit of `prepare` if this much notice is left. */
function chooseLimit(leftMs: number): number {
  if (leftMs === forever) return unknownNoticeLimitMs
  return Math.min(longestRunMs, leftMs - Math.min(marginMs, leftMs * shareOfNotice))
}

function planRestore(situation: Situation, endedAt: number): Plan {
  const { prepare, restore, presences, now } = situation
  const isOwed = situation.isOnRecord && restore?.state === 'failed'
  const because = (kind: 'nothing' | 'missed' | 'refused', reason: string): Plan => {
    return { hook: 'restore', kind, reason }
  }
  if (prepare === undefined || prepare.starts === 0) return because('nothing', 'prepare never ran')
  if (restore?.state === 'running') return because('nothing', 'it runs')
  if (restore !== undefined && isFinal(restore) && !isOwed) return because('nothing', 'it is done')
  if (presences?.restore.state === 'absent') return because('nothing', 'there is no such hook')
  if ((restore?.starts ?? 0) >= maxStarts && !isOwed)
    return because('missed', 'it was interrupted each time')
  const leftMs = endedAt + restoreWithinMs - now
  if (leftMs <= 0) return because('missed', 'it could not run for a day')
  const wait = (reason: string): Plan => ({ hook: 'restore', kind: 'wait', forMs: leftMs, reason })
  if (presences === undefined) return wait('no runner answers')
  if (presences.restore.state === 'refused') return because('refused', presences.restore.note)
  if (prepare.state === 'running') return wait('prepare still runs')
  // `restore` would undo what the other event needs.
  if (situation.isPreparedForAnother) return wait('another event is not over')
  return { hook: 'restore', kind: 'run', limitMs: restoreLimitMs, reason: 'the event is over' }
}
