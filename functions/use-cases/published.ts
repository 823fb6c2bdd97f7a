// Joins what Azure publishes outside the VMs into the events: as Event Grid sends it, and as Resource Graph
// lists it. The list is read at start, every minute for a while after a word of Event Grid, every 5 min while an
// event is open, and every hour otherwise.
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { type Published, readPublished } from '../core/event/published.ts'
import { eventGrid } from '../core/event/sight.ts'
import { findFleet } from '../core/rules/config.ts'
import { minuteMs } from '../core/units.ts'
import { outsideRow } from '../store/small-rows.ts'
import { isOutage, joinOne, lastingReason } from './join-events.ts'
import { raiseOverLimits } from './receive-report.ts'
import type { Relay } from './relay.ts'
import { raiseTrouble } from './trouble.ts'

/** The identity of the relay lacks the role. */
const forbidden = 'azure_graph_forbidden'
const openEveryMs = 5 * minuteMs
const idleEveryMs = 60 * minuteMs
/** Workers look this often whether one of them must read the list. */
const lookEveryMs = minuteMs
/** After a word of Event Grid, the list is read often: it may be 2 min behind, and one reading may fail. */
const doubtMs = 15 * minuteMs
/** Each new event that Event Grid tells of asks for it. Approvals need the quota. */
const listEveryMs = 5_000

/** `busy`: it must come again. An event that cannot be stored is logged, and keeps no other back. */
export async function joinPublished(
  relay: Relay,
  fleet: string,
  published: Published,
): Promise<'joined' | 'busy'> {
  try {
    return await join(relay, fleet, published)
  } catch (error) {
    if (isOutage(error)) throw error
    // the same again would fail as well
    const isLasting = lastingReason(error) !== undefined
    const { eventId } = published.event
    relay.log.error('event_failed', { fleet, eventId, vm: published.by, error: messageOf(error) })
    return isLasting ? 'joined' : 'busy'
  }
}

async function join(relay: Relay, fleet: string, published: Published): Promise<'joined' | 'busy'> {
  const now = relay.now()
  const { openLimits } = relay.work
  const { reporter, news } = readPublished(fleet, published, now)
  if (!openLimits.hasRoomForTrace(fleet, now)) delete news.trace
  const refusal = () => openLimits.forEvent(fleet, reporter.beacon)
  const joined = await joinOne(relay, reporter, news, now, refusal)
  if (joined === 'busy') return 'busy'
  if (joined.record?.trace) openLimits.noteTrace(fleet, now)
  // after a start that was none, the next reading opens the event again
  const isDoubted = published.by === 'Azure Event Grid' || joined.record?.ended?.by === 'doubt'
  if (isDoubted) await noteDoubt(relay, now)
  if (joined.refusal !== undefined) await raiseOverLimits(relay, fleet, reporter.vm, joined.refusal)
  return 'joined'
}

export async function joinListed(relay: Relay, listed: Published[]): Promise<void> {
  for (const one of listed) {
    const fleet = findFleet(relay.config, one.resource.subscriptionId)
    if (fleet !== undefined) await joinPublished(relay, fleet, one)
  }
}

/** Reads the list if it is time to, once for all workers. After a failure, it waits five minutes. */
export async function reconcile(relay: Relay): Promise<void> {
  const { outside, config, store } = relay
  const subscriptions =
    outside.azure?.subscriptions.filter((id) => findFleet(config, id) !== undefined) ?? []
  const now = relay.now()
  if (subscriptions.length === 0 || now < (outside.lookAt ?? 0)) return
  const isFirst = outside.lookAt === undefined
  outside.lookAt = now + lookEveryMs
  const known = await outsideRow.read(store)
  const { at = 0, doubtAt = 0 } = known ?? {}
  const sinceMs = now - at
  const isDoubted = now - doubtAt < doubtMs
  const everyMs = isFirst || isDoubted ? minuteMs : await choosePace(relay, subscriptions)
  if (sinceMs < everyMs && sinceMs >= 0) return
  if (!(await readList(relay))) {
    outside.lookAt = now + (isDoubted ? lookEveryMs : openEveryMs)
    return
  }
  await noteUnreadable(relay, subscriptions)
  // in a conflict, another worker has just read it, too
  await outsideRow.write(store, { at: now, doubtAt }, known?.version ?? 0)
}

