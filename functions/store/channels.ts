// A row for each channel that has a rate, or that fails or has failed.
import { FoghornError } from '../../shared/errors.ts'
import type { ChannelHealth } from '../core/delivery/health.ts'
import { buildKey } from './keys.ts'
import { type Parts, unlessDamaged } from './parts.ts'
import { insertOrReplace, type Row } from './rows.ts'

const partition = buildKey('channels')
const maxAttempts = 20

export interface ChannelState {
  channel: string
  /** Until this time, the requests that the channel's rate allows are spent. */
  spentUntil: number
  /** `spentUntil` as the last pause of the channel made it, which a slot that is given back does not shorten. */
  pausedUntil?: number | undefined
  /** The fleet that had the last turn. */
  fleet?: string | undefined
  /** Absent: it never failed. */
  health?: ChannelHealth | undefined
}

export class Channels {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The rows by channel. */
  async list(): Promise<Map<string, Row>> {
    const rows = await this.#parts.rows.list(partition, '', '~')
    return new Map(rows.map((row) => [toState(row).channel, row]))
  }

  async listHealth(): Promise<ChannelHealth[]> {
    const rows = await this.list()
    return [...rows.values()].flatMap((row) => toState(row).health ?? [])
  }

  async readHealth(channel: string): Promise<ChannelHealth | undefined> {
    const row = await this.#read(channel)
    return row && toState(row).health
  }

  async changeHealth(
    channel: string,
    decide: (before: ChannelHealth | undefined) => ChannelHealth | undefined,
  ): Promise<ChannelHealth | undefined> {
    const state = await this.#edit(channel, (before) => {
      const health = decide(before.health)
      return health === before.health ? before : { ...before, health }
    })
    return state.health
  }

  /** Pauses a channel, unless it already pauses longer. */
  async pause(channel: string, spentUntil: number): Promise<void> {
    await this.#edit(channel, (before) => ({
      ...before,
      spentUntil: Math.max(before.spentUntil, spentUntil),
      pausedUntil: Math.max(before.pausedUntil ?? 0, spentUntil),
    }))
  }

  /** Takes back what a claim booked for a request that was not made. */
  async giveBack(channel: string, bookedMs: number): Promise<void> {
    await this.#edit(channel, (before) => ({
      ...before,
      spentUntil: Math.max(before.spentUntil - bookedMs, before.pausedUntil ?? 0),
    }))
  }

  /** Writes the row as it was listed. */
  replace(was: Row | undefined, state: ChannelState): Promise<Row[] | 'conflict'> {
    const change = insertOrReplace(was, buildKey(state.channel), JSON.stringify(state))
    return this.#parts.rows.change(partition, [change])
  }

  async remove(channel: string): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const was = await this.#read(channel)
      if (was === undefined) return
      const removed = await this.#parts.rows.change(partition, [{ kind: 'remove', was }])
      if (removed !== 'conflict') return
    }
  }

  /** Decides again each time another worker has written the row meanwhile. */
  async #edit(
    channel: string,
    decide: (before: ChannelState) => ChannelState,
  ): Promise<ChannelState> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const row = await this.#read(channel)
      const before = (row && toState(row)) ?? { channel, spentUntil: 0 }
      const after = decide(before)
      if (after === before || (await this.replace(row, after)) !== 'conflict') return after
      await this.#parts.stepAside()
    }
    const what = `too many workers write channel "${channel}" at once`
    throw new FoghornError('storage_busy', `${what}; the delivery is retried`)
  }

  /** A row that is damaged is written anew. */
  #read(channel: string): Promise<Row | undefined> {
    const { rows } = this.#parts
    return unlessDamaged(() => rows.read(partition, buildKey(channel)))
  }
}

export function toState({ body }: Row): ChannelState {
  return JSON.parse(body)
}
