// Whose word counts where VMs contradict each other on which VMs an event affects: Azure's list, then what more VMs
// show, then who came first.
import { hits } from '../../../shared/document.ts'
import type { EventRecord } from './event.ts'
import type { Facts } from './facts.ts'
import {
  countDistinct,
  isAffected,
  isAzure,
  isOfNamed,
  isSeeing,
  type Listening,
  lagMs,
  listShowing,
  namesDigest,
  namesItself,
  type Reporter,
  resourceGraph,
  type Sight,
} from './sight.ts'

/**
 * Whether this document counts more than those of all that count as affected now. Azure's list does, if it lacks them
 * and a VM shows the same names. A VM that names itself does, if Azure's list names that VM and none of them, or if
 * more VMs show its names than theirs, or, of equally many, if that VM came first.
 */
export function outweighs(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  listening: Listening,
): boolean {
  const { facts, sights, changed, firstSeenAt } = record
  const own = sights.find((one) => one.beacon === reporter.beacon)
  const names = namesDigest(shown.resources, shown.vmCount)
  const affected = sights.filter(
    (one) => one !== own && isAffected(facts, one) && one.shows.names !== names,
  )
  // while Azure changes the event, documents lag
  const isSoon = reporter.polledAt < Math.max(changed?.at ?? 0, firstSeenAt) + lagMs
  if (affected.length === 0 || (isOfNamed(reporter, facts) && isSoon)) return false
  const isListed = (vm: string) => listedVms(record, listening).includes(vm.toLowerCase())
  const votes = countVotes(record, reporter, listening)
  const shownByVms = (list: string | undefined) => votes.get(list) ?? 0
  if (reporter.beacon === resourceGraph)
    return shownByVms(names) > 0 && !affected.some(({ vm }) => hits(shown, vm))
  if (own?.isHit !== true || !namesItself(facts, reporter, shown)) return false
  const heardFirst = ({ firstHeardAt = 0 }: Sight) => -firstHeardAt
  const weigh = (one: Sight, votes: number) => [Number(isListed(one.vm)), votes, heardFirst(one)]
  const weight = weigh(own, 1 + shownByVms(names))
  return affected.every((one) => {
    const other = weigh(one, shownByVms(one.shows.names))
    const i = weight.findIndex((value, at) => value !== other[at])
    return i !== -1 && weight[i]! > other[i]!
  })
}

/** How many other VMs that see the event show each list of names. */
function countVotes(
  { sights }: EventRecord,
  { beacon }: Reporter,
  listening: Listening,
): Map<string | undefined, number> {
  const others = listShowing(sights, listening).filter((one) => one.beacon !== beacon)
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
  const own = 1 + (votes.get(namesDigest(shown.resources, shown.vmCount)) ?? 0)
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
export function isUnlisted(record: EventRecord, { vm }: Reporter, listening: Listening): boolean {
  const listed = listedVms(record, listening)
  return listed.length > 0 && !listed.includes(vm.toLowerCase())
}
