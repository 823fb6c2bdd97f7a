// What one beacon last showed of one event. An event is decided from its sights alone: those of all
// affected VMs, and of at most four onlookers. Laws 1 and 2.
import { hits, isSameName } from '../../../shared/document.ts'
import type { Goodbye } from '../../../shared/report.ts'
import { maxOnlookers } from '../limits.ts'
import type { Facts, Home } from './facts.ts'
import type { HookStates } from './hook-state.ts'
import type { Shown } from './shown.ts'

/** What rules read about a VM. Its own beacon reports it. */
export interface KnownVm {
  vm: string
  resourceGroup: string
  scaleSet: string
  tags: Record<string, string>
}

/** These fields are for inventories only. They are absent if unknown or empty. */
export interface Inventory {
  vmId?: string
  subscriptionId?: string
  placementGroup?: string
  zone?: string
  /** The VM's runner would run the hook `restore`. */
  restores?: true
  /** The VM's Kubernetes node, and what the node ran before it was drained. */
  node?: string
  workloads?: string[]
}

/** The beacon that sees, and its last report. */
export interface Reporter extends KnownVm, Inventory {
  /** The beacon's key, in lower case. */
  beacon: string
  bootId: string
  counter: number
  /** When the report was received. */
  heardAt: number
  /** Poll time of its newest document. */
  polledAt: number
  /** When its operating system started, by the relay's clock. */
  bootedAt: number
  goodbye?: Goodbye
}

/** What the sights of an event are judged by. */
interface Seen {
  facts: Named
  sights: Sight[]
}

export interface Missing {
  /** The first poll without the event, and the last one with it. */
  firstAt: number
  lastSeenAt: number
  /** The VM restarted in between. */
  restarted?: true
}

export interface Sight extends Reporter {
  /** The first poll that showed the event. */
  firstSeenAt: number
  /** The values of the last document that showed it. */
  shows: Shown
  /** The beacon's own document names its VM. */
  isHit?: true
  /** When the relay first heard that from this beacon. Absent in rows of before. */
  firstHeardAt?: number
  /** How often its document named other VMs than before. Absent: never. */
  renames?: number
  /** Set while the beacon's document lacks the event. */
  missing?: Missing
  /** Runs of its VM's hooks for the event. Absent if there are none. */
  hooks?: HookStates
}

/** The reporters of what Azure says outside the VMs, see published.ts. No beacon has these keys. */
export const eventGrid = 'azure'
export const resourceGraph = 'azure-list'

/** No VM: it names the VMs of others. */
export function isAzure({ beacon }: Pick<Reporter, 'beacon'>): boolean {
  return beacon === eventGrid || beacon === resourceGraph
}

/** If a VM that sees an event is not heard for this long, it is silent: three paces. */
const silentMs = 3 * 60_000
/** The relay reads again what Azure publishes every 5 min. */
const azureSilentMs = 15 * 60_000
/** A late document may show an event for at most this long after its end. */
export const lagMs = 60_000
/** A sight is written again after this time, to note that its VM is heard. */
const renewMs = 48_000

/** Silence counts only while the relay listens. */
export interface Listening {
  now: number
  /** Epoch ms. Before this time, the relay could hear no beacon. */
  listeningSince: number
}

type Named = Pick<Facts, 'resources' | 'selfNamed' | 'home'>

type Located = Pick<Reporter, 'beacon' | 'resourceGroup' | 'subscriptionId'>

/** Undefined if a report says nothing of a VM's place. */
export function readHome(one: Located): Home | undefined {
  const { resourceGroup, subscriptionId } = one
  if (isAzure(one) || resourceGroup === '') return undefined
  return { resourceGroup, ...(subscriptionId !== undefined && { subscriptionId }) }
}

/** The VM is in another place than the event's VMs, so it may have a name of theirs. What is unknown may be the same. */
export function isElsewhere({ home }: Pick<Facts, 'home'>, one: Located): boolean {
  const own = readHome(one)
  if (home === undefined || own === undefined) return false
  const { subscriptionId = home.subscriptionId ?? '' } = own
  const isOfGroup = isSameName(own.resourceGroup, home.resourceGroup)
  return !(isOfGroup && isSameName(subscriptionId, home.subscriptionId ?? subscriptionId))
}

