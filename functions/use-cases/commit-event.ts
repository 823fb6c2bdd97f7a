// The one loop that changes an event: read it, decide, commit, wake, log. If another worker was faster,
// it decides again. Changes that come while the event is being written are decided one after the other
// in memory, and written together, up to the first one that people are notified of.
import type { Fields } from '../../shared/log.ts'
import { type Commit, commitPlan, mayReachMore } from '../core/delivery/commit.ts'
import type { Decision } from '../core/event/decide.ts'
import type { EventRecord } from '../core/event/event.ts'
import { concernsBeacons } from '../core/event/pace.ts'
import type { Loaded } from '../core/event/stage.ts'
import { loads } from '../features/loads.ts'
import type { EventKey } from '../store/store.ts'
import { channelFacts, type Relay } from './relay.ts'

const maxAttempts = 100

type Needs = Pick<Relay, 'store' | 'config' | 'sending' | 'work' | 'log' | 'now' | 'listeningSince'>

interface Change<D extends Decision, Beside> {
  /** Pure. It may be called again after a conflict. */
  decide(before: EventRecord | undefined, now: number, beside: Beside): D
  /** Reads what the decision needs beside the event. */
  readBeside?: (before: EventRecord | undefined, now: number) => Promise<Beside>
  /** Default: the relay's clock. */
  now?: () => number
  /** The event, if the caller has read it. */
  known?: EventRecord | undefined
  /** The configuration has other routes or channels: those that have heard nothing are notified. */
  isRerouted?: true
  /** The log line of a commit with moments. */
  log?: { event: string; fields?: (decision: D) => Fields }
}

/** `unchanged`: nothing had to be written. `busy`: other workers were faster each time. */
type Committed<D> =
  | { outcome: 'committed' | 'unchanged'; decision: D; record: EventRecord | undefined }
  | { outcome: 'busy'; record: EventRecord | undefined }

interface Entry {
  change: Change<Decision, unknown>
  ended?: { result: Committed<Decision> } | { error: unknown }
  /** The loop of another call may make this change. Then it calls this at the end. */
  resume?: () => void
}

export async function commitEvent<D extends Decision, Beside = undefined>(
  relay: Needs,
  key: EventKey,
  change: Change<D, Beside>,
): Promise<Committed<D>> {
  const name = JSON.stringify([key.fleet, key.eventId])
  const entry: Entry = { change: change as unknown as Entry['change'] }
  await relay.work.changes.make(name, entry, (queue) => makeChanges(relay, key, queue as Entry[]))
  if (entry.ended === undefined) throw new Error(`an earlier change of ${name} failed`)
  if ('error' in entry.ended) throw entry.ended.error
  return entry.ended.result as Committed<D>
}

async function makeChanges(relay: Needs, key: EventKey, queue: Entry[]): Promise<void> {
  const { store } = relay
  /** The event as this loop last read or wrote it. */
  let stored: EventRecord | undefined = queue[0]!.change.known
  for (let conflicts = 0; queue.length > 0; ) {
    const entries = queue.splice(0)
    try {
      const before = stored ?? (await store.readEvent(key))
      const made = await decideAndWrite(relay, key, before, entries)
      stored = made.record
      conflicts = made.outcome === 'conflict' ? conflicts + 1 : 0
      if (conflicts < maxAttempts) queue.unshift(...made.left)
      else {
        endAll(entries, { result: { outcome: 'busy', record: before } })
        conflicts = 0
      }
    } catch (error) {
      stored = undefined
      endAll(entries, { error })
    }
  }
}

/** Entries that have ended already stay as they are. */
function endAll(entries: Entry[], ended: NonNullable<Entry['ended']>): void {
  for (const entry of entries) if (entry.ended === undefined) end(entry, ended)
}

function end(entry: Entry, ended: NonNullable<Entry['ended']>): void {
  entry.ended = ended
  entry.resume?.()
}

interface Attempt {
  outcome: 'made' | 'conflict'
  /** The event now. Undefined: it must be read. */
  record: EventRecord | undefined
  /** Their changes are still to be made. */
  left: Entry[]
}

