// The one loop that changes an event: read it, decide, commit, wake, log. If another writer was
// faster, it decides again.
import type { Fields } from '../../shared/log.ts'
import { pastMessages } from '../core/delivery/alert.ts'
import { type Commit, commitPlan } from '../core/delivery/commit.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { Decision, Loaded, Needs } from '../core/event/decision.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { Observer } from '../core/event/observer.ts'
import { concernsBeacons } from '../core/event/pace.ts'
import { listSubscriptions } from '../store/memos.ts'
import type { EventKey, Store } from '../store/store.ts'
import { retainedSince } from './forget.ts'
import { isOpenedLately } from './opened.ts'
import { channelFacts, type Relay } from './relay.ts'
import { takeTurn } from './take-turn.ts'

const maxAttempts = 100

type Parts = Pick<
  Relay,
  | ('store' | 'config' | 'notifiers' | 'wake' | 'bell' | 'log' | 'now')
  | ('listeningSince' | 'holds')
>

/** A decision asks for a fact by its name. `before`: the event, if it is known. */
type Loaders = {
  [Need in keyof Loaded]-?: (
    asked: Needs & { needs: Need },
    before?: EventRecord,
  ) => Promise<NonNullable<Loaded[Need]>>
}

/** If `deliveries` is set, they replace those of the routes: alerts have no routes. */
type Decided = Decision & { deliveries?: Delivery[] }

interface Change<D extends Decided> {
  decide(before: EventRecord | undefined, loaded: Loaded, now: number): D | Needs
  /** Called again after a conflict. Default: the relay's clock. */
  now?: () => number
  /** The event, if the caller has read it. */
  first?: EventRecord | undefined
  load?: Partial<Loaders>
  /** The log line of a commit with moments. */
  log?: { event: string; fields?: (decision: D) => Fields }
}

/** `unchanged`: nothing had to be written. `busy`: other writers were faster each time. */
type Committed<D> =
  | { outcome: 'committed' | 'unchanged'; decision: D; record: EventRecord | undefined }
  | { outcome: 'busy'; record: EventRecord | undefined }

export async function commitEvent<D extends Decided>(
  relay: Parts,
  key: EventKey,
  { decide, now: clock = () => relay.now(), first, load, log }: Change<D>,
): Promise<Committed<D>> {
  const { store } = relay
  let before = first ?? (await store.readEvent(key))
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const now = clock()
    const loaders: Loaders = {
      observers: () => readObservers(store, key, before),
      deliveries: () => store.readDeliveries(key),
      isWatched: () => isOpenedLately(store, key, now),
      room: async () => ({ refusal: undefined }),
      turn: ({ wish, epoch }) => takeTurn(store, { ...key, epoch }, wish),
      ...load,
    }
    const { decision, loaded } = await decideWith(loaders, before, (loaded) =>
      decide(before, loaded, now),
    )
    const { record, moments, routed = [] } = decision
    const isIdle = record === before && moments.length + routed.length === 0
    if (record === undefined || isIdle) return { outcome: 'unchanged', decision, record }
    const commit = await plan(relay, before, { ...decision, record }, loaded, loaders, now)
    if ((await store.commit(commit, before)) === 'committed') {
      const { deliveries } = commit
      const about = { event: key, deliveries: deliveries.length, dueAt: commit.record.dueAt }
      relay.wake(deliveries.length, about)
      if (commit.moments.length > 0) relay.bell.ring()
      if (concernsBeacons(before, commit.record)) relay.holds.wake(key)
      if (log !== undefined) logStep(relay, commit.record, decision, log)
      return { outcome: 'committed', decision, record: commit.record }
    }
    before = await store.readEvent(key)
  }
  return { outcome: 'busy', record: before }
}

/** Repeats the decision until it has all facts that it needs. Each fact is read once. */
async function decideWith<D>(
  loaders: Loaders,
  before: EventRecord | undefined,
  decide: (loaded: Loaded) => D | Needs,
): Promise<{ decision: D; loaded: Loaded }> {
  let loaded: Loaded = {}
  for (;;) {
    const decision = decide(loaded)
    if (!isNeed(decision)) return { decision, loaded }
    if (decision.needs in loaded) throw new Error(`the decision asks for ${decision.needs} twice`)
    const load = loaders[decision.needs] as (
      asked: Needs,
      before: EventRecord | undefined,
    ) => Promise<unknown>
    loaded = { ...loaded, [decision.needs]: await load(decision, before) }
  }
}

/** Nobody has seen an event that is not stored. */
export async function readObservers(
  store: Pick<Store, 'readObservers'>,
  key: EventKey,
  before: EventRecord | undefined,
): Promise<Observer[]> {
  return before === undefined ? [] : store.readObservers(key)
}

function isNeed<D>(decision: D | Needs): decision is Needs {
  return typeof decision === 'object' && decision !== null && 'needs' in decision
}

async function plan(
  relay: Parts,
  before: EventRecord | undefined,
  decision: Decided & { record: EventRecord },
  loaded: Loaded,
  loaders: Loaders,
  now: number,
): Promise<Commit> {
  const { record, moments, routed = [], deliveries } = decision
  if (deliveries !== undefined) {
    const basedOn = before?.sequence ?? 0
    const next = { ...record, sequence: basedOn + 1 }
    const forget = pastMessages(next, loaded.deliveries ?? [], retainedSince(relay.config, now))
    return { record: next, basedOn, deliveries, forget, moments: [], now }
  }
  // without a moment no route is looked up, so save the reads
  const isNews = moments.length + routed.length > 0
  const context = {
    observers:
      loaded.observers ?? (isNews ? await loaders.observers({ needs: 'observers' }, before) : []),
    deliveries:
      isNews && before !== undefined
        ? (loaded.deliveries ?? (await loaders.deliveries({ needs: 'deliveries' })))
        : [],
    now,
    listeningSince: relay.listeningSince,
    subscriptions: isNews ? await listSubscriptions(relay.store) : [],
  }
  return commitPlan(relay.config.routes, channelFacts(relay), before, decision, context)
}

function logStep<D extends Decided>(
  { log }: Parts,
  { fleet, eventId, phase, epoch, policy }: EventRecord,
  decision: D,
  { event, fields }: NonNullable<Change<D>['log']>,
): void {
  const { moments, reason } = decision
  if (moments.length === 0) return
  const own = fields?.(decision) ?? {}
  log.info(event, { fleet, eventId, phase, epoch, moments, reason, policy: policy.rule, ...own })
}
