// Joins what Azure publishes outside the VMs into the events: as Event Grid sends it, and as Resource Graph
// lists it. The list is read at start, every 5 min while an event is open, and every hour otherwise.
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { type Published, readPublished } from '../core/event/published.ts'
import { azureBeacon } from '../core/event/sight.ts'
import { fleetOf } from '../core/rules/config.ts'
import { outsideRow } from '../store/small-rows.ts'
import { joinOne } from './join-events.ts'
import { raiseOverLimits } from './receive-report.ts'
import type { Relay } from './relay.ts'

const minuteMs = 60_000
const openEveryMs = 5 * minuteMs
const idleEveryMs = 60 * minuteMs
/** Workers look this often whether one of them must read the list. */
const lookEveryMs = minuteMs

/** `busy`: other workers were always faster. */
export async function joinPublished(
  relay: Relay,
  fleet: string,
  published: Published,
): Promise<'joined' | 'busy'> {
  const now = relay.now()
  const { openLimits } = relay
  const { reporter, news } = readPublished(fleet, published, now)
  if (!openLimits.hasRoomForTrace(fleet, now)) delete news.trace
  const refusal = () => openLimits.forEvent(fleet, azureBeacon)
  const joined = await joinOne(relay, reporter, news, now, refusal)
  if (joined === 'busy') return 'busy'
  if (joined.record?.trace) openLimits.noteTrace(fleet, now)
  if (joined.refusal !== undefined) await raiseOverLimits(relay, fleet, reporter.vm, joined.refusal)
  return 'joined'
}

export async function joinListed(relay: Relay, listed: Published[]): Promise<void> {
  for (const one of listed) {
    const fleet = fleetOf(relay.config, one.resource.subscriptionId)
    if (fleet !== undefined) await joinPublished(relay, fleet, one)
  }
}

/** Reads the list if it is time to, once for all workers. After a failure, it waits five minutes. */
export async function reconcile(relay: Relay): Promise<void> {
  const { azure, config, store } = relay
  const subscriptions = azure?.subscriptions.filter((id) => fleetOf(config, id) !== undefined) ?? []
  const now = relay.now()
  if (subscriptions.length === 0 || now < (relay.outsideLookAt ?? 0)) return
  const isFirst = relay.outsideLookAt === undefined
  relay.outsideLookAt = now + lookEveryMs
  const known = await outsideRow.read(store)
  const sinceMs = now - (known?.at ?? 0)
  const everyMs = isFirst ? minuteMs : await paceOf(relay, subscriptions)
  if (sinceMs < everyMs && sinceMs >= 0) return
  try {
    await joinListed(relay, await azure!.graph.listEvents(subscriptions))
    // in a conflict, another worker has just read it, too
    await outsideRow.write(store, { at: now }, known?.version ?? 0)
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    relay.outsideLookAt = now + openEveryMs
    relay.log.warn('azure_list_failed', { code, error: messageOf(error) })
  }
}

/** When it was last read. */
export async function listReadAt({ store }: Pick<Relay, 'store'>): Promise<number | undefined> {
  return (await outsideRow.read(store))?.at
}

async function paceOf({ store, config }: Relay, subscriptions: string[]): Promise<number> {
  const fleets = new Set(subscriptions.map((id) => fleetOf(config, id)!))
  for (const fleet of fleets) {
    const { ofFleet } = await store.countOpen(fleet, azureBeacon)
    if (ofFleet > 0) return openEveryMs
  }
  return idleEveryMs
}