/**
 * It is one of the event's VMs, and in no other place. One that only itself names is an onlooker. Azure's word from
 * outside is no VM, whatever it is called.
 */
export function isAffected(facts: Named, one: Located & Pick<Reporter, 'vm'>): boolean {
  return mayBeHit(facts, one) && !facts.selfNamed?.includes(one.vm.toLowerCase())
}

/** The reporter's own document names its VM, and the VM is where the event's VMs are. */
export function namesItself(facts: Named, one: Reporter, shown: Named): boolean {
  return isAffected(shown, one) && !isElsewhere(facts, one)
}

/** Has the name of one of the event's VMs, and is in no other place. It may be the only one to say so. */
export function mayBeHit(facts: Named, one: Located & Pick<Reporter, 'vm'>): boolean {
  return !isAzure(one) && hits(facts, one.vm) && !isElsewhere(facts, one)
}

function chooseSilentMs(sight: Sight): number {
  return isAzure(sight) ? azureSilentMs : silentMs
}

/** When the affected VMs that have not lacked the event since last showed it. */
export function lastShownAt({
  facts,
  sights,
}: {
  facts: Named
  sights: readonly Sight[]
}): number[] {
  const shown = sights.filter((one) => isAffected(facts, one) && one.missing === undefined)
  return shown.map(({ polledAt }) => polledAt)
}

export function heardAt(sight: Sight, { listeningSince }: Listening): number {
  return Math.max(sight.heardAt, listeningSince)
}

export function isHeard(sight: Sight, listening: Listening): boolean {
  return listening.now <= heardAt(sight, listening) + chooseSilentMs(sight)
}

/** When it falls silent, unless it is heard again. */
export function silentFrom(sight: Sight, listening: Listening): number {
  return heardAt(sight, listening) + chooseSilentMs(sight) + 1
}

/** The reporter is heard, and its document is recent: a beacon whose polls fail sees nothing. */
export function isSeeing(sight: Sight, listening: Listening): boolean {
  const polledAt = Math.max(sight.polledAt, listening.listeningSince)
  return isHeard(sight, listening) && listening.now <= polledAt + chooseSilentMs(sight)
}

/** The sights of VMs that show the event now. What Azure says outside the VMs is none. */
export function listShowing(sights: Sight[], listening: Listening): Sight[] {
  return sights.filter(
    (one) => !isAzure(one) && one.missing === undefined && isSeeing(one, listening),
  )
}

export function countDistinct(sights: Pick<Sight, 'vm'>[]): number {
  return new Set(sights.map(({ vm }) => vm.toLowerCase())).size
}

/** One VM: beacons of one name are one VM, and showing beats lacking. */
interface SeeingVm {
  sights: Sight[]
  /** Since when all of its beacons lack the event. Absent while one shows it. */
  lacksSince?: number
}

export function seeingVms(sights: Sight[], listening: Listening): SeeingVm[] {
  const seeing = sights.filter((one) => isSeeing(one, listening))
  return [...Map.groupBy(seeing, ({ vm }) => vm.toLowerCase()).values()].map((own) => {
    const lacking = own.flatMap(({ missing }) => (missing === undefined ? [] : [missing.firstAt]))
    return lacking.length < own.length
      ? { sights: own }
      : { sights: own, lacksSince: Math.max(...lacking) }
  })
}

/**
 * Lists the speakers, who say what the event is: the affected VMs that see it, else the onlookers. Others
 * may send in the name of Event Grid, so Event Grid speaks only if nobody else does.
 */
export function listSpeakers({ facts, sights }: Seen, listening: Listening): SeeingVm[] {
  const affected = sights.filter((one) => isAffected(facts, one))
  const speaking = seeingVms(affected, listening)
  if (speaking.length > 0) return speaking
  const onlookers = sights.filter((one) => !affected.includes(one))
  const others = onlookers.filter(({ beacon }) => beacon !== eventGrid)
  const heard = seeingVms(others, listening)
  return heard.length > 0 ? heard : seeingVms(onlookers, listening)
}

