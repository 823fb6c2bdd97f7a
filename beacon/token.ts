// The credential of a beacon without a key: a token of the VM's managed identity. It is kept in memory
// alone, and renewed long before it ends, so that an IMDS that fails for hours costs nothing. Its
// surprise: this VM's clock may be wrong, so a token that was just received counts for a while whatever
// the clock says of it, and the relay has the last word.
import type { Log } from '../shared/log.ts'
import type { Clock } from './clock.ts'
import type { Credential, Show, Unready } from './credential.ts'
import { createEpisode, type Episode } from './episode.ts'
import type { Failed, TokenSource } from './metadata.ts'
import { createPatience, type Patience } from './patience.ts'

/** IMDS is not asked for a token again so soon after it gave one. */
const leastAgeMs = 60_000
/** With less than this left, a token is renewed however long it lived. */
const marginMs = 10 * 60_000
/** A token that the relay refuses is dropped once in this time: a new one mostly says the same. */
const dropEveryMs = 5 * 60_000
/** Base of the pace at which a failing IMDS is asked again. */
const retryMs = 1_000

/**
 * How long after it was received a token is to be renewed, where `leftMs` of its life were left. IMDS keeps
 * tokens for hours and may hand out the same one again: then half of what is left passes each time.
 */
export function renewAfterMs(leftMs: number): number {
  return Math.max(leastAgeMs, Math.min(leftMs / 2, leftMs - marginMs))
}

interface TokenParts {
  source: TokenSource
  /** What the token is for, as the relay has it in `entra.audience`. */
  audience: string
  /** Picks one of several identities; undefined: the VM's own, or its only one. */
  clientId: string | undefined
  clock: Clock
  random: () => number
  log: Log
}

/** Instants are monotonic. */
interface Held {
  token: string
  renewAt: number
  endsAt: number
}

export class TokenCredential implements Credential {
  readonly #parts: TokenParts
  readonly #patience: Patience
  readonly #episode: Episode
  #held: Held | undefined
  #asking: Promise<void> | undefined
  /** Not before, after a failure. */
  #askAt = Number.NEGATIVE_INFINITY
  #droppedAt = Number.NEGATIVE_INFINITY
  #reason = ''

  constructor(parts: TokenParts) {
    this.#parts = parts
    this.#patience = createPatience(parts.clock, parts.random, retryMs)
    this.#episode = createEpisode(parts.log, 'token')
  }

  async ready(signal: AbortSignal): Promise<Show | Unready> {
    const { clock } = this.#parts
    if (this.#held === undefined || this.#held.endsAt <= clock.monotonic()) {
      await this.#ask(signal)
    } else if (this.#held.renewAt <= clock.monotonic()) {
      // a report does not wait for IMDS while the old token is good
      void this.#ask(signal)
    }
    const now = clock.monotonic()
    if (this.#held === undefined || this.#held.endsAt <= now) {
      const retryAfterMs = Math.max(0, this.#askAt - now)
      return { kind: 'unready', reason: this.#reason, retryAfterMs }
    }
    const headers = { authorization: `Bearer ${this.#held.token}` }
    return async () => headers
  }

  async renew(signal: AbortSignal): Promise<boolean> {
    const now = this.#parts.clock.monotonic()
    if (now - this.#droppedAt < dropEveryMs) return false
    this.#droppedAt = now
    const refused = this.#held?.token
    this.#held = undefined
    await this.#ask(signal)
    return this.#tokenNow() !== undefined && this.#tokenNow() !== refused
  }

  #tokenNow(): string | undefined {
    return this.#held?.token
  }

  /** One request at a time, and none while IMDS is to be left alone. */
  async #ask(signal: AbortSignal): Promise<void> {
    if (this.#asking === undefined) {
      if (this.#parts.clock.monotonic() < this.#askAt) return
      this.#asking = this.#askNow(signal).finally(() => {
        this.#asking = undefined
      })
    }
    await this.#asking
  }

  async #askNow(signal: AbortSignal): Promise<void> {
    const { source, audience, clientId, clock, log } = this.#parts
    const answer = await source.token(audience, clientId, signal)
    if (signal.aborted) return
    const now = clock.monotonic()
    if (answer.kind === 'failed') {
      this.#askAt = now + this.#patience.waitMs(answer)
      this.#reason = `there is no token to report with: ${sentenceOf(answer)}`
      const { status } = answer
      this.#episode.failed(String(status ?? ''), { reason: sentenceOf(answer), status })
      return
    }
    this.#patience.reset()
    this.#episode.recovered()
    const leftMs = Math.max(leastAgeMs, answer.expiresAt - clock.now())
    this.#held = { token: answer.token, renewAt: now + renewAfterMs(leftMs), endsAt: now + leftMs }
    log.debug('token_received', { leftMs: Math.round(leftMs) })
  }
}

/** 400 needs a person: IMDS knows no such identity, or Entra no such audience. */
function sentenceOf({ reason, status }: Failed): string {
  if (status !== 400) return reason
  return (
    `${reason}; assign a managed identity to this VM (az vm identity assign), name one of several ` +
    'in FOGHORN_IDENTITY_CLIENT_ID, and see that FOGHORN_AUDIENCE is an application of the tenant'
  )
}
