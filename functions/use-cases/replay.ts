// Sends failed messages again, because an owner asked for it.
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { type Access, describeAccess, isBound } from '../core/rules/access.ts'
import type { Relay } from './relay.ts'

const maxReplayed = 1_000
/** Open events that a failed message may be about. */
const maxOpen = 10_000

/** One message, or those since a time. */
type Which = { id: string } | { since: number; channel?: string; fleets?: string[] }

/** Replays messages about events that this user may see. Returns how many. */
export function replayFor(relay: Relay, access: Access, which: Which): Promise<number> {
  const own = isBound(access) ? { ...which, fleets: access.fleets } : which
  return replay(relay, access, own)
}

/** Returns how many. */
export async function replay(relay: Relay, access: Access, which: Which): Promise<number> {
  const replayed = await relay.store.replay(which, relay.now(), maxReplayed)
  if (replayed === 0) return 0
  relay.log.info('replayed', { deliveries: replayed, by: describeAccess(access) })
  relay.work.wake(replayed)
  return replayed
}

interface Failed {
  /** The count is at most `maxReplayed`. */
  count: number
  /** Epoch ms. Absent if there is none. */
  oldestAt?: number
  newestAt?: number
  /** Ids of those about events that are still open. */
  open: string[]
}

/** What a replay of everything that failed in this channel would send. Costs a read for each message. */
export async function failedIn(relay: Relay, access: Access, channel: string): Promise<Failed> {
  const { store, config } = relay
  const fleets = isBound(access) ? access.fleets : Object.keys(config.fleets)
  const openEvents = new Set<string>()
  const note = (record: EventRecord) => {
    openEvents.add(readWholeEvent(record))
    return false
  }
  const [{ deliveries }] = await Promise.all([
    store.listFailed({ channel, limit: maxReplayed, ...(isBound(access) && { fleets }) }),
    store.listOpen(fleets, maxOpen, note),
  ])
  const open = deliveries.filter((one) => openEvents.has(readWholeEvent(one))).map(({ id }) => id)
  const [newest, oldest] = [deliveries[0]?.plannedAt, deliveries.at(-1)?.plannedAt]
  return {
    count: deliveries.length,
    ...(newest !== undefined && { newestAt: newest }),
    ...(oldest !== undefined && { oldestAt: oldest }),
    open,
  }
}

/** Returns how many. */
export async function replayOpen(relay: Relay, access: Access, channel: string): Promise<number> {
  const { open } = await failedIn(relay, access, channel)
  let replayed = 0
  for (const id of open) replayed += await replayFor(relay, access, { id })
  return replayed
}

function readWholeEvent({ fleet, eventId }: Pick<Delivery, 'fleet' | 'eventId'>): string {
  return JSON.stringify([fleet, eventId])
}
