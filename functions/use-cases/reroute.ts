// After routes or channels were changed: what that means for the events that are open. A channel that
// routes name only now, as after a new name, gets their newest message. Owners see which channels are
// gone.
import { messageOf } from '../../shared/errors.ts'
import { reachesMore } from '../core/delivery/commit.ts'
import { hearsByItself } from '../core/delivery/delivery.ts'
import type { RemovedChannel } from '../core/delivery/health.ts'
import { hash } from '../core/hash.ts'
import { dayMs } from '../core/units.ts'
import { routingRow } from '../store/small-rows.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { isOutage } from './join-events.ts'
import { channelFacts, type Relay } from './relay.ts'

/** More open events hear of new channels with their next message. */
const maxEvents = 1_000
/** A removed channel is shown this long. */
const shownMs = dayMs

/** Compares the configuration with the one that the open events were last routed by. */
export async function rerouteOpen(relay: Relay): Promise<void> {
  const { store, config, log } = relay
  const channels = Object.keys(config.channels).filter((name) => !hearsByItself(name))
  const of = hash(JSON.stringify([config.routes, channels.toSorted()]))
  const last = await routingRow.read(store)
  relay.sending.removedChannels = last?.removed ?? []
  if (last?.of === of) return
  const gone = (last?.channels ?? []).filter((name) => !channels.includes(name))
  const lost = new Map<string, number>()
  const open: EventKey[] = []
  const note = ({ fleet, eventId }: EventKey) => {
    open.push({ fleet, eventId })
    return false
  }
  if (last !== undefined) await store.listOpen(Object.keys(config.fleets), maxEvents, note)
  for (const key of open) {
    // an event may be large, and this comes after a reload, while beacons report
    await relay.host.pause()
    for (const channel of await rerouteOne(relay, key, gone)) {
      lost.set(channel, (lost.get(channel) ?? 0) + 1)
    }
  }
  for (const [channel, events] of lost) {
    log.warn('channel_removed', { channel, events })
    relay.sending.removedChannels.push({ channel, at: relay.now(), events })
  }
  const removed = removedChannels(relay)
  // in a conflict, another worker did the same
  await routingRow.write(store, { of, channels, removed }, last?.version ?? 0)
}

/** Returns which channels that are gone the event had reached. A damaged event keeps no other from its channels. */
async function rerouteOne(relay: Relay, key: EventKey, gone: string[]): Promise<string[]> {
  try {
    const record = await relay.store.readEvent(key)
    if (record === undefined) return []
    const deliveries = await relay.store.readDeliveries(record)
    const { routes } = relay.config
    if (reachesMore(routes, channelFacts(relay), record, deliveries, relay.now()))
      await reroute(relay, record)
    return gone.filter((name) => deliveries.some(({ channel }) => channel === name))
  } catch (error) {
    if (isOutage(error)) throw error
    relay.log.error('reroute_failed', { ...key, error: messageOf(error) })
    return []
  }
}

async function reroute(relay: Relay, { fleet, eventId }: EventKey): Promise<void> {
  const { outcome } = await commitEvent(
    relay,
    { fleet, eventId },
    { isRerouted: true, decide: (record) => ({ record, moments: [] }) },
  )
  if (outcome === 'busy') throw new Error('other workers were faster each time')
}

/** Channels that were removed within the last day, while open events had messages there. */
export function removedChannels({ sending, config, now }: Relay): RemovedChannel[] {
  return sending.removedChannels.filter(
    ({ channel, at }) => !Object.hasOwn(config.channels, channel) && at + shownMs > now(),
  )
}

export function describeRemoved({ events }: RemovedChannel): string {
  const count = events === 1 ? '1 open event' : `${events} open events`
  return (
    `removed from the configuration. It had messages of ${count}. ` +
    'If routes name another channel for them, that got the newest message'
  )
}
