// When a rule approves an event: law 9. Its match must hold for every affected VM, and every speaker
// must show the event now, with the values of the record. With `whenReady`, it waits until every VM is
// ready; with `maxConcurrent`, until the event has its slot. If it waits in vain, people are asked.
import { isAsRead } from '../../../shared/report.ts'
import { knownVm } from '../rules/match.ts'
import { judgePolicy, type PolicyRule, readBy } from '../rules/policy.ts'
import { activeAt, isWithinTime, nextBoundary } from '../rules/time.ts'
import { decideByPolicy } from './approval.ts'
import { knownVms } from './drill.ts'
import { type EventRecord, isOpen, lastExpiry, type OpenRecord, type ScopedVm } from './event.ts'
import { type Ruled, ruled, undecidable } from './facts.ts'
import { addHistory } from './history.ts'
import type { NotReady, VmReadiness } from './hook-state.ts'
import { seemsOver } from './is-over.ts'
import type { Moment } from './moment.ts'
import { awaitedUntil, isReady, judgeReadiness, withReadiness } from './readiness.ts'
import { isWithin } from './scope.ts'
import { differs, toShown } from './shown.ts'
import { type Listening, listSpeakers, mayBeHit } from './sight.ts'
import {
  isTooMuch,
  type SlotAsked,
  type SlotRequest,
  slotEveryMs,
  slotRequestId,
  wishIn,
  withSlot,
} from './slots.ts'

/** Beacons prepare from this long before NotBefore on, unless the rule or the beacon says otherwise. */
const usualLeadSeconds = 600
/** People who are asked have this long until NotBefore, or a third of the notice if it is short. */
const askBeforeMs = 60_000
/** If VMs contradict each other for this long, people are asked. */
const disagreeMs = 2 * 60_000
/** While a rule waits and VMs prepare, look this often: a beacon may fall silent. */
const lookMs = 10_000

interface Weighed {
  record: OpenRecord
  moments: Moment[]
}

/**
 * Applies the first rule that matches: it approves, waits, or gives up and asks people. Also updates
 * the readiness of the VMs. An unchanged record is the same object.
 */
export function weigh(
  before: OpenRecord,
  rules: PolicyRule[],
  listening: Listening,
  slot?: SlotAsked,
): Weighed {
  const { active, judged } = judgedAt(rules, before, listening.now)
  const vms = judgeReadiness(judged, listening)
  const measured = withReadiness(judged, vms)
  if (measured.phase !== 'scheduled' || measured.decided?.decision === 'approved') {
    return { record: measured, moments: [] }
  }
  const wish = wishIn(active, measured)
  const record = withSlot(measured, active, wish, slot, listening)
  if (isTimeOver(before, record, rules, listening.now)) {
    return asked({ ...record, policy: before.policy }, 'time_over', listening)
  }
  const { policy, decided } = record
  const waits = policy.decide === 'approve' && decided === undefined && !seemsOver(record)
  if (!waits) return { record, moments: [] }
  const hasSlot = policy.maxConcurrent === undefined || record.wait.slot?.state === 'held'
  const isPrepared = hasSlot && (!policy.whenReady || isReady(vms))
  if (isPrepared && maySpeakersAgree(record, listening))
    return approved(record, active, listening.now)
  const why = whyInVain(record, vms, wish, hasSlot, listening)
  return why === undefined ? { record, moments: [] } : asked(record, why, listening)
}

/**
 * The record by the rules whose time it is. A rule whose time ended while it waited still says how VMs are
 * prepared; it approves again once its time is back.
 */
function judgedAt<State extends EventRecord>(rules: PolicyRule[], record: State, now: number) {
  const timely = activeAt(rules, now)
  const { notReady } = record.wait
  const kept = notReady?.why === 'time_over' ? notReady.rule : undefined
  const active = rules.filter((rule) => timely.includes(rule) || rule.name === kept)
  if (record.decided !== undefined) return { active, judged: record }
  const isBack = timely.some(({ name }) => name === kept)
  return { active, judged: withPolicy(active, record, isBack) }
}

/** The rule still waited when its time ended, and now people are to decide. */
function isTimeOver(
  before: OpenRecord,
  record: OpenRecord,
  rules: PolicyRule[],
  now: number,
): boolean {
  const { policy, decided } = before
  const rule = rules.find(({ name }) => name === policy.rule)
  const waited = policy.decide === 'approve' && decided === undefined && lastExpiry(before) !== now
  const isOver = rule !== undefined && !isWithinTime(rule.match.time, now)
  return waited && isOver && record.policy.decide === 'ask'
}

function approved(record: OpenRecord, rules: PolicyRule[], now: number): Weighed {
  const read = readBy(rules, record.policy.rule, record.facts.resources, knownVms(record))
  const decided = decideByPolicy(record, read, now)
  return decided.outcome === 'decided' ? decided : { record, moments: [] }
}

