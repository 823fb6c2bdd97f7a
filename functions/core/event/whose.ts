// Who may say which VMs an event affects: those VMs themselves, Azure's list, and, while nobody of them speaks, others.
import { hits } from '../../../shared/document.ts'
import { maxOnlookers } from '../limits.ts'
import type { EventRecord } from './event.ts'
import type { Facts } from './facts.ts'
import { differs, toShown } from './shown.ts'
import {
  isAffected,
  isSeeing,
  type Listening,
  lagMs,
  namesItself,
  type Reporter,
  resourceGraph,
  type Sight,
} from './sight.ts'
import { firstVms } from './tidy.ts'
import { hasClaim, isOutvoted, isUnlisted } from './weight.ts'

/** `isAdded`: a VM names itself for the first time. `isWeightier`: see `outweighs`. */
export interface Word {
  isAdded: boolean
  isWeightier: boolean
}

/** Whether another VM has a claim to the event. */
export function hasSpoken(
  record: EventRecord,
  { beacon }: Reporter,
  listening: Listening,
): boolean {
  return record.sights.some((one) => one.beacon !== beacon && hasClaim(record, one, listening))
}

/**
 * An affected VM, or one that names itself while no other VM has a claim, Azure's list names none, and no more VMs name
 * others.
 */
export function speaksForIt(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  if (isAffected(record.facts, reporter)) return true
  return (
    !isUnlisted(record, reporter, listening) &&
    !isOutvoted(record, reporter, shown, listening) &&
    !hasSpoken(record, reporter, listening) &&
    namesItself(record.facts, reporter, shown)
  )
}

/** Whether an onlooker may say whose event it is. Azure's list is no VM, so no VMs outvote it. */
export function mayNameVms(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  if (reporter.beacon === resourceGraph) return true
  const leavesOut = dropsSpeakers(record, reporter, shown, listening)
  return !leavesOut && !isOutvoted(record, reporter, shown, listening)
}

/** Whether an onlooker leaves out a VM that has a claim to the event. */
function dropsSpeakers(
  record: EventRecord,
  { beacon }: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  const claiming = record.sights.filter(
    (one) => one.beacon !== beacon && hasClaim(record, one, listening),
  )
  return !claiming.every(({ vm }) => hits(shown, vm))
}

/** Whether this is the reporter's first document that names it. */
export function addsItself(
  { facts, sights, changed, firstSeenAt }: EventRecord,
  reporter: Reporter,
  shown: Facts,
): boolean {
  const known = sights.find(({ beacon }) => beacon === reporter.beacon)
  const isNew =
    known === undefined ? reporter.polledAt > (changed?.at ?? firstSeenAt) : known.isHit !== true
  // an approval is void by one of them, and the others are named by documents of affected VMs soon
  const once = facts.namedOnce ?? facts.selfNamed ?? []
  const hasRoom = once.length < maxOnlookers && !once.includes(reporter.vm.toLowerCase())
  return isNew && hasRoom && namesItself(facts, reporter, shown) && !hits(facts, reporter.vm)
}

/**
 * Whether the names stay although this document lacks some: it may lag behind Azure, which has just added a VM, or
 * the VMs that it lacks go on showing themselves.
 */
export function keepsVms(
  { facts, sights, changed }: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  const lacked = facts.resources.filter((name) => !hits(shown, name)).map((n) => n.toLowerCase())
  const isSelfNamed = (name: string) => facts.selfNamed?.includes(name) === true
  const isNew = reporter.polledAt < (changed?.at ?? 0) + lagMs
  const known = toShown({ ...facts, status: 'Scheduled' })
  const isBacked = sights.some(
    ({ vm, shows }) =>
      lacked.includes(vm.toLowerCase()) &&
      isSelfNamed(vm.toLowerCase()) &&
      !differs('resources', known, shows),
  )
  if (isBacked && isNew) return true
  return sights.some(
    (one) =>
      one.beacon !== reporter.beacon &&
      one.isHit === true &&
      one.missing === undefined &&
      lacked.includes(one.vm.toLowerCase()) &&
      !isSelfNamed(one.vm.toLowerCase()) &&
      isSeeing(one, listening),
  )
}

/** The VMs that named themselves. If a reporter knows the event's VMs, the VMs that it names are left out. */
export function selfNamedAfter(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  { isAdded, isWeightier }: Word,
  listening: Listening,
): string[] {
  const before = record.facts.selfNamed ?? []
  const isContested =
    hasSpoken(record, reporter, listening) ||
    isUnlisted(record, reporter, listening) ||
    isOutvoted(record, reporter, shown, listening)
  if (isAdded && isContested) return [...before, reporter.vm.toLowerCase()]
  if (isListOfVms(record, reporter, shown)) {
    return record.facts.resources.filter((name) => !hits(shown, name)).map((n) => n.toLowerCase())
  }
  const knows =
    reporter.beacon === resourceGraph ||
    isWeightier ||
    speaksForIt(record, reporter, shown, listening)
  if (knows) return before.filter((name) => !hits(shown, name))
  if (!hasSpoken(record, reporter, listening)) return before
  // a VM that only others name while its own VMs have a claim is none of these
  const added = shown.resources.filter((name) => !hits(record.facts, name))
  return [...before, ...added.map((name) => name.toLowerCase())]
}

/** Azure's list, which names a VM as that VM names itself: so it names VMs as their documents do. */
function isListOfVms({ sights }: EventRecord, { beacon }: Reporter, shown: Facts): boolean {
  const names = (one: Sight) => one.isHit === true && hits(shown, one.vm)
  return beacon === resourceGraph && sights.some((one) => one.missing === undefined && names(one))
}

export function withSelfNamed(facts: Facts, names: string[]): Facts {
  const { selfNamed: _, ...rest } = facts
  const left = names.filter((name) => hits(facts, name))
  return { ...withNamedOnce(rest, left), ...(left.length > 0 && { selfNamed: left }) }
}

/** Notes that these VMs, at first, only named themselves. */
export function withNamedOnce(facts: Facts, names: string[]): Facts {
  const { namedOnce = [], ...rest } = facts
  const lower = names.map((name) => name.toLowerCase())
  const once = [...new Set([...namedOnce, ...lower])].slice(0, maxOnlookers)
  return { ...rest, ...(once.length > 0 && { namedOnce: once }) }
}

/** Azure's list names them, so they are the event's own whatever they said first. */
export function withListed(facts: Facts, listed: Facts): Facts {
  const { namedOnce = [], ...rest } = facts
  return withNamedOnce(
    rest,
    namedOnce.filter((name) => !hits(listed, name)),
  )
}

/** Adds one more VM, in the limits of one event's names. Which others there are, their own documents say. */
export function withName(
  { resources, vmCount }: Facts,
  vm: string,
): Pick<Facts, 'resources' | 'vmCount'> {
  const one = firstVms([...resources, vm])
  return vmCount === undefined ? one : { ...one, vmCount: Math.max(vmCount, one.vmCount ?? 0) }
}
