// An event as Azure publishes it outside the VMs, through Event Grid and Resource Graph. Each is the report of
// one more onlooker, which speaks of this event alone. Azure also says how the event ended. What Event Grid says
// is true until a speaker or Azure's list shows otherwise: others may send in its name.

import { dayMs } from '../units.ts'
import { knownVms } from './drill.ts'
import { type Ended, type EventRecord, isOpen, type OpenRecord, withEnd } from './event.ts'
import type { ShownEvent } from './facts.ts'
import { addHistory } from './history.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { type AzureResource, isSameResource } from './outside.ts'
import {
  eventGrid,
  isElsewhere,
  type KnownVm,
  type Listening,
  lagMs,
  lastShownAt,
  type Reporter,
  resourceGraph,
  shownBy,
} from './sight.ts'

type Said = NonNullable<EventNews['over']>

/** Names of the reporter in the history. They have blanks, so no VM has one. */
export const publishers = ['Azure Event Grid', 'Azure Resource Graph'] as const

export interface Published {
  by: (typeof publishers)[number]
  resource: AzureResource
  event: ShownEvent
  /** Azure says that it is over. */
  ending?: Exclude<Ended['outcome'], 'lost'>
  /** Epoch ms: when it became so. Orders what is published of one event. */
  at: number
}

/** Event Grid sends an event again for a day. What is older than that has a wrong time. */
const oldestMs = 7 * dayMs

/**
 * Turns what Azure published into a report about one event. A time in the future becomes now, because it
 * would make void all that comes later.
 */
export function readPublished(
  fleet: string,
  { by, resource, event, ending, at }: Published,
  now: number,
): { reporter: Reporter; news: EventNews } {
  const changedAt = Math.min(Math.max(at, now - oldestMs), now)
  const { subscriptionId, resourceGroup } = resource
  const place = { subscriptionId, resourceGroup, scaleSet: '', tags: {} }
  const isListed = by === 'Azure Resource Graph'
  const reporter: Reporter = {
    ...{ beacon: isListed ? resourceGraph : eventGrid, vm: by, ...place },
    ...{ bootId: '', counter: changedAt, heardAt: now, polledAt: changedAt, bootedAt: 0 },
  }
  const isOver = ending !== undefined
  const news: EventNews = {
    ...{
      fleet,
      eventId: event.eventId,
      isLacking: isOver,
      past: [],
      starts: [],
      runs: [],
      resource,
    },
    ...(isOver ? { over: { at: changedAt, outcome: ending } } : { shown: event }),
    ...(isListed && { isListed: true as const }),
    // Resource Graph does not say when it ended
    ...(isOver && !isListed && { trace: event }),
  }
  return { reporter, news }
}

/** Adds what the event belongs to, if the report says that. What Azure's list says of it counts. */
export function withResource<R extends EventRecord>(
  record: R,
  { resource, isListed, shown }: EventNews,
): R {
  const known = record.azure.outside
  if (resource === undefined || (known?.listed && !isListed)) return record
  const isSame = known !== undefined && isSameResource(known.resource, resource)
  const kept = isSame && (known.listed || !isListed) ? known : undefined
  const names = shown?.resources ?? known?.names
  const isSaid = kept !== undefined && String(names) === String(kept.names)
  if (isSaid) return isListed ? atHome(record, resource) : record
  const outside = { ...(kept ?? { resource, ...(isListed && { listed: isListed }) }), names }
  const told = { ...record, azure: { ...record.azure, outside } }
  return isListed ? atHome(told, resource) : told
}

/** Where Azure's list says that the event is. What VMs of another place said of it does not count. */
function atHome<R extends EventRecord>(
  record: R,
  { resourceGroup, subscriptionId }: AzureResource,
): R {
  if (!isOpen(record) || record.facts.home?.listed) return record
  const home = { resourceGroup, subscriptionId, listed: true as const }
  const facts = { ...record.facts, home }
  return { ...record, facts, sights: record.sights.filter((one) => !isElsewhere(facts, one)) }
}