function asked(record: OpenRecord, why: NotReady['why'], listening: Listening): Weighed {
  const policy = { ...record.policy, decide: 'ask' as const }
  const values = why === 'vms_disagree' ? { values: disagreement(record, listening).values } : {}
  const notReady = { at: listening.now, rule: policy.rule, why, ...values }
  const entry = { at: listening.now, what: 'not_ready' as const, note: why }
  return {
    record: addHistory({ ...record, policy, wait: { ...record.wait, notReady } }, entry),
    moments: ['not_ready'],
  }
}

/**
 * Applies the first rule that matches. People are asked even if a rule approves: if a rule waited in
 * vain and its time is not back, or if this one waits for hooks, which a drill does not run.
 */
export function withPolicy<State extends EventRecord>(
  rules: PolicyRule[],
  record: State,
  isBack = false,
): State {
  const judged = policyFor(rules, record)
  const isDrill = record.drill !== undefined && judged.whenReady === true
  const asks = (record.wait.notReady !== undefined && !isBack) || isDrill
  const policy =
    asks && judged.decide === 'approve' ? { ...judged, decide: 'ask' as const } : judged
  const same = JSON.stringify(policy) === JSON.stringify(record.policy)
  return same ? record : { ...record, policy }
}

/** If nobody decides, people are only notified. */
function policyFor(rules: PolicyRule[], record: EventRecord): EventRecord['policy'] {
  const judged = judgePolicy(rules, record, knownVms(record))
  const isTaken = undecidable(record.facts) !== undefined && judged.decide !== 'ignore'
  return isTaken ? { decide: 'notify', rule: judged.rule } : judged
}

/** Every speaker shows the event now, with the values of the record. A drill has no speakers. */
function maySpeakersAgree(record: EventRecord, listening: Listening): boolean {
  if (record.drill) return true
  const speakers = listSpeakers(record, listening)
  const show = speakers.every(({ lacksSince }) => lacksSince === undefined)
  return speakers.length > 0 && show && disagreement(record, listening).values.length === 0
}

/** The values on which VMs that see the event contradict the record, and since when. */
function disagreement(
  record: EventRecord,
  listening: Listening,
): { values: Ruled[]; since: number } {
  const known = toShown({ ...record.facts, status: 'Scheduled' })
  const speaking = listSpeakers(record, listening).flatMap(({ sights }) => sights)
  const others = speaking.filter(
    ({ shows, missing }) =>
      missing === undefined && ruled.some((name) => differs(name, known, shows)),
  )
  const values = ruled.filter((name) => others.some(({ shows }) => differs(name, known, shows)))
  const learnedAt = Math.max(record.changed?.at ?? 0, record.backAt ?? record.firstSeenAt)
  return { values, since: Math.max(learnedAt, ...others.map((one) => one.firstSeenAt)) }
}

/** When beacons begin to prepare. An event without NotBefore may start at any moment. */
export function preparesFrom({ facts: { notBeforeAt }, policy }: EventRecord): number {
  const { prepareBeforeSeconds = usualLeadSeconds } = policy
  return notBeforeAt === undefined
    ? Number.NEGATIVE_INFINITY
    : notBeforeAt - prepareBeforeSeconds * 1_000
}

/** When people are asked, if the rule still waits then. */
function asksAt({ facts, changed, firstSeenAt, backAt = 0 }: EventRecord): number {
  const { notBeforeAt } = facts
  if (notBeforeAt === undefined) return Number.POSITIVE_INFINITY
  const isMoved = changed?.names.includes('notBeforeAt') === true
  const knownAt = Math.max(firstSeenAt, backAt, isMoved ? changed.at : 0)
  const noticeMs = Math.max(0, notBeforeAt - knownAt)
  return notBeforeAt - Math.min(askBeforeMs, Math.floor(noticeMs / 3))
}

function whyInVain(
  record: OpenRecord,
  vms: VmReadiness[],
  wish: SlotRequest | 'unknown' | undefined,
  hasSlot: boolean,
  listening: Listening,
): NotReady['why'] | undefined {
  const { now } = listening
  const { whenReady, maxConcurrent } = record.policy
  const { values, since } = disagreement(record, listening)
  if (values.length > 0 && since + disagreeMs <= now) return 'vms_disagree'
  if (!whenReady && maxConcurrent === undefined) return undefined
  const isNear = now >= preparesFrom(record)
  const isHopeless = ({ state, since: heardAt }: VmReadiness) =>
    // long before, a beacon that fell silent may be back in time
    state === 'silent'
      ? isNear || heardAt === undefined
      : ['failed', 'refused', 'no_hook'].includes(state)
  if (whenReady && (vms.length === 0 || vms.some(isHopeless))) return 'cannot_be_ready'
  if (wish === 'unknown' && now >= awaitedUntil(record, listening)) return 'group_unknown'
  if (wish !== undefined && wish !== 'unknown' && isTooMuch(wish)) return 'too_many_vms'
  if (now < asksAt(record)) return undefined
  return hasSlot ? 'not_ready_in_time' : 'no_turn_in_time'
}

