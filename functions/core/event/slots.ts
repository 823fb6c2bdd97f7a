// Slots: with `maxConcurrent`, the relay prepares and approves few VMs of one group at a time.
// `rule-approves.ts` lets an event wait for its slot. All holders of a fleet are in one row, which
// workers replace by compare-and-set. An event holds its slot to its end, also if people decide it,
// as its VMs may be prepared already.
import { isSameName } from '../../../shared/document.ts'
import { hash } from '../hash.ts'
import { knownVm, tagIn } from '../rules/match.ts'
import { mayTakeSlots, type PolicyRule, ruleFor } from '../rules/policy.ts'
import { knownVms } from './drill.ts'
import type { EventRecord, OpenRecord } from './event.ts'
import { type Facts, undecidable } from './facts.ts'
import type { HookState, Slot } from './hook-state.ts'
import { awaitedUntil } from './readiness.ts'
import { lastAccepted } from './scope.ts'
import {
  isAffected,
  type KnownVm,
  type Listening,
  lagMs,
  resourceGraph,
  type Sight,
} from './sight.ts'

/** How many VMs an event takes of each group. */
type Groups = Record<string, number>

export interface SlotRequest {
  /** VMs of one group that may be taken at a time. */
  max: number
  groups: Groups
}

/** An event that has its slot. A new epoch takes a new one, unless Azure was told before. */
export interface Holder {
  eventId: string
  epoch: number
  groups: Groups
}

/** `behind`: VMs of the events that come first, at most `maxBehind`. */
export type SlotAnswer = { outcome: 'held' } | { outcome: 'waits'; behind: string[] }

/** The slot that the event asked for, and what it got. */
export interface SlotAsked {
  wish: string
  answer: SlotAnswer
}

export const maxBehind = 5
/** An event that waits for its slot asks for it this often. */
export const slotEveryMs = 5_000
/** The groups of all holders together, so that the row stays small. */
const maxEntries = 2_000
/** If the row is full, each event that asks looks at so many that hold slots of other groups. */
const maxLooked = 5
/** Groups of one holder. Azure hits VMs of one set at a time, which has one group, or a few tags. */
const maxGroups = 50
const idLength = 32
/** An event that ended may come back: for so long, its holder is kept, and a doubtful end does not free its slot. */
const doubtMs = 5 * 60_000
/** A turn ends by then. `restore` itself may take 10 minutes. */
const restoreWithinMs = 15 * 60_000

/**
 * What the event takes. `unknown`: the beacon of an affected VM has not reported, so its group is
 * not known, or Azure names no VM.
 */
export function slotsNeeded(
  { match, maxConcurrent: max }: PolicyRule,
  record: EventRecord,
  vms: KnownVm[],
): SlotRequest | 'unknown' | undefined {
  if (max === undefined) return undefined
  if (record.facts.resources.length === 0) return 'unknown'
  const groups: Groups = {}
  for (const name of record.facts.resources) {
    const vm = knownVm(name, vms)
    if (vm === undefined) return 'unknown'
    const tag = match.tag?.map((wanted) => tagIn(vm.tags, wanted)).find((one) => one !== undefined)
    const group =
      tag === undefined
        ? [vm.resourceGroup.toLowerCase(), vm.scaleSet.toLowerCase()]
        : ['tag', tag.name.toLowerCase(), tag.value]
    const id = hash(JSON.stringify(group)).slice(0, idLength)
    groups[id] = (groups[id] ?? 0) + 1
  }
  return { max, groups }
}

/** The event alone has more VMs of a group than may be taken, or VMs of too many groups. */
export function isTooMuch({ max, groups }: SlotRequest): boolean {
  return countGroups(groups) > maxGroups || Object.values(groups).some((count) => count > max)
}

/** Identifies what an event takes. If it grows, it needs a new slot. */
export function slotRequestId({ groups }: SlotRequest): string {
  return hash(JSON.stringify(Object.entries(groups).sort())).slice(0, idLength)
}

type Own = Pick<EventRecord, 'eventId' | 'epoch'>

/**
 * The holders that matter to this event, without itself, one group after the other. If the row is full, a few others do
 * first, which change with time: one that is gone makes room.
 */
