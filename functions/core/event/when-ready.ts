// A rule that waits: with `whenReady` until every affected VM is ready, with `maxConcurrent` until
// it is the event's turn. If the rule waits in vain, people are asked, in time to decide.
import { mayTakeTurns, ruleFor } from '../rules/policy.ts'
import { approveByPolicy, mayApprove, type Rules, withPolicy } from './apply-policy.ts'
import { follow, type Loaded, type Needs, type Step } from './decision.ts'
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'
import { addHistory } from './history.ts'
import type { NotReady, Turn, VmReadiness } from './hook-state.ts'
import type { Observer } from './observer.ts'
import { awaitedUntil, isReady, type Listening, readinessOf, withReadiness } from './readiness.ts'
import { isTooMuch, type TurnWish, wishId, wishOf } from './turn.ts'
import { seemsOver } from './undecided.ts'
import { leastSilenceMs, withHeardHooks } from './witness.ts'

/** Beacons prepare from this long before NotBefore on, unless they are set otherwise. */
const leadMs = 600_000
/** People who are asked have this long until NotBefore, or a third of the notice if it is short. */
const askBeforeMs = 60_000
/** An event that waits for its turn asks for it this often. */
const turnEveryMs = 5_000
/** By then, the rows of beacons that reported at the same time are written. */
const rowsWrittenMs = 5_000

interface Weighing extends Listening {
  rules: Rules
  /** The event as it is stored. */
  stored: EventRecord | undefined
}

/**
 * Applies the first rule that matches: it approves, waits, or gives up and asks people. Also
 * updates the readiness of the VMs.
 */
export function weigh(
  record: EventRecord,
  observers: Observer[],
  loaded: Loaded,
  weighing: Weighing,
): Step | Needs {
  const { rules, now } = weighing
  const judged = withRule(record, observers, weighing)
  const { vms } = judged
  const unchanged: Step = { record, moments: [], reason: 'weighed' }
  if (!waitsFor(judged.record)) {
    return follow(unchanged, withoutWait(judged.record), 'weighed')
  }
  const rule = ruleFor(rules.policy, judged.record, observers)
  const wish = rule && wishOf(rule, judged.record, observers)
  const turned = withTurn(judged.record, wish, observers, loaded.turn, weighing)
  if ('needs' in turned) return turned
  const step = follow(unchanged, turned, 'weighed')
  const settled = approveOrAsk(step, vms, wish, observers, now)
  const next = nextLookAt(settled.record, wish, record, weighing)
  return follow(settled, withLook(settled.record, next, now), 'weighed')
}

/** The record with the rule that decides it and the readiness of its VMs. */
export function withRule(
  record: EventRecord,
  known: Observer[],
  { rules, ...listening }: Pick<Weighing, 'rules' | keyof Listening>,
): { record: EventRecord; vms: VmReadiness[] } {
  const judges = isOpen(record) && record.verdict === undefined
  const judged = judges ? withPolicy(rules, record, known) : record
  const observers = withHeardHooks(record, known)
  const vms = readinessOf(judged, observers, listening)
  return { record: withReadiness(judged, vms, observers), vms }
}

/** Whether a rule may still approve the event or give it its turn. */
function waitsFor(record: EventRecord): record is OpenRecord {
  return isOpen(record) && record.phase === 'scheduled' && record.verdict?.decision !== 'approved'
}

function withoutWait(record: EventRecord): EventRecord {
  const { lookAt, ...rest } = record
  return lookAt === undefined ? record : (rest as EventRecord)
}

/** When beacons begin to prepare. An event without NotBefore may start at any moment. */
export function preparesFrom({ facts: { notBeforeAt } }: EventRecord): number {
  return notBeforeAt === undefined ? Number.NEGATIVE_INFINITY : notBeforeAt - leadMs
}

/** When people are asked, if the rule still waits then. */
function asksAt({ facts, changedAt, firstSeenAt, reopenedAt = 0 }: EventRecord): number {
  const { notBeforeAt } = facts
  if (notBeforeAt === undefined) return Number.POSITIVE_INFINITY
  const noticeMs = notBeforeAt - (changedAt?.notBeforeAt ?? Math.max(firstSeenAt, reopenedAt))
  return notBeforeAt - Math.min(askBeforeMs, Math.floor(Math.max(0, noticeMs) / 3))
}

/** Approves, asks people or waits. */
function approveOrAsk(
  step: Step,
  vms: VmReadiness[],
  wish: TurnWish | 'unknown' | undefined,
  observers: Observer[],
  now: number,
): Step {
  const { record } = step
  const { decide, whenReady, maxConcurrent } = record.policy
  const awaits = decide === 'approve' && record.verdict === undefined && !seemsOver(record)
  if (!awaits) return step
  const hasTurn = maxConcurrent === undefined || record.turn?.state === 'held'
  if (hasTurn && (!whenReady || isReady(vms))) {
    const approved = approveByPolicy(record, observers, now)
    return follow(step, approved.record, 'approved_by_rule', approved.moments)
  }
  const why = whyInVain(record, vms, wish, hasTurn, now)
  if (why === undefined) return step
  const policy = { ...record.policy, decide: 'ask' as const }
  const asking = { ...record, policy, notReady: { at: now, rule: policy.rule, why } }
  const noted = addHistory(asking, { at: now, what: 'not_ready', note: why })
  return follow(step, noted, 'not_ready', ['not_ready'])
}