/** Decides these changes one after the other, up to the first with moments, and writes them once. */
async function decideAndWrite(
  relay: Needs,
  key: EventKey,
  before: EventRecord | undefined,
  entries: Entry[],
): Promise<Attempt> {
  const times = entries.map(({ change }) => change.now?.() ?? relay.now())
  const { decided, record } = decideEach(
    entries,
    before,
    times,
    await readAllBeside(entries, before, times),
  )
  const left = entries.slice(decided.length)
  const last = decided.findLast(({ isChange }) => isChange)
  if (last === undefined || record === undefined) {
    for (const { entry, decision } of decided) {
      end(entry, { result: { outcome: 'unchanged', decision, record: decision.record } })
    }
    return { outcome: 'made', record: before, left }
  }
  const planned = await planDeliveries(
    relay,
    before,
    { ...last.decision, record },
    decided.some(({ entry }) => entry.change.isRerouted),
    times[decided.length - 1]!,
  )
  // what the plan read took its time, and the log of moments is in the order of writes
  const commit = { ...planned, now: relay.now() }
  if ((await relay.store.commit(commit, before)) === 'conflict') {
    return { outcome: 'conflict', record: undefined, left: entries }
  }
  announce(relay, key, before, commit)
  for (const { entry, decision, isChange } of decided) {
    const outcome = isChange ? 'committed' : 'unchanged'
    const stored = decision.record === undefined ? undefined : commit.record
    if (isChange) logStep(relay, commit.record, decision, entry.change.log)
    end(entry, { result: { outcome, decision, record: stored } })
  }
  return { outcome: 'made', record: commit.record, left }
}

function decideEach(
  entries: Entry[],
  before: EventRecord | undefined,
  times: number[],
  beside: unknown[],
) {
  let record = before
  const decided: { entry: Entry; decision: Decision; isChange: boolean }[] = []
  for (const [i, entry] of entries.entries()) {
    const decision = entry.change.decide(record, times[i]!, beside[i])
    const hasMoments = decision.moments.length > 0
    const isNews = decision.record !== record || hasMoments || entry.change.isRerouted === true
    const isChange = decision.record !== undefined && isNews
    decided.push({ entry, decision, isChange })
    if (isChange) record = decision.record
    if (hasMoments) break
  }
  return { decided, record }
}

/** Reads what each entry needs, by the event before the first entry. In sequence, as few read anything. */
async function readAllBeside(
  entries: Entry[],
  before: EventRecord | undefined,
  times: number[],
): Promise<unknown[]> {
  const beside: unknown[] = []
  for (const [i, { change }] of entries.entries()) {
    beside.push(change.readBeside && (await change.readBeside(before, times[i]!)))
  }
  return beside
}

/** Wakes senders, readers of the stream, and answers that are held. */
function announce(
  relay: Needs,
  key: EventKey,
  before: EventRecord | undefined,
  commit: Commit,
): void {
  const { deliveries, record, moments } = commit
  const about = { event: key, deliveries: deliveries.length, dueAt: record.dueAt }
  relay.work.wake(deliveries.length, about)
  if (moments.length > 0) relay.work.commitSignal.raise()
  if (concernsBeacons(before, record)) relay.work.holds.wake(key)
}

async function planDeliveries(
  relay: Needs,
  before: EventRecord | undefined,
  decision: Decision & { record: EventRecord },
  isRerouted: boolean,
  now: number,
): Promise<Commit> {
  const { store, config } = relay
  const { record, moments } = decision
  const isNews = moments.length > 0
  const reads = before !== undefined && (isNews || mayReachMore(before, record, isRerouted))
  const context = {
    deliveries: reads ? await store.readDeliveries(record) : [],
    loaded: isNews || reads ? await readForFeatures(store, isNews) : {},
    now,
    listeningSince: relay.listeningSince,
    isRerouted,
  }
  return commitPlan(config.routes, channelFacts(relay), before, { record, moments }, context)
}

/** What rules of features need beside the event, such as the mutes. */
async function readForFeatures(store: Relay['store'], isNews: boolean): Promise<Loaded> {
  const loaded: Loaded = {}
  for (const one of loads) Object.assign(loaded, await one(store, isNews))
  return loaded
}

function logStep(
  { log }: Needs,
  { fleet, eventId, phase, epoch, policy }: EventRecord,
  decision: Decision,
  line: { event: string; fields?: (decision: Decision) => Fields } | undefined,
): void {
  const { moments } = decision
  if (line === undefined || moments.length === 0) return
  const own = line.fields?.(decision) ?? {}
  log.info(line.event, {
    fleet,
    eventId,
    phase,
    epoch,
    moments,
    policy: policy.rule,
    ...own,
  })
}
