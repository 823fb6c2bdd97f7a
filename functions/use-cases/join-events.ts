// Joins what one report says of its events into the committed events, each by itself. A failure of one
// event does not keep the others from being stored.
import { isSameName } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Answer, Directive, Refused } from '../../shared/report.ts'
import { decideReport } from '../core/event/decide.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import type { EventNews, Reading } from '../core/event/news.ts'
import { isDecisionNear, type Seen, seenBy } from '../core/event/pace.ts'
import { preparationFor } from '../core/event/preparation.ts'
import type { Reporter } from '../core/event/sight.ts'
import { commitEvent } from './commit-event.ts'
import { isOpenedLately } from './opened.ts'
import { buildContext, type Relay } from './relay.ts'
import { takeSlotIfDue } from './take-slot.ts'

/** The results for the events of one report. */
export interface Joined {
  seen: Seen[]
  /** When this VM must run `prepare`, if not by its own plan. */
  preparations: Answer['preparations']
  /** Open events that this beacon lacks now, and has shown before. */
  lacking: string[]
  directives: Directive[]
  refused: Refused[]
}

/** Does the work when others had their turn. `full`: too many wait. */
export type InTurn = <Done>(work: () => Promise<Done>) => Promise<Done | 'full'>

export const atOnce: InTurn = (work) => work()

/**
 * `busy`: other workers were always faster for one of the events, or too many wait for their turn. Throws the first
 * failure. The other events are stored in both cases.
 */
export async function joinEvents(
  relay: Relay,
  reading: Reading,
  now: number,
  inTurn: InTurn,
): Promise<Joined | 'busy'> {
  const joined: Joined = {
    ...{ seen: [], preparations: [], lacking: [], directives: [], refused: [] },
  }
  const failures: unknown[] = []
  let isBusy = false
  let full: string | undefined
  const refusal = async () => {
    const { fleet, beacon } = reading.beacon
    full ??= await relay.work.openLimits.forEvent(fleet, beacon)
    return full
  }
  for (const [i, news] of reading.news.entries()) {
    if (i > 0 && i % eventsPerTurn === 0) await relay.host.pause()
    try {
      const outcome = await inTurn(() => joinOne(relay, reading.reporter, news, now, refusal))
      if (outcome === 'busy' || outcome === 'full') isBusy = true
      else await note(relay, joined, reading, news, outcome, now)
    } catch (error) {
      // a further attempt would fail as well, and the beacon's other events must go on
      const reason = lastingReason(error)
      if (reason !== undefined) {
        joined.refused.push({ eventId: news.eventId, reason })
        continue
      }
      const { fleet, vm } = reading.beacon
      const fields = { fleet, eventId: news.eventId, vm, error: messageOf(error) }
      relay.log.error('event_failed', fields)
      failures.push(error)
      if (isOutage(error)) break
    }
  }
  if (failures.length > 0) throw failures[0]
  return isBusy ? 'busy' : joined
}

/** A record may have 400 kB, which takes milliseconds to read. */
const eventsPerTurn = 5

/**
 * Reasons by the code of an error that a repetition would not end. Anyone with the fleet's key can cause
 * the first.
 */
const lasting: Record<string, string> = {
  row_too_large: 'the event is too large to store',
  data_damaged: 'what the relay stored of the event is damaged',
}

export function lastingReason(error: unknown): string | undefined {
  return error instanceof FoghornError ? lasting[error.code] : undefined
}

/** If the storage itself fails, the next event would fail too, after the same wait. */
export function isOutage(failure: unknown): boolean {
  const codes = ['storage_unavailable', 'storage_forbidden', 'disk_full']
  return failure instanceof FoghornError && codes.includes(failure.code)
}

interface Outcome {
  record: EventRecord | undefined
  isDirected: boolean
  refusal?: string | undefined
}

/** One event of a report, or what Azure publishes of one. */
export async function joinOne(
  relay: Relay,
  reporter: Reporter,
  news: EventNews,
  now: number,
  refusal: () => Promise<string | undefined>,
): Promise<Outcome | 'busy'> {
  const context = buildContext(relay)
  const committed = await commitEvent(relay, news, {
    readBeside: async (before) => ({
      refusal: before === undefined || !isOpen(before) ? await refusal() : undefined,
      slot: await takeSlotIfDue(relay, before, now),
    }),
    decide: (before, _, loaded) =>
      decideReport(before, reporter, news, { ...context, ...loaded }, now),
    now: () => now,
    log: { event: 'event_stepped', fields: () => ({ vm: reporter.vm }) },
  })
  if (committed.outcome === 'busy') return 'busy'
  const { record, decision } = committed
  return { record, isDirected: decision.isDirected, refusal: decision.refusal }
}

async function note(
  relay: Relay,
  joined: Joined,
  { beacon: { beacon, vm } }: Reading,
  news: EventNews,
  { record, isDirected, refusal }: Outcome,
  now: number,
): Promise<void> {
  const { eventId, shown } = news
  if (refusal !== undefined) joined.refused.push({ eventId, reason: refusal })
  if (record === undefined || refusal !== undefined) return
  if (shown !== undefined) {
    const { listeningSince } = relay
    const watched = await isWatched(relay, record, now)
    joined.seen.push(seenBy(beacon, record, watched, { now, listeningSince }))
    const when = preparationFor(record, { vm, document: [shown] }, now)
    if (when !== undefined) joined.preparations.push({ eventId, when })
  }
  if (isLackedBy(beacon, record)) joined.lacking.push(eventId)
  const directive = isDirected ? buildDirective(record, vm) : undefined
  if (directive !== undefined) joined.directives.push(directive)
}

/** While the event is open, its beacon goes on reporting that it lacks the event. */
function isLackedBy(beacon: string, record: EventRecord): boolean {
  const own = record.sights.find((one) => one.beacon === beacon)
  return isOpen(record) && own?.missing !== undefined
}

/**
 * Includes what was approved: the beacon starts an event only if its document shows no more. Undefined if
 * another report, which was written together with this one, ended the approval.
 */
function buildDirective({ eventId, decided }: EventRecord, vm: string): Directive | undefined {
  if (decided?.scope === undefined) return undefined
  const { vms = [], ...scope } = decided.scope
  const read = vms.find(({ name }) => isSameName(name, vm))
  if (read === undefined) return { eventId, ...scope }
  const { name: _, ...own } = read
  return { eventId, ...scope, vm: own }
}

/** A person opened its page lately. This is read only if it makes a difference. */
async function isWatched({ store }: Relay, record: EventRecord, now: number): Promise<boolean> {
  const asks = !isDecisionNear(record, now, false) && isDecisionNear(record, now, true)
  return asks && isOpenedLately(store, record, now)
}
