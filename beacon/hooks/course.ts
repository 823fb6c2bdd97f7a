// The course of hooks for one event: what is known of the event and of its runs, and how news
// change that. The values are replaced, never changed.
import { hits, type ScheduledEvent } from '../../shared/document.ts'
import type { Hook, HookRun } from '../../shared/report.ts'
import type { Instant } from '../clock.ts'
import type { Snapshot } from '../watch.ts'
import { type Plan, type Phase as PlannedPhase, restoreWithinMs } from './plan.ts'
import type { Status } from './protocol.ts'

/** One document may lack an event by mistake. `restore` waits until it is missing for this long. */
export const confirmGoneMs = 5_000
/** How long reports show the runs of an event that is over. */
const shownAfterEndMs = restoreWithinMs + 3_600_000

export interface Phase extends PlannedPhase {
  since: Instant
  /** The newest run, and the type that the event had then. */
  run?: string
  eventType?: string
  exitCode?: number
  note?: string
}

export interface Course {
  /** As seen last. */
  event: ScheduledEvent
  firstSeen: Instant
  wish?: 'now' | 'hold'
  isAnswered: boolean
  ended?: Instant
  prepare?: Phase
  restore?: Phase
}

/** Events that hit this VM, by id, with the values that the document and earlier ones showed. */
export function eventsOf(document: Snapshot, vmName: string): Map<string, ScheduledEvent> {
  return new Map([...document.known].filter(([, event]) => hits(event, vmName)))
}

export const hooks: readonly Hook[] = ['prepare', 'restore']

/** With the relay's answer to a report that showed the course. */
export function withAnswer(course: Course, wish: Course['wish']): Course {
  if (course.isAnswered && course.wish === wish) return course
  const { wish: _, ...rest } = course
  return { ...rest, isAnswered: true, ...(wish === undefined ? {} : { wish }) }
}

/** The document shows the event, perhaps after it seemed over. */
export function seenAgain(course: Course, event: ScheduledEvent, at: Instant): Course {
  const isSame = JSON.stringify(event) === JSON.stringify(course.event)
  const seen = isSame ? course : { ...course, event }
  if (course.ended === undefined || course.restore?.state === 'running') return seen
  // Restored already, so it must be prepared again.
  if ((course.restore?.starts ?? 0) > 0) return { event, firstSeen: at, isAnswered: false }
  const { ended: _, restore: __, ...rest } = seen
  return rest
}

/** With the phase that the plan means. */
export function planned(course: Course, plan: Plan, at: Instant): Course {
  const { hook, kind, reason } = plan
  if (kind === 'nothing') return withoutPlan(course, hook)
  if (kind === 'refused') return inState(course, hook, { state: 'refused', note: reason }, at)
  if (kind === 'missed') return inState(course, hook, { state: 'failed', note: reason }, at)
  return inState(course, hook, { state: 'planned' }, at)
}

/** With the phase in its new state. The same course if nothing is new. */
export function inState(
  course: Course,
  hook: Hook,
  change: Omit<Phase, 'since' | 'starts'> & { starts?: number },
  at: Instant,
): Course {
  const before = course[hook]
  const { state, note, exitCode, run = before?.run, starts = before?.starts ?? 0 } = change
  const { eventType = before?.eventType } = change
  if (before?.state === state && before.note === note && before.starts === starts) return course
  const since = before?.state === state && before.starts === starts ? before.since : at
  const phase: Phase = {
    state,
    starts,
    since,
    ...(run === undefined ? {} : { run }),
    ...(eventType === undefined ? {} : { eventType }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(note === undefined ? {} : { note }),
  }
  return { ...course, [hook]: phase }
}

/** Without a plan for a hook that never ran. */
function withoutPlan(course: Course, hook: Hook): Course {
  const phase = course[hook]
  if (phase === undefined || phase.starts > 0 || phase.state === 'running') return course
  const { [hook]: _, ...rest } = course
  return rest
}

/** What the runner says of the runs of this course. `at` gives the instant of an age. */
export function followed(course: Course, status: Status, at: (ageMs: number) => Instant): Course {
  let next = course
  for (const hook of hooks) {
    const phase = course[hook]
    if (phase?.state !== 'running' || status.running === phase.run) continue
    const end = status.ended.find(({ run }) => run === phase.run)
    if (end === undefined) {
      // The runner was restarted, or never got the order.
      next = inState(next, hook, { state: 'planned' }, at(0))
      continue
    }
    const { state, exitCode, note, ageMs } = end
    const starts = state === 'refused' ? phase.starts - 1 : phase.starts
    const change = {
      state,
      starts,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(note === undefined ? {} : { note }),
    }
    next = inState(next, hook, change, at(ageMs))
  }
  return next
}

/** Nothing will run any more, and reports showed it for long enough. */
export function isOver(course: Course, endedMs: number): boolean {
  const { prepare, restore } = course
  if (prepare === undefined || prepare.starts === 0) return true
  return endedMs >= shownAfterEndMs && restore?.state !== 'running'
}

/** After a restart, a course without `prepare` is created again, so it need not be stored. */
export function isWorthKeeping({ prepare }: Course): boolean {
  return prepare !== undefined
}

/** For the report. */
export function runsOf(course: Course, ageMs: (since: Instant) => number): HookRun[] {
  return hooks.flatMap((hook) => {
    const phase = course[hook]
    if (phase === undefined) return []
    const { state, since, exitCode, note, eventType } = phase
    return [
      {
        eventId: course.event.eventId,
        hook,
        state,
        ageMs: Math.round(ageMs(since)),
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(note === undefined ? {} : { note }),
        ...(eventType === undefined ? {} : { eventType }),
      },
    ]
  })
}