export function listRivals(
  holders: Holder[],
  own: Own,
  { groups }: SlotRequest,
  now: number,
): Holder[] {
  const others = holders.filter((one) => !isSame(one, own))
  const before = holders.find((one) => isSame(one, own))?.groups ?? {}
  const isFull = entriesIn(others) + countGroups(withMost(before, groups)) > maxEntries
  const looked = isFull ? takeSome(others, own, now) : []
  const rankOf = (one: Holder) => findShared(groups, one)
  return others
    .filter((one) => looked.includes(one) || rankOf(one) >= 0)
    .sort((one, other) => rankOf(one) - rankOf(other))
}

/** Which of these groups, in their order, is the first that the holder is in, too. -1: none. */
export function findShared(groups: Groups, holder: Holder): number {
  return Object.keys(groups).findIndex((id) => id in holder.groups)
}

/** Begins at another place each time, however often the event asks. */
function takeSome(holders: Holder[], { eventId }: Own, now: number): Holder[] {
  const place = hash(`${eventId} ${Math.floor(now / slotEveryMs)}`).slice(0, 8)
  const from = Number.parseInt(place, 16) % holders.length
  return holders.slice(from, from + maxLooked)
}

/**
 * The holders after this event asked for its slot. `ended`: holders that do not count. They leave if the
 * row is full. The same list if nothing changes.
 */
export function takeSlot(
  holders: Holder[],
  { eventId, epoch }: Own,
  { max, groups }: SlotRequest,
  ended: Holder[],
): { holders: Holder[]; isHeld: boolean } {
  const before = holders.find((one) => isSame(one, { eventId, epoch }))
  const others = holders.filter((one) => one !== before && !ended.includes(one))
  const taken = (id: string) => others.reduce((sum, one) => sum + (one.groups[id] ?? 0), 0)
  const all = withMost(before?.groups ?? {}, groups)
  const fits =
    Object.entries(groups).every(([id, count]) => taken(id) + count <= max) &&
    countGroups(all) <= maxGroups &&
    entriesIn(others) + countGroups(all) <= maxEntries
  // an event that grew keeps the slot that it had: its VMs may be prepared
  if (!fits) return { holders, isHeld: false }
  const isKnown = before?.epoch === epoch && JSON.stringify(before.groups) === JSON.stringify(all)
  if (isKnown) return { holders, isHeld: true }
  const rest = holders.filter((one) => one !== before)
  const isFull = entriesIn(rest) + countGroups(all) > maxEntries
  return { holders: [...(isFull ? others : rest), { eventId, epoch, groups: all }], isHeld: true }
}

/** Whether these holders alone leave too few VMs of one group for the event. */
export function areEnough(counting: Holder[], { max, groups }: SlotRequest): boolean {
  return Object.entries(groups).some(([id, count]) => {
    const taken = counting.reduce((sum, one) => sum + (one.groups[id] ?? 0), 0)
    return taken + count > max
  })
}

/** A slot never becomes smaller: a slower worker may have read the event before it grew. */
function withMost(before: Groups, groups: Groups): Groups {
  const most = Object.entries(groups).map(([id, count]) => [id, Math.max(count, before[id] ?? 0)])
  return { ...before, ...Object.fromEntries(most) }
}

/**
 * Whether a holder counts, by the stored record of its event. `ended`: the event is over and its VMs are back.
 * If the event comes back, the holder counts again. `gone`: the holder is not kept.
 */
export function judgeHolder(
  { epoch }: Holder,
  stored: EventRecord | undefined,
  now: number,
): 'counts' | 'ended' | 'gone' {
  if (stored === undefined) return 'gone'
  const { ended, decided, wait, sights, phase } = stored
  if (ended === undefined) {
    const isUnderWay = phase === 'started' || decided?.decision === 'approved'
    const keepsIt = isUnderWay || wait.slot !== undefined
    return stored.epoch === epoch || keepsIt ? 'counts' : 'gone'
  }
  if (mayBeBack(stored, now)) return 'counts'
  const isLate = now - ended.at >= restoreWithinMs
  if (!isLate && sights.some((sight) => isRestoring(stored, sight))) return 'counts'
  return now - ended.at < doubtMs ? 'ended' : 'gone'
}

/**
 * The event's end is a word alone, until one who knows lacks the event, or the word stood for a while: longer while its
 * VMs say nothing, as they may be down.
 */
