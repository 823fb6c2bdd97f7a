// Whose word counts where VMs contradict each other on which VMs an event affects: Azure's list, then what more VMs
// show, then who came first.
import { hits } from '../../../shared/document.ts'
import type { EventRecord } from './event.ts'
import type { Facts, Values } from './facts.ts'
import { namedByList } from './outside.ts'
import { differs, namesDigest } from './shown.ts'
import {
  countDistinct,
  heardAt,
  isAffected,
  isAzure,
  isSeeing,
  type Listening,
  lagMs,
  listShowing,
  namesItself,
  type Reporter,
  resourceGraph,
  type Sight,
} from './sight.ts'

/** A VM that was the first to claim an event, and then fell silent, keeps others from it for this long. */
const claimMs = 10 * 60_000

/** An affected VM has a claim to the event: also if it has just lost it from sight, or is silent for a while. */
export function hasClaim(
  { facts }: Pick<EventRecord, 'facts'>,
  one: Sight,
  listening: Listening,
): boolean {
  const lacksLong = one.missing !== undefined && listening.now > one.missing.firstAt + lagMs
  return isAffected(facts, one) && !lacksLong && listening.now <= heardAt(one, listening) + claimMs
}

/** Azure changes the VMs of an event a few times. A VM whose document does so more often does not make others wait. */
const maxRenames = 3

/**
 * Whether this document counts more than those of all that count as affected now. Azure's list does, if it lacks them
 * and a VM shows the same names. A VM that names itself does, if Azure's list names that VM and none of them, or if
 * more VMs show its names than theirs, or, of equally many, if that VM came first. A VM that names others does, if
 * Azure's list or a second VM shows the same names, and more than show theirs. Without Azure's list, no document
 * counts more if most VMs show other names than it has.
 */
export function outweighs(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  const { facts, sights } = record
  const own = sights.find((one) => one.beacon === reporter.beacon)
  const names = namesDigest(shown.resources, shown.vmCount)
  const affected = sights.filter(
    (one) => one !== own && isAffected(facts, one) && one.shows.names !== names,
  )
  if (affected.length === 0 || names === undefined) return false
  const votes = countVotes(record, reporter, listening)
  const shownByVms = (list: string | undefined) => votes.get(list) ?? 0
  if (mayAgree(affected, reporter, shown)) return false
  if (reporter.beacon === resourceGraph) return shownByVms(names) > 0
  const isOwn = own?.isHit === true && namesItself(facts, reporter, shown)
  if ((!isOwn || isAffected(facts, reporter)) && mayLag(record, reporter, affected)) return false
  const isListed = judgeByList(record, listening)
  const count = countVoice(own) + shownByVms(names)
  const isOnList = isListed(isOwn ? own.vm : '', names)
  // others may show a third list, which those that count now do not
  const isFew = (!isOwn && count < 2) || isOutvoted(record, reporter, shown, listening)
  if (isFew && !isOnList) return false
  const cameAt = isOwn ? (own.firstHeardAt ?? 0) : Number.POSITIVE_INFINITY
  const weight = [Number(isOnList), count, -cameAt]
  return affected.every((one) => {
    const { vm, shows, missing, firstHeardAt = 0 } = one
    // one that has fallen silent keeps its voice as long as its claim
    const voice = Number(missing === undefined && hasClaim(record, one, listening))
    const shownBy = Math.max(shownByVms(shows.names), voice)
    return isMore(weight, [Number(isListed(vm, shows.names)), shownBy, -firstHeardAt])
  })
}

/** Whether Azure's list names a VM, or the same VMs. */
function judgeByList(record: EventRecord, listening: Listening) {
  const listed = listedVms(record, listening)
  const list = record.sights.find(({ beacon }) => beacon === resourceGraph)
  return (vm: string, names?: string) =>
    listed.includes(vm.toLowerCase()) || (listed.length > 0 && list?.shows.names === names)
}

/** The first value that differs is more. */
function isMore(one: number[], other: number[]): boolean {
  const i = one.findIndex((value, at) => value !== other[at])
  return i !== -1 && one[i]! > other[i]!
}

/**
 * The document names one of those that it differs from, which was heard just now: one of them lags. One that has fallen
 * silent speaks for no other.
 */
function mayAgree(affected: Sight[], { polledAt }: Reporter, shown: Facts): boolean {
  const named = affected.filter(({ vm }) => hits(shown, vm))
  const isRecent = ({ missing, polledAt: at }: Sight) =>
    missing === undefined && at + lagMs >= polledAt
  return named.length === affected.length || named.some(isRecent)
}

/** Azure changes the VMs of an event a few times. Who shows others more often says nothing. */
function isSteady({ renames = 0 }: Pick<Sight, 'renames'>): boolean {
  return renames <= maxRenames
}