function whyInVain(
  record: EventRecord,
  vms: VmReadiness[],
  wish: TurnWish | 'unknown' | undefined,
  hasTurn: boolean,
  now: number,
): NotReady['why'] | undefined {
  const { whenReady } = record.policy
  const isNear = now >= preparesFrom(record)
  const isHopeless = ({ state, since }: VmReadiness) =>
    // long before, a beacon that fell silent may be back in time
    state === 'silent'
      ? isNear || since === undefined
      : ['failed', 'refused', 'no_hook'].includes(state)
  if (whenReady && (vms.length === 0 || vms.some(isHopeless))) return 'cannot_be_ready'
  if (wish === 'unknown' && now >= awaitedUntil(record)) return 'group_unknown'
  if (wish !== undefined && wish !== 'unknown' && isTooMuch(wish)) return 'too_many_vms'
  if (now < asksAt(record)) return undefined
  return hasTurn ? 'not_ready_in_time' : 'no_turn_in_time'
}

/** The record with the state of its turn, or the need to take it. */
function withTurn(
  record: OpenRecord,
  wish: TurnWish | 'unknown' | undefined,
  observers: Observer[],
  taken: Loaded['turn'],
  { rules, stored, now }: Weighing,
): OpenRecord | Needs {
  const { turn } = record
  if (wish === undefined) {
    const mayFollow = record.verdict === undefined && now < awaitedUntil(record)
    const isUnknown = mayFollow && mayTakeTurns(rules.policy, record, observers)
    return turnedTo(record, isUnknown ? { state: 'unknown' } : undefined)
  }
  const behind = turn?.state === 'waits' ? turn.behind : []
  const waiting = () => turnedTo(record, { state: 'waits', behind })
  if (wish === 'unknown' || isTooMuch(wish)) return waiting()
  const id = wishId(wish)
  if (turn?.state === 'held' && turn.wish === id) return record
  // only a stored event may take a turn: after a crash, every holder must have its event
  const isStored = stored !== undefined && isOpen(stored) && stored.epoch === record.epoch
  if (!isStored || !wantsTurn(record, observers, now)) return waiting()
  const isDue = turn?.state !== 'waits' || (record.lookAt ?? now) <= now
  if (!isDue) return record
  if (taken === undefined) return { needs: 'turn', wish, epoch: record.epoch }
  return turnedTo(
    record,
    taken.outcome === 'held'
      ? { state: 'held', wish: id }
      : { state: 'waits', behind: taken.behind },
  )
}

/**
 * With `whenReady`, VMs need the turn to prepare, even if people decide. Without it, the rule needs
 * the turn to approve.
 */
function wantsTurn(record: EventRecord, observers: Observer[], now: number): boolean {
  const { policy, verdict, facts } = record
  if (seemsOver(record) || (facts.notBeforeAt ?? Number.POSITIVE_INFINITY) <= now) return false
  if (policy.whenReady) return now >= preparesFrom(record)
  return policy.decide === 'approve' && verdict === undefined && mayApprove(record, observers, now)
}

function turnedTo(record: OpenRecord, turn: Turn | undefined): OpenRecord {
  if (JSON.stringify(turn) === JSON.stringify(record.turn)) return record
  const { turn: _, ...rest } = record
  return turn === undefined ? rest : { ...rest, turn }
}

/** When time alone may change what the rule does. */
function nextLookAt(
  record: EventRecord,
  wish: TurnWish | 'unknown' | undefined,
  before: EventRecord,
  { now, stored }: Weighing,
): number {
  const { policy, turn, readiness, verdict } = record
  const waits = policy.whenReady === true || policy.maxConcurrent !== undefined
  const times = turn?.state === 'unknown' ? [awaitedUntil(record)] : []
  if (waits && policy.decide === 'approve' && verdict === undefined) {
    const hasChanged = readiness !== before.readiness
    times.push(asksAt(record), awaitedUntil(record), preparesFrom(record))
    if (hasChanged) times.push(now + rowsWrittenMs)
    // from then on, a silent beacon makes the rule ask people
    if (preparesFrom(record) <= now) times.push(now + leastSilenceMs)
    if (seemsOver(record)) times.push(now + turnEveryMs)
  }
  const isPossible = wish !== undefined && wish !== 'unknown' && !isTooMuch(wish)
  if (turn?.state === 'waits' && isPossible) {
    const isPast = (record.facts.notBeforeAt ?? Number.POSITIVE_INFINITY) <= now
    const from = policy.whenReady ? preparesFrom(record) : now
    if (stored === undefined) times.push(now + 1)
    else if (!isPast) times.push(Math.max(from, now + turnEveryMs))
  }
  return Math.min(...times.filter((at) => at > now))
}

/** Keeps an earlier time: looking too early changes nothing. */
function withLook(record: EventRecord, at: number, now: number): EventRecord {
  if (!isOpen(record)) return record
  const { lookAt: known, ...rest } = record
  const isKept = known !== undefined && known > now && known <= at
  if (isKept) return record
  return at === Number.POSITIVE_INFINITY ? withoutWait(record) : { ...rest, lookAt: at }
}