function mayBeBack({ ended, facts, sights }: EventRecord, now: number): boolean {
  const lacks = sights.filter(({ missing }) => missing !== undefined)
  const isShown = lacks.some(
    (one) => (ended?.by === 'azure' && one.beacon === resourceGraph) || isAffected(facts, one),
  )
  if (ended?.by === undefined || isShown) return false
  const affected = sights.filter((one) => isAffected(facts, one))
  const areUp = affected.length > 0 && affected.every(({ heardAt }) => heardAt >= ended.at + lagMs)
  const mayBeDown = !areUp && !isGoneBy(facts)
  return now - ended.at < (mayBeDown ? restoreWithinMs : doubtMs)
}

/**
 * Until a VM is back and restored, it does not carry its load again, which the next VM would need. A VM
 * that restarts says nothing for a while.
 */
function isRestoring({ facts, ended }: EventRecord, sight: Sight): boolean {
  const { hooks = {}, restores, goodbye } = sight
  if (!isAffected(facts, sight)) return false
  if (hooks.restore !== undefined) return waiting.includes(hooks.restore.state)
  const isGone = isGoneBy(facts) || goodbye === 'removed'
  if (isGone || ended?.outcome === 'lost' || restores !== true) return false
  return hooks.prepare !== undefined && hooks.prepare.state !== 'planned'
}

/** Azure brings no VM back after these. */
const gone = ['Preempt', 'Terminate']

function isGoneBy({ eventType }: Facts): boolean {
  return gone.some((type) => isSameName(type, eventType))
}

const waiting: HookState['state'][] = ['planned', 'running', 'refused']

/**
 * The holder with the VMs that Azure added after it was told, when no new slot can stop the event.
 * Their groups are not looked up, so they count in each of the holder's groups.
 */
export function asGrown(holder: Holder, record: EventRecord): Holder {
  const taken = Object.values(holder.groups).reduce((sum, count) => sum + count, 0)
  const added = record.facts.resources.length - taken
  if (lastAccepted(record) === undefined || added <= 0) return holder
  const groups = Object.entries(holder.groups).map(([id, count]) => [id, count + added])
  return { ...holder, groups: Object.fromEntries(groups) }
}

/** Another epoch is the same event, too: an event is no rival of itself. */
function isSame(one: Own, other: Own): boolean {
  return one.eventId === other.eventId
}

function entriesIn(holders: Holder[]): number {
  return holders.reduce((sum, { groups }) => sum + countGroups(groups), 0)
}

function countGroups(groups: Groups): number {
  return Object.keys(groups).length
}

/** What the event must ask for under its rule. */
export function wishIn(
  rules: PolicyRule[],
  record: EventRecord,
): SlotRequest | 'unknown' | undefined {
  if (undecidable(record.facts) !== undefined) return undefined
  const vms = knownVms(record)
  const rule = ruleFor(rules, record, vms)
  return rule && slotsNeeded(rule, record, vms)
}

/** The record with the state of its slot. */
export function withSlot(
  record: OpenRecord,
  rules: PolicyRule[],
  wish: SlotRequest | 'unknown' | undefined,
  asked: SlotAsked | undefined,
  listening: Listening,
): OpenRecord {
  const { slot } = record.wait
  const { now } = listening
  if (wish === undefined) {
    const mayFollow = record.decided === undefined && now < awaitedUntil(record, listening)
    const isUnknown = mayFollow && mayTakeSlots(rules, record, knownVms(record))
    return withSlotState(record, isUnknown ? { state: 'unknown' } : undefined)
  }
  // it asks for its slot once it is stored
  const first: Slot = { state: 'waits', behind: [], at: now + 1 - slotEveryMs }
  const waiting: Slot = slot?.state === 'waits' ? slot : first
  if (wish === 'unknown' || isTooMuch(wish)) return withSlotState(record, waiting)
  const id = slotRequestId(wish)
  if (slot?.state === 'held' && slot.wish === id) return record
  if (asked?.wish !== id) return withSlotState(record, waiting)
  return withSlotState(
    record,
    asked.answer.outcome === 'held'
      ? { state: 'held', wish: id }
      : { state: 'waits', behind: asked.answer.behind, at: now },
  )
}

function withSlotState(record: OpenRecord, slot: Slot | undefined): OpenRecord {
  if (JSON.stringify(slot) === JSON.stringify(record.wait.slot)) return record
  const { slot: _, ...rest } = record.wait
  return { ...record, wait: slot === undefined ? rest : { ...rest, slot } }
}