function countVoice(own: Sight | undefined): 0 | 1 {
  return own === undefined || isSteady(own) ? 1 : 0
}

/** While Azure changes the VMs of an event, documents lag. */
function mayLag(
  { changed, firstSeenAt }: EventRecord,
  { polledAt }: Reporter,
  others: Sight[],
): boolean {
  const changedAt = changed?.names.includes('resources') ? changed.at : 0
  return others.every(isSteady) && polledAt < Math.max(changedAt, firstSeenAt) + lagMs
}

/**
 * Whether more show the reporter's value than the known one, where no affected VM shows the event. Azure's list counts
 * as one VM; of equally many, it decides. What nobody else shows any more yields.
 */
export function isMostShown(
  name: keyof Values,
  record: EventRecord,
  others: Sight[],
  reporter: Reporter,
  { known, own }: { known: Sight['shows']; own: Sight['shows'] },
  listening: Listening,
): boolean {
  const { changed } = record
  // a list that is older than the change says nothing of it
  const isOld = (one: Sight) =>
    one.beacon === resourceGraph && changed?.names.includes(name) && one.polledAt < changed.at
  const counted = others.filter((one) => !isOld(one))
  const showing = (value: Sight['shows']) =>
    counted.filter(({ shows }) => !differs(name, value, shows))
  const before = showing(known)
  const after = [...showing(own), reporter]
  if (before.length === 0) {
    // what the old list still shows, one VM alone does not change
    const isListed = others.some(({ shows }) => !differs(name, known, shows))
    return !isListed || countDistinct(after.filter((one) => !isAzure(one))) > 1
  }
  const list = weighList(name, record, listening)
  return weigh(after, list) > weigh(before, list)
}

/** A VM weighs 2. The list is as much, or more than one VM and less than two. */
function weigh(some: Pick<Reporter, 'beacon' | 'vm'>[], list: number): number {
  const vms = some.filter((one) => !isAzure(one))
  return 2 * countDistinct(vms) + (some.some(({ beacon }) => beacon === resourceGraph) ? list : 0)
}

/** The list may call VMs otherwise, and does not have all that their documents have. */
function weighList(name: keyof Values, record: EventRecord, listening: Listening): number {
  if (name === 'resources') return listedVms(record, listening).length > 0 ? 3 : 2
  return name === 'description' || name === 'durationSeconds' ? 2 : 3
}

/** How many other VMs that see the event show each list of names. */
function countVotes(
  { sights }: EventRecord,
  { beacon }: Reporter,
  listening: Listening,
): Map<string | undefined, number> {
  const others = listShowing(sights, listening).filter(
    (one) => one.beacon !== beacon && isSteady(one),
  )
  const byNames = Map.groupBy(others, ({ shows }) => shows.names)
  return new Map([...byNames].map(([names, some]) => [names, countDistinct(some)]))
}

/** More VMs show one other list of names than the reporter's. */
export function isOutvoted(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  const votes = countVotes(record, reporter, listening)
  const sight = record.sights.find((one) => one.beacon === reporter.beacon)
  const own = countVoice(sight) + (votes.get(namesDigest(shown.resources, shown.vmCount)) ?? 0)
  return Math.max(0, ...votes.values()) > own
}

/**
 * The VMs that Azure's list shows now, in lower case. Empty if it names no VM as VMs do: then it may call all of them
 * otherwise.
 */
function listedVms({ sights, azure }: EventRecord, listening: Listening): string[] {
  const list = sights.find(({ beacon }) => beacon === resourceGraph)
  const { listed, names = [] } = azure.outside ?? {}
  if (!listed || list === undefined || list.missing || !isSeeing(list, listening)) return []
  const isNamed = (one: Sight) => one.isHit === true && hits({ resources: names }, one.vm)
  const isKnown =
    azure.outside?.vms?.some(({ vm }) => hits({ resources: names }, vm)) ||
    sights.some((one) => !isAzure(one) && (isNamed(one) || one.shows.names === list.shows.names))
  return isKnown ? names.map((name) => name.toLowerCase()) : []
}

/** Azure's list names VMs of the event, and not the reporter's. */
export function isUnlisted(
  record: EventRecord,
  { beacon, vm }: Reporter,
  listening: Listening,
): boolean {
  const listed = listedVms(record, listening)
  if (listed.length > 0) return !listed.includes(vm.toLowerCase())
  // while the list alone has named VMs, the first one that names itself may be anybody
  const { sights } = record
  const list = sights.find((one) => one.beacon === resourceGraph)
  const isAlone = sights.every((one) => isAzure(one) || one.beacon === beacon || one.isHit !== true)
  const names = namedByList(record)
  const isShown = list !== undefined && list.missing === undefined && isSeeing(list, listening)
  return isAlone && isShown && names.length > 0 && !hits({ resources: names }, vm)
}
