// An event that hooks of this VM run for: what is known of it and of its runs, and how news change
// that. The values are replaced, never changed.
import { hits, type ScheduledEvent } from '../../shared/document.ts'
import { clampAge, type Hook, type HookRun } from '../../shared/report.ts'
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

export interface HookedEvent {
  /** The event as the last document showed it. */
  event: ScheduledEvent
  firstSeen: Instant
  wish?: 'now' | 'hold'
  isAnswered: boolean
  ended?: Instant
  prepare?: Phase
  restore?: Phase
}

/** Events that hit this VM, by id, with the values that the document and earlier ones showed. */
export function listEvents(document: Snapshot, vmName: string): Map<string, ScheduledEvent> {
  return new Map([...document.known].filter(([, event]) => hits(event, vmName)))
}

export const hooks: readonly Hook[] = ['prepare', 'restore']

/** The beacon forgot it, and the VM is prepared for it or was interrupted at that. */
export function remembered(event: ScheduledEvent, at: Instant): HookedEvent {
  const prepare: Phase = { state: 'planned', starts: 1, since: at, eventType: event.eventType }
  return { event, firstSeen: at, isAnswered: false, prepare }
}

/** Adds the relay's answer to a report that showed the event. */
export function withAnswer(hooked: HookedEvent, wish: HookedEvent['wish']): HookedEvent {
  if (hooked.isAnswered && hooked.wish === wish) return hooked
  const { wish: _, ...rest } = hooked
  return { ...rest, isAnswered: true, ...(wish === undefined ? {} : { wish }) }
}

/** The document shows the event, perhaps after it seemed over. */
export function seenAgain(hooked: HookedEvent, event: ScheduledEvent, at: Instant): HookedEvent {
  const isSame = JSON.stringify(event) === JSON.stringify(hooked.event)
  const seen = isSame ? hooked : { ...hooked, event }
  if (hooked.ended === undefined || hooked.restore?.state === 'running') return seen
  // Restored already, so it must be prepared again.
  if ((hooked.restore?.starts ?? 0) > 0) return { event, firstSeen: at, isAnswered: false }
  const { ended: _, restore: __, ...rest } = seen
  return rest
}

/** Adds the phase that the plan means. */
export function planned(hooked: HookedEvent, plan: Plan, at: Instant): HookedEvent {
  const { hook, kind, reason } = plan
  if (kind === 'nothing') return withoutPlan(hooked, hook)
  if (kind === 'refused') return inState(hooked, hook, { state: 'refused', note: reason }, at)
  if (kind === 'missed') return inState(hooked, hook, { state: 'failed', note: reason }, at)
  return inState(hooked, hook, { state: 'planned' }, at)
}

/** Adds the phase in its new state. Returns the same object if nothing is new. */
export function inState(
  hooked: HookedEvent,
  hook: Hook,
  change: Omit<Phase, 'since' | 'starts'> & { starts?: number },
  at: Instant,
): HookedEvent {
  const before = hooked[hook]
  const { state, note, exitCode, run = before?.run, starts = before?.starts ?? 0 } = change
  const { eventType = before?.eventType } = change
  if (before?.state === state && before.note === note && before.starts === starts) return hooked
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
  return { ...hooked, [hook]: phase }
}

/** Removes a plan for a hook that never ran. */
function withoutPlan(hooked: HookedEvent, hook: Hook): HookedEvent {
  const phase = hooked[hook]
  if (phase === undefined || phase.starts > 0 || phase.state === 'running') return hooked
  const { [hook]: _, ...rest } = hooked
  return rest
}

/** What the runner says of the runs for this event. `at` gives the instant of an age. */
export function followed(
  hooked: HookedEvent,
  status: Status,
  at: (ageMs: number) => Instant,
): HookedEvent {
  let next = hooked
  for (const hook of hooks) {
    const phase = hooked[hook]
    if (phase?.state !== 'running') continue
    if (status.running === phase.run) {
      next = inState(next, hook, { state: 'running', ...noted(status.held) }, at(0))
      continue
    }
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
      ...noted(note),
    }
    next = inState(next, hook, change, at(ageMs))
  }
  return next
}

function noted(note: string | undefined): Pick<Phase, 'note'> {
  return note === undefined ? {} : { note }
}

/** Nothing will run any more, and reports showed it for long enough. */
export function isOver(hooked: HookedEvent, endedMs: number): boolean {
  const { prepare, restore } = hooked
  if (prepare === undefined || prepare.starts === 0) return true
  return endedMs >= shownAfterEndMs && restore?.state !== 'running'
}

/** After a restart, an event without `prepare` begins anew, so it need not be stored. */
export function isWorthKeeping({ prepare }: HookedEvent): boolean {
  return prepare !== undefined
}

/** The runs of the event's hooks, for the report. */
export function listRuns(hooked: HookedEvent, ageMs: (since: Instant) => number): HookRun[] {
  return hooks.flatMap((hook) => {
    const phase = hooked[hook]
    if (phase === undefined) return []
    const { state, since, exitCode, note, eventType } = phase
    return [
      {
        eventId: hooked.event.eventId,
        hook,
        state,
        ageMs: clampAge(ageMs(since)),
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(note === undefined ? {} : { note }),
        ...(eventType === undefined ? {} : { eventType }),
      },
    ]
  })
}
