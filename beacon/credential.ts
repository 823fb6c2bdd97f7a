// How a beacon shows the relay who it is: by the fleet's key, or by a token of the VM's identity.
import { sign } from '../shared/signature.ts'

/** Headers for one attempt, made from the bytes that are sent; `now` is the relay's clock, epoch ms. */
export type Show = (body: string, now: number) => Promise<Record<string, string>>

export interface Unready {
  kind: 'unready'
  reason: string
  /** When it is worth another try. */
  retryAfterMs: number
}

/** No method rejects, and no outcome but the headers holds the secret. */
export interface Credential {
  /** To be asked before each attempt; may take as long as IMDS does. */
  ready(signal: AbortSignal): Promise<Show | Unready>
  /** The relay refused what was shown. Whether there is something else to show now. */
  renew(signal: AbortSignal): Promise<boolean>
}

/** `key` is `whsec_…`; it never changes while the beacon runs. */
export function createKeyCredential(key: string, newId: () => string): Credential {
  return {
    ready: async () => async (body, now) => ({ ...(await sign([key], newId(), now, body)) }),
    renew: async () => false,
  }
}