/**
 * After Azure's word that the event is over. Undefined if it changes nothing. Where the relay had concluded
 * the same end, it is known now. Another end is told anew, unless a beacon saw it Started and then gone.
 */
export function endedByAzure(
  record: EventRecord,
  { vm }: Pick<Reporter, 'vm'>,
  { over: said }: EventNews,
  listening: Listening,
): { record: EventRecord; moments: Moment[] } | undefined {
  const isOfEarlier = said !== undefined && said.at < (record.backAt ?? 0)
  if (said === undefined || isOfEarlier || isContradicted(record, said, listening)) return undefined
  // Azure cancels nothing that has started
  const outcome = record.started === undefined ? said.outcome : 'completed'
  const over: Ended = { ...said, outcome, by: 'azure' }
  const { at } = said
  if (isOpen(record)) return { record: endedAt(record, over, vm), moments: [outcome] }
  const { ended } = record
  if (ended.inferred === undefined) return undefined
  const isSame = ended.outcome === outcome
  const anew = isSame
    ? { ...record, ended: { at: ended.at, outcome, by: 'azure' as const } }
    : { ...withEnd(record, over), epoch: record.epoch + 1 }
  const noted = addHistory(anew, { at, what: outcome, note: vm })
  return { record: noted, moments: isSame ? [] : [outcome] }
}

/**
 * A speaker still shows it a minute later, or at all once such a word was wrong. Words from outside do not
 * outweigh that.
 */
function isContradicted(record: EventRecord, { at }: Said, listening: Listening): boolean {
  const from = record.backAt === undefined ? at + lagMs : 0
  return shownBy(record, listening).some(({ polledAt }) => polledAt >= from)
}

/** The record after this end. Nothing ends before it started, nor before its own VMs last showed it. */
export function endedAt(record: OpenRecord, ended: Ended, note: string): EventRecord {
  const own = ended.by === 'azure' ? lastShownAt(record) : []
  const at = Math.max(ended.at, record.started?.at ?? 0, ...own)
  return addHistory(withEnd(record, { ...ended, at }), { at, what: ended.outcome, note })
}

/** A VM that the inventory lacks may have been created just now. */
const askAgainMs = 5 * 60_000
const askSoonMs = 1_000
/** Azure's list may be this much behind. Until it names the event, it is asked for often. */
const listLagMs = 4 * 60_000
const askListMs = 10_000

/** When to read the list and the inventory: Azure published the event, and affected VMs are not known. */
export function inventoryDueAt(record: OpenRecord): number {
  const { phase, facts, azure, firstSeenAt } = record
  const { outside } = azure
  if (outside === undefined || phase !== 'scheduled') return Number.POSITIVE_INFINITY
  const known = new Set(knownVms(record).map(({ vm }) => vm.toLowerCase()))
  if (facts.resources.every((vm) => known.has(vm.toLowerCase()))) return Number.POSITIVE_INFINITY
  const { askedAt, listed } = outside
  if (askedAt === undefined) return firstSeenAt + askSoonMs
  const isAwaited = !listed && askedAt < firstSeenAt + listLagMs
  return askedAt + (isAwaited ? askListMs : askAgainMs)
}

/** Characters of the inventory of one event, as JSON: the row of an event holds 400,000 in all. */
const maxInventoryLength = 100_000

/**
 * `vms`: what the inventory says of the affected VMs. Absent: it could not be read. VMs for which there is no
 * room stay unknown, as a rule must not take missing tags for none.
 */
export function withInventory(
  record: OpenRecord,
  vms: KnownVm[] | undefined,
  now: number,
): OpenRecord {
  const { azure } = record
  if (azure.outside === undefined) return record
  const outside = { ...azure.outside, askedAt: now, ...(vms && { vms: findFirst(vms) }) }
  return { ...record, azure: { ...azure, outside } }
}

function findFirst(vms: KnownVm[]): KnownVm[] {
  let left = maxInventoryLength
  return vms.filter((vm) => {
    left -= JSON.stringify(vm).length + 1
    return left >= 0
  })
}
