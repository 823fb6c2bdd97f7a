// How a beacon authenticates: by the fleet's key, or by a token of the VM's identity.
import { sign } from '../shared/signature.ts'

/** Headers for one attempt, made from the bytes that are sent. `now` is the relay's clock. */
export type Authenticate = (body: string, now: number) => Promise<Record<string, string>>

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
