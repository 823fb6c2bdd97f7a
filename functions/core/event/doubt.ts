// A start that one alone tells of, who may be wrong: Event Grid, in whose name others may send, an onlooker, or a VM
// that named itself and that no document of the affected VMs names. If a
// minute later one who knows shows that the event waits, the event ends as that word had it. The next report
// opens it again (is-back.ts), so that people are asked anew.
import { hits } from '../../../shared/document.ts'
import { isOfAffected } from './directive.ts'
import { type Ended, type EventRecord, isOpen, type OpenRecord, type Started } from './event.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { namedByList } from './outside.ts'
import { openPaceMs } from './pace.ts'
import { endedAt } from './published.ts'
import { lastAccepted } from './scope.ts'
import {
  countDistinct,
  eventGrid,
  isAffected,
  isAzure,
  isSpeaker,
  type Listening,
  lagMs,
  listShowing,
  type Reporter,
  resourceGraph,
  type Sight,
  shownBy,
} from './sight.ts'

const never = Number.POSITIVE_INFINITY

/** Nobody told Azure, as far as its VMs or Resource Manager say, and NotBefore lies ahead. */
function cannotHaveStarted(record: EventRecord, now: number): boolean {
  const told = lastAccepted(record)
  if (isDue(record, now)) return false
  // an onlooker may say that Azure accepted what it never told Azure
  if (told === undefined) return true
  const isAzures = told.through !== undefined || told.beacon === undefined
  return !isAzures && !isOfAffected(record, told.beacon)
}

/** One alone told of the start, who is none of the affected VMs, or whom Azure's list does not name. */
export function isDoubtful({ by, vm }: Started, record: Claimable): boolean {
  if (by !== undefined) return true
  return vm !== undefined && (!hits(record.facts, vm) || isForeign(record, vm))
}

type Claimable = Pick<EventRecord, 'facts' | 'azure' | 'sights'>

/** Azure's list names other VMs, and no other VM shows the event as one of this VM. The list may call VMs otherwise. */
function isForeign({ azure, sights }: Claimable, vm: string): boolean {
  const listed = namedByList({ azure })
  if (listed.length === 0 || hits({ resources: listed }, vm)) return false
  const own = sights.find((one) => !isAzure(one) && one.vm === vm)
  const others = sights.filter((one) => one !== own && !isAzure(one) && one.missing === undefined)
  return others.every(({ shows }) => shows.names !== own?.shows.names)
}

/** After so many beacons told of starts that were none, none is believed that others contradict. */
const maxWrong = 2

/** A pace, and some time for the way. */
const recentMs = openPaceMs + 15_000

/**
 * A speaker shows that it waits. Azure's list is up to two minutes behind, so it speaks of this only once such a
 * word was wrong.
 */
export function isTooEarly(
  record: OpenRecord,
  by: Started['by'],
  { beacon: teller, vm, polledAt }: Reporter,
  listening: Listening,
): boolean {
  const { facts, wrongStart, sights } = record
  const wasWrongBefore = isWrongTeller(record, teller)
  const isSelfNamed = facts.namedOnce?.includes(vm.toLowerCase()) === true || isForeign(record, vm)
  if (by === undefined && !(wasWrongBefore && isSelfNamed)) return false
  if ((facts.notBeforeAt ?? Number.POSITIVE_INFINITY) <= listening.now) return false
  const wasWrong = record.backAt !== undefined
  // who was wrong before may have taken the event over, so that no other VM speaks for it
  const showing = wasWrongBefore ? listShowing(sights, listening) : []
  const waits = [...shownBy(record, listening), ...showing].filter(
    ({ beacon, shows }) => shows.status === 'Scheduled' && (beacon !== resourceGraph || wasWrong),
  )
  // one that fell silent may be restarting, as others say
  const isRecent = (one: Sight) => one.polledAt + recentMs >= polledAt
  if (wrongStart && waits.some((one) => isAffected(facts, one) && isRecent(one))) return true
  // the list is minutes old, and one that names itself may be made up: these deny only those who were wrong before
  const isWeak = (one: Sight) =>
    one.beacon === resourceGraph || (one.isHit === true && isRecent(one))
  const isDenied =
    by === 'azure' || areDistrusted(record)
      ? waits.some(({ beacon }) => beacon !== teller)
      : (wasWrongBefore && waits.some(isWeak)) ||
        (wrongStart !== undefined && mostWait(record, teller, 'Started', listening))
  return isDenied && cannotHaveStarted(record, listening.now)
}

type Wrong = Pick<EventRecord, 'wrongStart'>

function isWrongTeller({ wrongStart }: Wrong, beacon: string): boolean {
  return wrongStart === true || wrongStart?.includes(beacon) === true
}

/** So many were wrong that one is not believed while anybody shows otherwise. */
function areDistrusted({ wrongStart }: Wrong): boolean {
  return wrongStart === true || (wrongStart?.length ?? 0) >= maxWrong
}

/** Undefined if the report casts no doubt. */
export function endedByDoubt(
  record: EventRecord,
  reporter: Reporter,
  { shown }: EventNews,
  listening: Listening,
): { record: EventRecord; moments: Moment[] } | undefined {
  const { started } = record
  if (!isOpen(record) || started === undefined || shown?.status !== 'Scheduled') return undefined
  if (!isDoubtful(started, record)) return undefined
  const isSoon = reporter.polledAt < started.at + lagMs
  const { now } = listening
  if (isSoon || isDue(record, now) || !knows(record, reporter, shown, listening)) return undefined
  const over: Ended = { at: started.at, outcome: 'completed', by: 'doubt' }
  return { record: endedAt(record, over, reporter.vm), moments: ['completed'] }
}

/**
 * The affected VM knows, whatever a beacon says of what it told Azure. Others know better than who said it only
 * if nobody told Azure.
 */
function knows(
  record: EventRecord,
  reporter: Reporter,
  shown: NonNullable<EventNews['shown']>,
  listening: Listening,
): boolean {
  if (isAffected(record.facts, reporter)) return true
  const { beacon } = reporter
  const isBetter =
    record.started?.by === 'azure'
      ? beacon !== eventGrid
      : beacon === resourceGraph || mostWait(record, beacon, 'Scheduled', listening)
  const isOverForeign = beacon === resourceGraph && isForeign(record, record.started?.vm ?? '')
  const speaks = isOverForeign || (isBetter && isSpeaker(record, reporter, shown, listening))
  return speaks && cannotHaveStarted(record, listening.now)
}

/** With this beacon's word, more VMs show that the event waits than that it has started, and two at least. */
function mostWait(
  { sights }: EventRecord,
  beacon: string,
  status: Sight['shows']['status'],
  listening: Listening,
): boolean {
  const showing = listShowing(sights, listening).filter((one) => one.beacon !== beacon)
  const waiting = showing.filter(({ shows }) => shows.status === 'Scheduled')
  const others = showing.filter((one) => !waiting.includes(one))
  const own = Number(status === 'Scheduled')
  return countDistinct(waiting) + own > Math.max(1, countDistinct(others) + 1 - own)
}

function isDue({ facts }: EventRecord, now: number): boolean {
  return (facts.notBeforeAt ?? never) <= now
}
