// How a beacon authenticates: by the fleet's key, or by a token of the VM's identity.

import type { Log } from '../shared/log.ts'
import { sign } from '../shared/signature.ts'
import type { Clock } from './clock.ts'
import type { Failed, TokenSource } from './imds.ts'
import { createImdsBackoff, type ImdsBackoff } from './imds-backoff.ts'
import { createTroubleLog, type TroubleLog } from './log-once.ts'

/** Headers for one attempt, made from the bytes that are sent. `now` is the relay's clock. */
type Authenticate = (body: string, now: number) => Promise<Record<string, string>>

export interface Unready {
  kind: 'unready'
  reason: string
  /** When to try again. */
  retryAfterMs: number
}

/** No method rejects. Only the headers contain the secret. */
export interface Credential {
  /** Call before each attempt. Takes as long as a request to IMDS. */
  ready(signal: AbortSignal): Promise<Authenticate | Unready>
  /** Call if the relay rejected the credential. Returns whether there is a new one. */
  renew(signal: AbortSignal): Promise<boolean>
}

/** `key` is `whsec_…`; it never changes while the beacon runs. */
export function createKeyCredential(key: string, newId: () => string): Credential {
  return {
    ready: async () => async (body, now) => ({ ...(await sign([key], newId(), now, body)) }),
    renew: async () => false,
  }
}

/** The shortest time between two tokens. */
const leastAgeMs = 60_000
/** A token with less time left is renewed, whatever its lifetime was. */
const marginMs = 10 * 60_000
/** A rejected token is dropped at most once in this time: a new one usually has the same claims. */
const dropEveryMs = 5 * 60_000
/** Base of the waits after IMDS failed. */
const retryMs = 1_000

/**
 * When to renew a token, in ms since its receipt, if it was valid for `leftMs` then. IMDS caches
 * tokens for hours and may return the same one: then we ask again after half of the time that is
 * left.
 */
export function renewAfterMs(leftMs: number): number {
  return Math.max(leastAgeMs, Math.min(leftMs / 2, leftMs - marginMs))
}

interface TokenParts {
  source: TokenSource
  /** The audience equals `entra.audience` in the relay's configuration. */
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
  readonly #backoff: ImdsBackoff
  readonly #trouble: TroubleLog
  #held: Held | undefined
  #asking: Promise<void> | undefined
  /** After a failure, ask no earlier. */
  #askAt = Number.NEGATIVE_INFINITY
  #droppedAt = Number.NEGATIVE_INFINITY
  #reason = ''

  constructor(parts: TokenParts) {
    this.#parts = parts
    this.#backoff = createImdsBackoff(parts.clock, parts.random, retryMs)
    this.#trouble = createTroubleLog(parts.log, 'token')
  }

  async ready(signal: AbortSignal): Promise<Authenticate | Unready> {
    const { clock } = this.#parts
    if (this.#held === undefined || this.#held.endsAt <= clock.monotonic()) {
      await this.#ask(signal)
    } else if (this.#held.renewAt <= clock.monotonic()) {
      // a report does not wait for IMDS while the old token is valid
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

  /** One request at a time, and none before `#askAt`. */
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
      this.#askAt = now + this.#backoff.waitMs(answer)
      this.#reason = `no token to report with: ${describeRefusal(answer)}`
      const { status } = answer
      this.#trouble.failed(String(status ?? ''), { reason: describeRefusal(answer), status })
      return
    }
    this.#backoff.reset()
    this.#trouble.recovered()
    const leftMs = Math.max(leastAgeMs, answer.expiresAt - clock.now())
    this.#held = { token: answer.token, renewAt: now + renewAfterMs(leftMs), endsAt: now + leftMs }
    log.debug('token_received', { leftMs: Math.round(leftMs) })
  }
}

/** An owner must fix a 400: IMDS has no such identity, or Entra no such audience. */
function describeRefusal({ reason, status }: Failed): string {
  if (status !== 400) return reason
  return (
    `${reason}; assign a managed identity to this VM (az vm identity assign), name one of several ` +
    'in FOGHORN_IDENTITY_CLIENT_ID, and check that FOGHORN_AUDIENCE is an application of the tenant'
  )
}
