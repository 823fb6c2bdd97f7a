// Checks signatures of tokens with `jose` and the keys that a tenant of Entra, or the Bot Connector,
// publishes. While they can't be reached, the known keys still work. A token of an unknown key is never accepted.
import {
  type CompactVerifyGetKey,
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  errors,
} from 'jose'
import * as z from 'zod'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Identity, Issuer, Verified } from './identity.ts'

/** Time for one request of the keys: the beacon waits 10 s for the relay's whole answer. */
const timeoutMs = 5_000
/** Least time between two requests for unknown keys, because anybody can forge such a token. */
const cooldownMs = 30_000
/** Wait after a failed request, because each of hundreds of reports would send another one. */
const retryMs = 5_000
/** The keys are fetched again this often, to drop those that were withdrawn. */
const refreshMs = 60 * 60_000
/** Keys that could not be refreshed for this long are no longer trusted. */
const trustMs = 24 * 60 * 60_000
/** A tenant's keys take about 10 KB. */
const maxKeysBytes = 256 * 1024
/** A managed identity's token takes 2 KB. */
const maxTokenLength = 8 * 1024

interface EntraOptions {
  /** Reads keys. Their address comes from the owner's configuration. */
  fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Epoch ms: the clock of the process, which `jose` uses, too. */
  now: () => number
  log: Log
}

export function createEntra(options: EntraOptions): Identity {
  const issuers = new Map<string, Keys>()
  return {
    async verify(token, issuer) {
      if (token.length > maxTokenLength) {
        return invalid(`it has ${token.length} characters; at most ${maxTokenLength} are allowed`)
      }
      const url = issuer.keysUrl
      const keys = issuers.get(url) ?? keysAt(issuer, options)
      issuers.set(url, keys)
      try {
        const { payload, protectedHeader } = await compactVerify(token, keys.keyFor, {
          algorithms: ['RS256'],
        })
        const endorsements = keys.readEndorsements(protectedHeader.kid)
        return {
          outcome: 'genuine',
          claims: claimsIn(payload),
          ...(endorsements && { endorsements }),
        }
      } catch (error) {
        if (error instanceof errors.JOSEError) return invalid(describeRefusal(error, issuer))
        // the keys are missing or unusable, so the token may be valid
        return { outcome: 'unavailable', reason: messageOf(error) }
      }
    },
  }
}

/** Errors that are the token's fault: the issuer's keys are known. */
const aboutToken = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
]

interface Keys {
  keyFor: CompactVerifyGetKey
  readEndorsements(kid: string | undefined): string[] | undefined
}

const endorsed = z.object({ endorsements: z.array(z.string()) })

function keysAt({ keysUrl: url, name }: Issuer, { fetch, now, log }: EntraOptions): Keys {
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: timeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: trustMs,
    [customFetch]: sparingly(fetch, now),
  })
  let refreshedAt = now()
  const keyFor: CompactVerifyGetKey = async (header, token) => {
    if (keys.fresh && Math.abs(now() - refreshedAt) >= refreshMs) {
      refreshedAt = now()
      await keys.reload().catch((error) => {
        log.warn('identity_keys_not_refreshed', { url, error: messageOf(error) })
      })
    }
    try {
      return await keys(header, token)
    } catch (error) {
      if (aboutToken.some((kind) => error instanceof kind)) throw error
      throw new Error(`the keys of ${name} can't be read from ${url}: ${messageOf(error)}`)
    }
  }
  const readEndorsements = (kid: string | undefined) => {
    const key = keys.jwks()?.keys.find((one) => one.kid === kid)
    return endorsed.safeParse(key).data?.endorsements
  }
  return { keyFor, readEndorsements: readEndorsements }
}

/** `fetch` for a small document. After a failure it fails at once for `retryMs`. */
function sparingly(fetch: EntraOptions['fetch'], now: () => number): EntraOptions['fetch'] {
  let failedAt = Number.NEGATIVE_INFINITY
  return async (url, init) => {
    if (Math.abs(now() - failedAt) < retryMs)
      throw new Error('the last request failed a moment ago')
    try {
      const response = await fetch(url, init)
      if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
      return new Response(await readSmall(response))
    } catch (error) {
      failedAt = now()
      throw error
    }
  }
}

async function readSmall(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxKeysBytes) throw new Error(`the answer is larger than ${maxKeysBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function claimsIn(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(payload))
  } catch {
    // `judgeClaims` refuses undefined
    return undefined
  }
}

function invalid(reason: string): Verified {
  return { outcome: 'invalid', reason }
}

/** The library's messages are not used: a later version might quote the token. */
function describeRefusal(error: errors.JOSEError, { name }: Issuer): string {
  const sentences: Record<string, string> = {
    ERR_JOSE_ALG_NOT_ALLOWED: 'its header "alg" is not "RS256"',
    ERR_JWKS_NO_MATCHING_KEY: `its header "kid" names no key of ${name}`,
    ERR_JWKS_MULTIPLE_MATCHING_KEYS: `its header "kid" names several keys of ${name}`,
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: `no key of ${name} made its signature`,
  }
  return sentences[error.code] ?? 'it is not a signed JWT of Entra'
}
