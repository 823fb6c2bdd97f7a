// Joins what one report says of its events into the committed events, each by itself. A failure of one
// event does not keep the others from being stored.
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Directive, Refused } from '../../shared/report.ts'
import { agreedOf } from '../core/event/agreed.ts'
import { decideReport } from '../core/event/decide-report.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { Observer } from '../core/event/observer.ts'
import type { Seen } from '../core/event/pace.ts'
import type { EventNews, Reading } from '../core/event/reading.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent, readObservers } from './commit-event.ts'
import { contextOf, type Relay } from './relay.ts'
import { Room } from './room.ts'

/** If this many events of one report fail, the others wait for the next report. */
const maxFailures = 50

/** The results for the events of one report. */
interface Results {
  seen: Seen[]
  directives: Directive[]
  refused: Refused[]
  /** They have failed for so long that the rest of the report no longer waits for them. */
  unstored: Refused[]
  failures: unknown[]
}

export async function joinEvents(relay: Relay, reading: Reading, now: number): Promise<Results> {
  const { fleet, beacon } = reading.beacon
  const room = new Room(relay, fleet, beacon)
  const results: Results = { seen: [], directives: [], refused: [], unstored: [], failures: [] }
  for (const news of reading.news) {
    const { eventId } = news
    await relay.giveWay()
    const outcome = await joinOrFail(relay, reading, news, now, room)
    if ('failure' in outcome && outcome.isLasting) {
      results.unstored.push({ eventId, reason: 'the relay fails to store it, and logs why' })
    } else if ('failure' in outcome) {
      results.failures.push(outcome.failure)
      if (results.failures.length >= maxFailures || isOutage(outcome.failure)) break
    } else if ('refusal' in outcome) {
      results.refused.push({ eventId, reason: outcome.refusal })
    } else {
      const { record, watched } = outcome
      if (record !== undefined && news.inDocument) results.seen.push({ record, watched })
      if (outcome.directed && record !== undefined) results.directives.push(directiveOf(record))
    }
  }
  return results
}

/** Includes what was approved: the beacon starts an event only if its document shows no more. */
function directiveOf(record: EventRecord): Directive {
  const { eventId, verdict } = record
  return { eventId, ...(verdict?.agreed ?? agreedOf(record, false)) }
}

interface JoinedEvent {
  record: EventRecord | undefined
  directed: boolean
  /** A person opened its page lately, and a decision is still possible. */
  watched: boolean
}

/** If the storage itself fails, the next event would fail too, after the same wait. */
export function isOutage(failure: unknown): boolean {
  const codes = ['storage_unavailable', 'storage_forbidden', 'disk_full']
  return failure instanceof FoghornError && codes.includes(failure.code)
}

type Outcome = JoinedEvent | { refusal: string } | { failure: unknown; isLasting?: boolean }

async function joinOrFail(
  relay: Relay,
  reading: Reading,
  news: EventNews,
  now: number,
  room: Room,
): Promise<Outcome> {
  const { eventId } = news
  const { fleet, vm } = reading.beacon
  const event = { fleet, eventId }
  try {
    const outcome = await joinEvent(relay, reading, news, now, room)
    relay.failing.stored(event)
    return outcome
  } catch (failure) {
    // a further attempt would fail as well, and anyone with the fleet's key can cause it
    if (failure instanceof FoghornError && failure.code === 'row_too_large') {
      return { refusal: 'the event is too large to store' }
    }
    relay.log.error('event_failed', { fleet, eventId, vm, error: messageOf(failure) })
    // the store itself fails for all events, so they all wait
    return { failure, isLasting: !isOutage(failure) && relay.failing.failed(event, now) }
  }
}

async function joinEvent(
  relay: Relay,
  reading: Reading,
  news: EventNews,
  now: number,
  room: Room,
): Promise<Outcome> {
  const { beacon } = reading
  const key = { fleet: beacon.fleet, eventId: news.eventId }
  const context = contextOf(relay)
  const committed = await commitEvent(relay, key, {
    decide: (before, known) => decideReport(before, { reading, news }, known, context, now),
    now: () => now,
    load: {
      observers: (_asked, before) => observersWith(relay, key, before, reading.asObserver(news)),
      room: async (_asked, before) => ({ refusal: await room.refusal(before === undefined) }),
    },
    log: { event: 'event_stepped', fields: () => ({ vm: beacon.vm }) },
  })
  if (committed.outcome === 'busy') return { failure: 'busy' }
  const { decision, record } = committed
  if (decision.refusal !== undefined) return { refusal: decision.refusal }
  if (committed.outcome === 'committed' && record?.sequence === 1) room.noteNew()
  const { isDirected: directed, isWatched: watched } = decision
  return { record, directed, watched }
}

/** The committed observers, with what this report says of its own beacon. */
async function observersWith(
  { store }: Relay,
  key: EventKey,
  before: EventRecord | undefined,
  self: Observer,
): Promise<Observer[]> {
  const committed = await readObservers(store, key, before)
  return [...committed.filter((one) => one.beacon.beacon !== self.beacon.beacon), self]
}
