// How often beacons report: a few often while a decision can be near, all others slowly.
import { isOfAffected, isWordOfOther } from './directive.ts'
import type { EventRecord } from './event.ts'
import { isOpen } from './event.ts'
import { isAffected, isAzure, isSeeing, type Listening, type Sight } from './sight.ts'

export const openPaceMs = 60_000
export const nearPaceMs = 2_000
/** If NotBefore is nearer than this, people may be deciding. */
export const nearMs = 30 * 60_000
/** The answer to a watcher is held this long. Azure's Application Gateway gives up after 20 s. */
export const holdMs = 15_000
/** VMs that report often while a decision is near. */
const maxWatchers = 4

/**
 * Whether Azure may have to be told of an approval within seconds. `watched`: its page was opened
 * lately.
 */
export function isDecisionNear(record: EventRecord, now: number, watched: boolean): boolean {
  if (!isOpen(record) || record.phase !== 'scheduled' || record.azure.accepted !== undefined)
    return false
  if (isUnderWay(record)) return true
  if (record.policy.decide === 'ignore') return false
  return watched || isNotBeforeNear(record, now)
}

/** Whether people may be deciding: NotBefore is near or unknown. */
export function isNotBeforeNear({ facts: { notBeforeAt } }: EventRecord, now: number): boolean {
  return notBeforeAt === undefined || notBeforeAt - now <= nearMs
}

/** The beacons that report often: of affected VMs first, then those that have seen the event for longest. */
function listWatchers({ facts, sights }: EventRecord, listening: Listening): string[] {
  const rank = (one: Sight) => (isAffected(facts, one) ? 0 : 1)
  return sights
    .filter((one) => !isAzure(one))
    .filter((one) => one.missing === undefined && isSeeing(one, listening))
    .sort((a, b) => rank(a) - rank(b) || a.firstSeenAt - b.firstSeenAt)
    .slice(0, maxWatchers)
    .map(({ beacon }) => beacon)
}

/** What an event asks of a beacon that sees it. The record itself may have 400 kB, and a beacon sees 100 events. */
export interface Seen {
  /** The beacon reports often. */
  isOften: boolean
  /** An approval waits, so all that see the event report often. */
  isUnderWay: boolean
}

/** `watched`: the event's page was opened lately. */
export function seenBy(
  beacon: string,
  record: EventRecord,
  watched: boolean,
  listening: Listening,
): Seen {
  const { now } = listening
  const waits = isUnderWay(record)
  const isNear = isDecisionNear(record, now, watched)
  const isWatcher = () => waits || listWatchers(record, listening).includes(beacon)
  const isOften = mayTellToo(record, beacon, now) || (isNear && isWatcher())
  return { isOften, isUnderWay: waits }
}

/** The pace of a beacon that sees these events. `idleMs` is the host's, because it costs money. */
export function paceFor(seen: Seen[], idleMs: number): number {
  if (seen.some(({ isOften }) => isOften)) return nearPaceMs
  // ended events count as well: only further reports show whether such an event is back
  return seen.length > 0 ? openPaceMs : idleMs
}

/**
 * How long the relay may hold its answer to the next report of a beacon with this pace. Undefined
 * if it must not: an approval under way has a lease, so another beacon may have to start the event.
 */
export function holdFor(seen: Seen[], paceMs: number): number | undefined {
  const isFree = paceMs === nearPaceMs && !seen.some(({ isUnderWay }) => isUnderWay)
  return isFree ? holdMs : undefined
}

/** Another beacon says that Azure accepted: the affected VM's own one soon tells Azure, too. */
function mayTellToo(record: EventRecord, beacon: string, now: number): boolean {
  const { sights, phase, azure } = record
  const { accepted } = azure
  if (!isOpen(record) || phase !== 'scheduled' || accepted === undefined) return false
  const own = sights.find((one) => one.beacon === beacon)
  const isWord = isOfAffected(record, beacon) && isWordOfOther(accepted, own!)
  return isWord && now < accepted.at + openPaceMs
}

function isUnderWay({ decided, azure }: EventRecord): boolean {
  return decided?.decision === 'approved' && azure.accepted === undefined
}

/** Whether beacons with a held answer must report again after this commit, to get what is new. */
export function concernsBeacons(before: EventRecord | undefined, after: EventRecord): boolean {
  const orders = (record: EventRecord) => [
    record.decided?.decision,
    record.decided?.at,
    record.wait.prepareNow?.at,
    record.wait.slot?.state,
  ]
  return before !== undefined && orders(before).some((one, i) => one !== orders(after)[i])
}
