// What happened in each channel, from entries of the index, and when it last accepted a message. That
// time is written at most once a minute, so that a delivery costs no second write.

import { type Delivery, subscriptionOf } from '../../core/delivery/delivery.ts'
import { setNewest } from '../../core/newest.ts'
import {
  type ActivityQuestion,
  type ChannelActivity,
  type FailedFound,
  type FailedPage,
  maxCounted,
} from '../browse.ts'
import { keyOf, newestFirst } from './keys.ts'
import type { Parts } from './parts.ts'
import {
  deliveryPartition,
  hasFailed,
  isSameEntry,
  ranges,
  toDelivery,
  toHeldEvent,
} from './stored.ts'
import { type Found, partitions } from './time-index.ts'

const notedMs = 60_000
/** Channels whose last note is kept. */
const maxKept = 2_000
/** Each delivery that a page shows is one call. */
const maxFailed = 4
const deliveredPartition = keyOf('delivered')
const all = { from: '', to: '~', limit: maxCounted }

export class Activity {
  readonly #parts: Parts
  readonly #noted = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Call this when a channel accepted a message. */
  async note(channel: string, at: number): Promise<void> {
    const last = this.#noted.get(channel)
    if (last !== undefined && Math.abs(at - last) < notedMs) return
    setNewest(this.#noted, channel, at, maxKept)
    const body = JSON.stringify({ at })
    await this.#parts.rows.change(deliveredPartition, [{ kind: 'put', row: keyOf(channel), body }])
  }

  /**
   * At most six calls, however many channels there are, and with `since` one more for each
   * subscription. If one queue is very long, others look shorter.
   */
  async of(
    channels: readonly string[],
    { fleets, since }: ActivityQuestion = {},
  ): Promise<ChannelActivity[]> {
    const { rows, index, together } = this.#parts
    const shards = new Set(channels.map(partitions.pending))
    const queues = [...shards].map((partition) => () => index.list(partition, all))
    const histories = channels.map((channel) => () => this.#since(channel, since))
    const [pending, [failed = []], [delivered = []], recent] = await Promise.all([
      together(queues),
      together([() => index.list(partitions.failed, all)]),
      together([() => rows.list(deliveredPartition, all)]),
      together(histories),
    ])
    const times = new Map(
      delivered.map(({ row, body }) => [row, JSON.parse(body) as { at: number }]),
    )
    const isOwn = ({ target }: Found) => fleets?.includes(target.fleet) ?? true
    const waiting = Map.groupBy(pending.flat().filter(isOwn), ({ target }) => target.channel)
    const ended = Map.groupBy(failed.filter(isOwn), ({ target }) => target.channel)
    const isRecent = ({ target }: Found) => target.plannedAt! >= since!
    return channels.map((channel, i) => {
      const own = waiting.get(channel) ?? []
      const [lost, found] = [ended.get(channel) ?? [], recent[i]]
      const deliveredAt = times.get(keyOf(channel))?.at
      const planned = own.map(({ target }) => target.plannedAt!)
      return {
        channel,
        ...(deliveredAt === undefined ? {} : { deliveredAt }),
        ...(planned.length === 0 ? {} : { pendingSince: Math.min(...planned) }),
        pending: own.length,
        failed: lost.length,
        ...(found && {
          recent: { planned: found.filter(isOwn).length, failed: lost.filter(isRecent).length },
        }),
      }
    })
  }

  /** Undefined if nobody asks, or for a configured channel. */
  async #since(channel: string, since: number | undefined): Promise<Found[] | undefined> {
    const subscription = subscriptionOf(channel)
    if (since === undefined || subscription === undefined) return undefined
    const range = { ...all, to: `${newestFirst(since)}~` }
    return this.#parts.index.list(partitions.history(subscription), range)
  }

  async failed({ channel, fleets, after, limit }: FailedPage): Promise<FailedFound> {
    const { index, together } = this.#parts
    const found = await index.list(partitions.failed, { from: '', to: after ?? '~' })
    const own = found
      .filter(({ target }) => target.channel === channel)
      .filter(({ target }) => fleets?.includes(target.fleet) ?? true)
      .reverse()
    const shown = own.slice(0, Math.min(limit, maxFailed))
    const read = await together(shown.map((entry) => () => this.#read(entry)))
    const next = own.length > shown.length ? { next: shown.at(-1)!.row } : {}
    return { deliveries: read.flat(), ...next }
  }

  /** Empty if the entry is stale. */
  async #read(entry: Found): Promise<Delivery[]> {
    const partition = deliveryPartition(entry.target)
    const { deliveries, views } = toHeldEvent(await this.#parts.rows.list(partition, ranges.whole))
    const own = deliveries.find(({ stored }) => stored.delivery.id === entry.target.id)
    if (own === undefined || !hasFailed(own)) return []
    if (!isSameEntry(own.stored.entry, entry)) return []
    return [toDelivery(own.stored, views.get(own.stored.view))]
  }
}