/** Whether the list could be read, now or a moment ago. */
export async function readList(relay: Relay): Promise<boolean> {
  const now = relay.now()
  const { listed } = relay.outside
  if (listed !== undefined && Math.abs(now - listed.at) < listEveryMs) return listed.isRead
  const isRead = readNow(relay)
  relay.outside.listed = { at: now, isRead }
  return isRead
}

async function readNow(relay: Relay): Promise<boolean> {
  const { outside, config } = relay
  const { subscriptions: all, graph } = outside.azure!
  const subscriptions = all.filter((id) => findFleet(config, id) !== undefined)
  try {
    await joinListed(relay, await graph.listEvents(subscriptions))
    return true
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    relay.log.warn('azure_list_failed', { code, error: messageOf(error) })
    const fleets = new Set(subscriptions.map((id) => findFleet(config, id)!))
    for (const fleet of fleets) await noteForbidden(relay, fleet, error)
    return false
  }
}

/** Azure lists what it may, and says nothing of a subscription that it may not. Never throws. */
async function noteUnreadable(relay: Relay, subscriptions: string[]): Promise<void> {
  const readable = await relay.outside
    .azure!.graph.listReadable(subscriptions)
    .catch((error: unknown) => {
      relay.log.warn('azure_list_failed', { error: messageOf(error) })
      return subscriptions
    })
  for (const id of subscriptions.filter((one) => !readable.includes(one.toLowerCase()))) {
    const assignee = relay.outside.tokens.clientId ?? 'CLIENT_ID'
    const command = `az role assignment create --assignee ${assignee} --role Reader --scope /subscriptions/${id}`
    const what = `Azure shows nothing of subscription ${id}; give the identity the role: ${command}`
    await noteForbidden(relay, findFleet(relay.config, id)!, new FoghornError(forbidden, what))
  }
}

/** Without the role, the relay sees nothing of Azure's list, and tells Azure nothing. Never throws. */
export async function noteForbidden(relay: Relay, fleet: string, error: unknown): Promise<void> {
  if (!(error instanceof FoghornError) || error.code !== forbidden) return
  const about = { name: 'Azure Resource Graph', reason: error.message }
  await raiseTrouble(relay, fleet, { kind: 'azure_refuses', ...about })
}

/**
 * Others may send in the name of Event Grid, and what it sends with a token that is refused, it never repeats. So
 * the list is read soon. Noted at most once a minute.
 */
export async function noteDoubt(relay: Relay, now: number): Promise<void> {
  const { outside, store } = relay
  const { azure, doubtAt = 0 } = outside
  if (azure === undefined || Math.abs(now - doubtAt) < minuteMs) return
  const known = await outsideRow.read(store)
  const written = await outsideRow.write(store, { ...known, doubtAt: now }, known?.version ?? 0)
  // in a conflict, another worker has noted a word or a reading; the next word notes it again
  if (written === 'written') outside.doubtAt = now
}

/** When Azure's list was last read. */
export async function listReadAt({ store }: Pick<Relay, 'store'>): Promise<number | undefined> {
  return (await outsideRow.read(store))?.at
}

async function choosePace({ store, config }: Relay, subscriptions: string[]): Promise<number> {
  const fleets = new Set(subscriptions.map((id) => findFleet(config, id)!))
  for (const fleet of fleets) {
    const { ofFleet } = await store.countOpen(fleet, eventGrid)
    if (ofFleet > 0) return openEveryMs
  }
  return idleEveryMs
}
