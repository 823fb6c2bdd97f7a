// What one report says of the hooks of its VM, for one event.
import type { Hook, HookRun, Report } from '../../../shared/report.ts'
import type { HookState, HookStates } from './hook-state.ts'

/** Reports travel for this long. A start of the state within this time of the known one is equal. */
const travelMs = 30_000

export function runsOf({ hooks }: Report, eventId: string): HookRun[] {
  return (hooks?.runs ?? []).filter((run) => run.eventId === eventId)
}

/** The states after these runs. A document without the event need not list its runs any more. */
export function withRuns(
  known: HookStates,
  runs: HookRun[],
  inDocument: boolean,
  now: number,
): HookStates | undefined {
  const shown = {
    ...stateIn(runs, 'prepare', known, now),
    ...stateIn(runs, 'restore', known, now),
  }
  const hooks = inDocument ? shown : { ...known, ...shown }
  return Object.keys(hooks).length === 0 ? undefined : hooks
}

function stateIn(runs: HookRun[], hook: Hook, known: HookStates, now: number): HookStates {
  const run = runs.findLast((one) => one.hook === hook)
  if (run === undefined) return {}
  const { state, ageMs, exitCode, note, eventType } = run
  const { [hook]: last } = known
  const at = now - ageMs
  const isKnown = last?.state === state && Math.abs(last.since - at) <= travelMs
  const what: HookState = {
    state,
    since: isKnown ? last.since : at,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(note === undefined || note === '' ? {} : { note }),
    ...(eventType === undefined ? {} : { eventType }),
  }
  return { [hook]: what }
}
