// After routes or channels were changed: what that means for the events that are open. A channel that
// routes name only now, as after a new name, gets their newest message. Owners see which channels are
// gone.
import { messageOf } from '../../shared/errors.ts'
import type { RemovedChannel } from '../core/delivery/health.ts'
import type { EventRecord } from '../core/event/event.ts'
import { hash } from '../core/hash.ts'
import { readRouting, writeRouting } from '../store/small-rows.ts'
import { commitEvent } from './commit-event.ts'
import type { Relay } from './relay.ts'

/** More open events hear of new channels with their next message. */
const maxEvents = 1_000
/** A removed channel is shown this long. */
const shownMs = 86_400_000

/** Compares the configuration with the one that the open events were last routed by. */
export async function rerouteOpen(relay: Relay): Promise<void> {
  const { store, config, log } = relay
  const channels = Object.keys(config.channels)
  const of = hash(JSON.stringify([config.routes, channels.toSorted()]))
  const last = await readRouting(store)
  relay.removedChannels = last?.removed ?? []
  if (last?.of === of) return
  const open = last === undefined ? [] : await store.listOpen(Object.keys(config.fleets), maxEvents)
  const gone = (last?.channels ?? []).filter((name) => !channels.includes(name))
  const lost = gone.length === 0 ? [] : await lostBy(relay, gone, open)
  for (const { channel, events } of lost) log.warn('channel_removed', { channel, events })
  for (const record of open) await reroute(relay, record)
  relay.removedChannels.push(...lost)
  const removed = removedChannels(relay)
  // in a conflict, another worker did the same
  await writeRouting(store, { of, channels, removed }, last?.version ?? 0)
}

/** How many open events had a message for each channel that is gone. */
async function lostBy(
  { store, now }: Relay,
  gone: string[],
  open: EventRecord[],
): Promise<RemovedChannel[]> {
  const events = new Map<string, number>()
  for (const record of open) {
    const reached = new Set((await store.readDeliveries(record)).map(({ channel }) => channel))
    for (const channel of gone) {
      if (reached.has(channel)) events.set(channel, (events.get(channel) ?? 0) + 1)
    }
  }
  return [...events].map(([channel, count]) => ({ channel, at: now(), events: count }))
}

async function reroute(relay: Relay, { fleet, eventId }: EventRecord): Promise<void> {
  try {
    await commitEvent(
      relay,
      { fleet, eventId },
      {
        isRerouted: true,
        decide: (record) => ({ record, moments: [], reason: 'rerouted' }),
      },
    )
  } catch (error) {
    relay.log.error('reroute_failed', { fleet, eventId, error: messageOf(error) })
  }
}

/** Channels that were removed within the last day, while open events had messages there. */
export function removedChannels({ removedChannels, config, now }: Relay): RemovedChannel[] {
  return removedChannels.filter(
    ({ channel, at }) => !Object.hasOwn(config.channels, channel) && at + shownMs > now(),
  )
}

export function describeRemoved({ events }: RemovedChannel): string {
  const count = events === 1 ? '1 open event' : `${events} open events`
  return (
    `removed from the configuration, although ${count} had been sent there. ` +
    'The channels that the routes name now got the newest message'
  )
}
