// Counts the requests that one worker has under way, for each channel, and waits for them. A
// stored channel gets one request at a time until it has answered quickly. Otherwise, a few endpoints
// that hang would take all places of this worker.
import { messageOf } from '../../shared/errors.ts'
import { type Claimed, readStoredId } from '../core/delivery/delivery.ts'
import { deliverTogether } from '../use-cases/deliver.ts'
import type { Finish } from '../use-cases/finish-attempt.ts'
import type { Relay } from '../use-cases/relay.ts'

/** An endpoint that answers within this time gets several requests at once. */
const quickMs = 2_000
/** More than there may be stored channels at once. Beyond it, all endpoints begin again. */
const maxQuick = 1_000

/** How many requests there may be at once. */
interface AtOnce {
  /** With so many under way, no channel gets a second one. Default: no limit. */
  wide?: number
  /** All stored channels together get no more, so that configured channels have places. Default: no limit. */
  toStored?: number
}

/** The simulation replaces it. */
type Start = (work: () => Promise<void>) => Promise<void>

export class UnderWay {
  readonly #relay: Relay
  readonly #wide: number
  readonly #mostToStored: number
  readonly #counts = new Map<string, number>()
  readonly #quick = new Set<string>()
  readonly sends = new Set<Promise<void>>()
  #toStored = 0

  /** Begins work that goes on beside the caller. */
  readonly start: Start

  constructor(
    relay: Relay,
    { wide = Infinity, toStored = Infinity }: AtOnce = {},
    start: Start = (work) => work(),
  ) {
    this.start = start
    this.#relay = relay
    this.#wide = wide
    this.#mostToStored = toStored
  }

  /** `Infinity`: the channel gets no more until one has ended. */
  readonly countOf = (channel: string): number => {
    const count = this.#counts.get(channel) ?? 0
    const isSubscription = readStoredId(channel) !== undefined
    if (isSubscription && this.#toStored >= this.#mostToStored) return Infinity
    const isSteady = !isSubscription || this.#quick.has(channel)
    const mayShare = isSteady && this.sends.size < this.#wide
    return count === 0 || mayShare ? count : Number.POSITIVE_INFINITY
  }

  /** Begins one request. Calls `over` when it is over, even if settling failed. */
  begin(group: Claimed[], over: (finish: Finish) => void = () => {}): void {
    const { channel } = group[0]!
    const from = this.#relay.now()
    this.#count(channel, 1)
    const sent = this.start(async () => {
      const finish = await this.#send(group)
      this.#count(channel, -1)
      this.#note(channel, this.#relay.now() - from)
      this.sends.delete(sent)
      over(finish)
    })
    this.sends.add(sent)
  }

  async #send(group: Claimed[]): Promise<Finish> {
    try {
      return await deliverTogether(this.#relay, group)
    } catch (error) {
      this.#relay.log.error('settle_failed', { error: messageOf(error) })
      return 'open'
    }
  }

  #note(channel: string, tookMs: number): void {
    if (readStoredId(channel) === undefined) return
    if (tookMs >= quickMs) this.#quick.delete(channel)
    else if (this.#quick.size < maxQuick) this.#quick.add(channel)
    else this.#quick.clear()
  }

  #count(channel: string, change: number): void {
    if (readStoredId(channel) !== undefined) this.#toStored += change
    const count = (this.#counts.get(channel) ?? 0) + change
    if (count === 0) this.#counts.delete(channel)
    else this.#counts.set(channel, count)
  }
}
