// A start that one alone tells of, who may be wrong: Event Grid, in whose name others may send, an onlooker, or a VM
// that named itself and that no document of the affected VMs names. If a
// minute later one who knows shows that the event waits, the event ends as that word had it. The next report
// opens it again (is-back.ts), so that people are asked anew.
import { hits } from '../../../shared/document.ts'
import { type Ended, type EventRecord, isOpen } from './event.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { endedAt } from './published.ts'
import { lastAccepted } from './scope.ts'
import {
  eventGrid,
  isOfNamed,
  isSpeaker,
  type Listening,
  lagMs,
  type Reporter,
  resourceGraph,
} from './sight.ts'

const never = Number.POSITIVE_INFINITY

/** Nobody told Azure, and NotBefore lies ahead. */
export function cannotHaveStarted(record: EventRecord, now: number): boolean {
  return lastAccepted(record) === undefined && !isDue(record, now)
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
  const { by, vm } = started
  const isDoubtful = by !== undefined || (vm !== undefined && !hits(record.facts, vm))
  if (!isDoubtful) return undefined
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
  if (isOfNamed(reporter, record.facts)) return true
  const { beacon } = reporter
  const isBetter = record.started?.by === 'azure' ? beacon !== eventGrid : beacon === resourceGraph
  const speaks = isBetter && isSpeaker(record, reporter, shown, listening)
  return speaks && cannotHaveStarted(record, listening.now)
}

function isDue({ facts }: EventRecord, now: number): boolean {
  return (facts.notBeforeAt ?? never) <= now
}
