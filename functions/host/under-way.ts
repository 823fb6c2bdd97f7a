// Counts the requests that one worker has under way, for each channel, and waits for them.
import { messageOf } from '../../shared/errors.ts'
import type { Claimed } from '../core/delivery/delivery.ts'
import { deliverTogether } from '../use-cases/deliver.ts'
import type { Relay } from '../use-cases/relay.ts'

/** Waits for `what`, at most `limitMs`. Rejects if `what` rejects within that time. */
export async function within(limitMs: number, what: Promise<unknown>): Promise<'ended' | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs)
  })
  return Promise.race([what.then(() => 'ended' as const), limit]).finally(() => clearTimeout(timer))
}

export class UnderWay {
  readonly #relay: Relay
  readonly #counts = new Map<string, number>()
  readonly sends = new Set<Promise<void>>()

  constructor(relay: Relay) {
    this.#relay = relay
  }

  readonly countOf = (channel: string): number => this.#counts.get(channel) ?? 0

  /** Begins one request. Calls `ended` when it is over, even if settling failed. */
  begin(group: Claimed[], ended: () => void = () => {}): void {
    const { channel } = group[0]!
    this.#count(channel, 1)
    const sent = deliverTogether(this.#relay, group)
      .catch((error) => this.#relay.log.error('settle_failed', { error: messageOf(error) }))
      .finally(() => {
        this.#count(channel, -1)
        this.sends.delete(sent)
        ended()
      })
    this.sends.add(sent)
  }

  #count(channel: string, change: number): void {
    const count = this.countOf(channel) + change
    if (count === 0) this.#counts.delete(channel)
    else this.#counts.set(channel, count)
  }
}