/** Whether this reporter is one of the speakers. Where an affected VM shows the event, none names itself. */
export function isSpeaker(
  { facts, sights }: Seen,
  reporter: Reporter,
  shown: Named,
  listening: Listening,
): boolean {
  if (isAffected(facts, reporter)) return true
  const affected = sights.filter((one) => isAffected(facts, one))
  const seeing = seeingVms(affected, listening)
  if (namesItself(facts, reporter, shown))
    return seeing.every(({ lacksSince }) => lacksSince !== undefined)
  return seeing.length === 0
}

/** The speakers that show the event now, without Event Grid. */
export function shownBy(record: Seen, listening: Listening): Sight[] {
  return listSpeakers(record, listening)
    .flatMap(({ sights }) => sights)
    .filter(({ beacon, missing }) => beacon !== eventGrid && missing === undefined)
}

/** Says who reported the start of the event. If `by` is set, others may show otherwise. */
export function saidBy(
  reporter: Reporter,
  facts: Named,
): { by?: 'azure' | 'onlooker'; vm?: string; onlooker?: string } {
  if (reporter.beacon === eventGrid) return { by: 'azure' }
  if (isAzure(reporter)) return {}
  return isAffected(facts, reporter)
    ? { vm: reporter.vm }
    : { by: 'onlooker', onlooker: reporter.beacon }
}

/**
 * The beacon whose sight is `known` sent this report before the one that the sight is from. Azure's counters
 * are times: one that lies ahead is from a clock that was wrong.
 */
export function isOlder({ bootId, counter, heardAt }: Reporter, known: Sight): boolean {
  return bootId === known.bootId && counter <= known.counter && known.counter <= heardAt
}

/**
 * The sights with that of this report. An onlooker gets a place if there is one, or takes that of an onlooker that is
 * silent. A VM that names itself also takes that of an onlooker that names only others. A beacon that is silent yields
 * to another one of its VM. Azure's own places are always free, and those of VMs that Azure's list names (`listed`).
 */
export function withSight(
  { facts, sights }: Seen,
  listed: string[],
  sight: Sight,
  listening: Listening,
): Sight[] {
  const isKnown = (one: Sight) =>
    isAffected(facts, one) ||
    isAzure(one) ||
    (hits({ resources: listed }, one.vm) && !isElsewhere(facts, one))
  const isSilent = (one: Sight) => !isHeard(one, listening)
  const kept = sights.filter(
    (one) => one.beacon === sight.beacon || !(isSilent(one) && isSameVm(one, sight)),
  )
  const place = kept.findIndex(({ beacon }) => beacon === sight.beacon)
  if (place !== -1) return kept.with(place, sight)
  if (isKnown(sight)) return [...kept, sight]
  const onlookers = kept.filter((one) => !isKnown(one))
  if (onlookers.length < maxOnlookers) return [...kept, sight]
  const yields = (one: Sight) => sight.isHit === true && one.isHit !== true
  const last = onlookers.find(isSilent) ?? onlookers.findLast(yields)
  return last === undefined ? sights : [...kept.filter((one) => one !== last), sight]
}

function isSameVm(one: KnownVm, other: KnownVm): boolean {
  return isSameName(one.vm, other.vm) && isSameName(one.resourceGroup, other.resourceGroup)
}

/** Whether the two differ in more than the time, so that the sight must be written. */
export function isNews(known: Sight | undefined, sight: Sight): boolean {
  if (known === undefined || sight.heardAt - known.heardAt >= renewMs) return true
  if (Math.abs(sight.bootedAt - known.bootedAt) >= bootLagMs) return true
  return JSON.stringify(lasting(known)) !== JSON.stringify(lasting(sight))
}

/** Reports take different times to arrive, so the start of the system seems to move. */
const bootLagMs = 60_000

function lasting({ counter: _c, heardAt: _h, polledAt: _p, bootedAt: _b, ...rest }: Sight) {
  return rest
}

/** The beacon that alone reports the event: it counts against it. Beside Azure's list, Event Grid counts no more. */
export function findOnlyBeacon({ sights }: { sights: Sight[] }): string | undefined {
  const isListed = sights.some(({ beacon }) => beacon === resourceGraph)
  const counted = sights.filter(({ beacon }) => !isListed || beacon !== eventGrid)
  return counted.length === 1 ? counted[0]!.beacon : undefined
}