/**
 * The slot that the stored event must ask for now. Only a stored event may take a slot: after a crash,
 * every holder must have its event.
 */
export function slotToTake(
  record: EventRecord,
  rules: PolicyRule[],
  listening: Listening,
): SlotRequest | undefined {
  if (!isOpen(record) || record.phase !== 'scheduled') return undefined
  if (record.decided?.decision === 'approved') return undefined
  const { active, judged } = judgedAt(rules, record, listening.now)
  if (judged.policy.maxConcurrent === undefined && !judged.policy.whenReady) return undefined
  const wish = wishIn(active, judged)
  if (wish === undefined || wish === 'unknown' || isTooMuch(wish)) return undefined
  const { slot } = judged.wait
  if (slot?.state === 'held' && slot.wish === slotRequestId(wish)) return undefined
  const isTried = slot?.state === 'waits' && slot.at + slotEveryMs > listening.now
  return !isTried && wantsSlot(judged, listening) ? wish : undefined
}

/**
 * With `whenReady`, VMs need the slot to prepare, even if people decide. Without it, the rule needs
 * the slot to approve.
 */
function wantsSlot(record: EventRecord, listening: Listening): boolean {
  const { policy, decided, facts } = record
  const { now } = listening
  if (seemsOver(record) || (facts.notBeforeAt ?? Number.POSITIVE_INFINITY) <= now) return false
  if (policy.whenReady) return now >= preparesFrom(record)
  return policy.decide === 'approve' && decided === undefined && maySpeakersAgree(record, listening)
}

/** When time alone may change what the rule does. */
export function nextWeighingAt(
  record: EventRecord,
  rules: PolicyRule[],
  listening: Listening,
): number {
  const { policy, wait, decided } = record
  const { slot } = wait
  const { now } = listening
  const never = Number.POSITIVE_INFINITY
  if (record.phase !== 'scheduled' || decided?.decision === 'approved') return never
  const times = slot?.state === 'unknown' ? [awaitedUntil(record, listening)] : []
  if (decided === undefined) {
    const ofRules = rules.map(({ match }) => match.time)
    times.push(nextBoundary(ofRules, now))
    if (policy.decide === 'approve') times.push(...ruleTimes(record, listening))
  }
  const isPast = (record.facts.notBeforeAt ?? never) <= now
  if (slot?.state === 'waits' && !isPast) {
    const from = policy.whenReady ? preparesFrom(record) : now
    times.push(Math.max(from, slot.at + slotEveryMs))
  }
  return Math.min(never, ...times.filter((at) => at > now))
}

/** When a rule that waits may approve, or gives up. */
function ruleTimes(record: EventRecord, listening: Listening): number[] {
  const { policy } = record
  const { now } = listening
  const { values, since } = disagreement(record, listening)
  const times = values.length > 0 ? [since + disagreeMs] : []
  if (!policy.whenReady && policy.maxConcurrent === undefined) return times
  const mayBeReady = preparesFrom(record) <= now && now < asksAt(record)
  const looks = mayBeReady ? [now + lookMs] : []
  return [...times, asksAt(record), awaitedUntil(record, listening), preparesFrom(record), ...looks]
}

/**
 * The rule that approved would not approve any more by what is known now, or a VM is not as the rule
 * read it, or not ready.
 */
function isOutgrown(record: EventRecord, rules: PolicyRule[]): boolean {
  const { decided, policy, sights, facts } = record
  if (decided?.how !== 'policy') return false
  const vms = knownVms(record)
  // that the rule's time ends is no growth
  const judged = judgePolicy(activeAt(rules, decided.at), record, vms)
  if (judged.decide !== 'approve' || judged.rule !== decided.who) return true
  const isOther = (read: ScopedVm) => {
    const vm = knownVm(read.name, vms)
    return vm !== undefined && !isAsRead(read, vm)
  }
  if (decided.scope?.vms?.some(isOther)) return true
  const isUnready = sights.some((one) => {
    const state = one.hooks?.prepare?.state
    return mayBeHit(facts, one) && state !== undefined && state !== 'succeeded'
  })
  return policy.whenReady === true && isUnready
}

/** Whether the approval still covers the event as it is known now. Only then is Azure told. */
export function isCovered(record: EventRecord, rules: PolicyRule[]): boolean {
  return isWithin(record.decided?.scope, record.facts) && !isOutgrown(record, rules)
}
