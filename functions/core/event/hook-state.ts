// What beacons report of the hooks of their VMs, and how far the VMs of one event are prepared.
import type { Hook, HookRun } from '../../../shared/report.ts'
import type { Ruled } from './facts.ts'

/** The latest run of one hook on one VM. */
export interface HookState {
  state: HookRun['state']
  /** When the state began, by the relay's clock: receipt minus reported age. */
  since: number
  exitCode?: number
  note?: string
  /** The type of the event when the hook last began. Absent if the hook has not begun. */
  eventType?: string
}

/** The hooks of one VM for one event. A hook without a run is absent. */
export type HookStates = Partial<Record<Hook, HookState>>

/**
 * From what most needs a person to what needs none. `silent`: no beacon, or not heard for too long.
 * `no_hook`: its beacon reported the event without a run of `prepare`. `awaited`: the first report
 * of its beacon may still be on its way. `ready`: `prepare` succeeded.
 */
export const vmStates = [
  'failed',
  'refused',
  'silent',
  'no_hook',
  'awaited',
  'preparing',
  'planned',
  'ready',
] as const
export type VmState = (typeof vmStates)[number]

/** The states in which the VM's own beacon says that the VM is not ready. */
export const saidUnready: readonly VmState[] = ['failed', 'refused', 'preparing', 'planned']

/** One affected VM. */
export interface VmReadiness {
  vm: string
  state: VmState
  /** Absent if no beacon of the VM has reported the event. */
  since?: number
  exitCode?: number
  note?: string
}

/** One affected VM whose hook `restore` failed or was refused. */
export interface Unrestored extends Omit<VmReadiness, 'state'> {
  state: 'failed' | 'refused'
}

/** A summary over all affected VMs. Its lists are cut. */
export interface Readiness {
  counts: Partial<Record<VmState, number>>
  /** The first VMs that are not ready, in the order of `vmStates`. */
  unready: VmReadiness[]
  /** Absent until a beacon reports a run of `restore`. */
  restore?: { counts: Partial<Record<HookState['state'], number>>; failed: Unrestored[] }
}

/** Why a rule that waited asks people. */
export const waitFailures = [
  'cannot_be_ready',
  'not_ready_in_time',
  'no_turn_in_time',
  'too_many_vms',
  'group_unknown',
  'vms_disagree',
  'time_over',
] as const

export interface NotReady {
  at: number
  /** The rule that waited. */
  rule: string
  why: (typeof waitFailures)[number]
  /** Only for `vms_disagree`: the values that the VMs disagree about. */
  values?: Ruled[]
}

/**
 * The slot of the event under a rule with `maxConcurrent`. `waits`: other VMs come first; `at`: when it
 * last asked.
 * `unknown`: such a rule may apply once the beacons of all affected VMs have reported.
 */
export type Slot =
  | { state: 'held'; wish: string }
  | { state: 'waits'; behind: string[]; at: number }
  | { state: 'unknown' }

/** Start times that two reports give differ by up to this, as reports travel. Then it is the same start. */
const travelMs = 30_000

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
