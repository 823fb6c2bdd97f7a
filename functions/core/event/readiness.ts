// How far the affected VMs are prepared: the state of each VM by the reports of its own beacon, and
// the summary that messages and pages show.
import { isSameName } from '../../../shared/document.ts'
import { type EventRecord, isOpen } from './event.ts'
import {
  type HookState,
  type Readiness,
  saidUnready,
  type Unrestored,
  type VmReadiness,
  type VmState,
  vmStates,
} from './hook-state.ts'
import { heardAt, isHeard, type Listening, mayBeHit, type Sight } from './sight.ts'

/** The first report of a VM's beacon arrives within this time. */
const firstReportMs = 2 * 60_000
/** The summary names this many VMs. */
const maxListed = 20
/** Characters of a hook's output in the summary. */
const maxNote = 160

/** Until when the first report of an affected VM's beacon may still be on its way. */
export function awaitedUntil(
  { firstSeenAt, firstHeardAt = 0, backAt = 0, changed }: EventRecord,
  { listeningSince }: Pick<Listening, 'listeningSince'>,
): number {
  const isGrown = changed?.names.includes('resources') === true
  const known = Math.max(firstSeenAt, firstHeardAt, backAt, isGrown ? changed.at : 0)
  return Math.max(known, listeningSince) + firstReportMs
}

/** The state of each affected VM, in the order of the event. */
export function judgeReadiness(record: EventRecord, listening: Listening): VmReadiness[] {
  const named = byName(record)
  const isEarly = listening.now < awaitedUntil(record, listening)
  return record.facts.resources.map((vm) => {
    const own = named.get(vm.toLowerCase()) ?? []
    const states = own.map((one) => judgeSight(record, one, listening, isEarly))
    return { vm, ...(findWorst(states) ?? { state: isEarly ? 'awaited' : 'silent' }) }
  })
}

type State = Omit<VmReadiness, 'vm'>

function judgeSight(
  record: EventRecord,
  sight: Sight,
  listening: Listening,
  isEarly: boolean,
): State {
  // once it has started, a VM may be down
  const matters = isOpen(record) && record.phase === 'scheduled'
  if (matters && !isHeard(sight, listening)) {
    return { state: 'silent', since: heardAt(sight, listening) }
  }
  const run = sight.hooks?.prepare
  if (run !== undefined) {
    const isOutdated = run.state === 'succeeded' && !isForType(record, run)
    return { ...toShownRun(run), state: isOutdated ? 'planned' : states[run.state] }
  }
  // Azure added the VM, and its own document does not show that yet
  return { state: sight.isHit !== true && isEarly ? 'awaited' : 'no_hook' }
}

/** Whether the hook ran for the type that the event has now. */
function isForType({ facts }: EventRecord, { eventType = facts.eventType }: HookState): boolean {
  return isSameName(eventType, facts.eventType)
}

const states: Record<HookState['state'], VmState> = {
  planned: 'planned',
  running: 'preparing',
  succeeded: 'ready',
  failed: 'failed',
  refused: 'refused',
}

function toShownRun({ since, exitCode, note }: Omit<HookState, 'state'>): Omit<HookState, 'state'> {
  return {
    since,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(note === undefined ? {} : { note: note.slice(0, maxNote).toWellFormed() }),
  }
}

/**
 * If two VMs have this name, it is unknown which one is hit, so both must be ready. A beacon that says
 * nothing of a hook may be a liar's, so it does not hide what another one says.
 */
function findWorst(states: State[]): State | undefined {
  const [worst] = states.sort(byState)
  return states.find(({ state }) => saidUnready.includes(state)) ?? worst
}

function byState(one: State, other: State): number {
  return vmStates.indexOf(one.state) - vmStates.indexOf(other.state)
}

/** The sights of affected VMs, by the name of the VM in lower case. */
export function byName({ facts, sights }: EventRecord): Map<string, Sight[]> {
  const named = new Map(facts.resources.map((vm) => [vm.toLowerCase(), [] as Sight[]]))
  for (const one of sights) if (mayBeHit(facts, one)) named.get(one.vm.toLowerCase())!.push(one)
  return named
}

/**
 * The record with the current summary. It has none if no affected VM has a hook, unless its rule
 * waits for hooks. An unchanged record is the same object.
 */
export function withReadiness<State extends EventRecord>(record: State, vms: VmReadiness[]): State {
  const readiness = summarize(record, vms)
  if (JSON.stringify(readiness) === JSON.stringify(record.wait.readiness)) return record
  const { readiness: _, ...rest } = record.wait
  return { ...record, wait: readiness === undefined ? rest : { ...rest, readiness } }
}

function summarize(record: EventRecord, vms: VmReadiness[]): Readiness | undefined {
  const runs = [...byName(record).values()]
    .flat()
    .flatMap(({ vm, hooks }) => (hooks === undefined ? [] : { vm, hooks }))
  if (runs.length === 0 && !record.policy.whenReady) return undefined
  const unready = vms.filter(({ state }) => state !== 'ready').sort(byState)
  const restores = runs.flatMap(({ vm, hooks }) => (hooks.restore ? { vm, ...hooks.restore } : []))
  return {
    counts: countStates(vmStates, vms),
    unready: unready.slice(0, maxListed),
    ...(restores.length === 0 ? {} : { restore: summarizeRestores(record, restores) }),
  }
}

function summarizeRestores(
  { facts }: EventRecord,
  restores: (HookState & { vm: string })[],
): NonNullable<Readiness['restore']> {
  const order = Object.keys(states) as HookState['state'][]
  const failed = restores.flatMap(({ vm, state, ...run }): Unrestored[] => {
    if (state !== 'failed' && state !== 'refused') return []
    const name = facts.resources.find((one) => isSameName(one, vm)) ?? vm
    return [{ vm: name, state, ...toShownRun(run) }]
  })
  return { counts: countStates(order, restores), failed: failed.slice(0, maxListed) }
}

/** Counts states in the order of `all`, so that equal counts are equal text. */
function countStates<State extends string>(
  all: readonly State[],
  counted: { state: State }[],
): Partial<Record<State, number>> {
  const rows = all.map((state) => [state, counted.filter((one) => one.state === state).length])
  return Object.fromEntries(rows.filter(([, count]) => count !== 0))
}

export function isReady(vms: VmReadiness[]): boolean {
  return vms.length > 0 && vms.every(({ state }) => state === 'ready')
}
