// Checks signatures of Entra's tokens with `jose`, by the keys that the tenant publishes. Keys that were
// fetched once go on working while Entra can't be reached; a token of an unknown key is never let pass.
import {
  type CompactVerifyGetKey,
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  errors,
} from 'jose'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Entra } from '../core/rules/config.ts'
import type { Identity, Verified } from './identity.ts'

/** For one request of the keys; the beacon waits 10 s for the whole answer. */
const timeoutMs = 5_000
/** Between two requests because a token names an unknown key: anybody can make such a token. */
const cooldownMs = 30_000
/** After a request that failed: reports come by the hundred, and each would ask again. */
const retryMs = 5_000
/** So often the keys are fetched anew, to learn of those that were withdrawn. */
const refreshMs = 60 * 60_000
/** Keys that could not be refreshed for so long count for nothing. */
const trustMs = 24 * 60 * 60_000
/** A tenant's keys take about 10 KB. */
const maxKeysBytes = 256 * 1024
/** A managed identity's token takes 2 KB. */
const maxTokenLength = 8 * 1024

interface EntraOptions {
  /** The part of `fetch` that reads keys. Their address is the owner's own, from the configuration. */
  fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Epoch ms; the clock of the process, which `jose` goes by too. */
  now: () => number
  log: Log
}

export function createEntra(options: EntraOptions): Identity {
  /** One for each tenant of the configuration. */
  const tenants = new Map<string, CompactVerifyGetKey>()
  return {
    async verify(token, entra) {
      if (token.length > maxTokenLength) {
        return invalid(`it has ${token.length} characters, of ${maxTokenLength} at most`)
      }
      const url = `${entra.authority}/${entra.tenantId}/discovery/v2.0/keys`
      const keys = tenants.get(url) ?? keysAt(url, options)
      tenants.set(url, keys)
      try {
        const { payload } = await compactVerify(token, keys, { algorithms: ['RS256'] })
        return { outcome: 'genuine', claims: claimsIn(payload) }
      } catch (error) {
        if (error instanceof errors.JOSEError) return invalid(sentenceOf(error, entra))
        // the keys are missing, or of no use: the token may be as good as any
        return { outcome: 'unavailable', reason: messageOf(error) }
      }
    },
  }
}

/** What is wrong with a token where a tenant's keys are at hand. */
const aboutToken = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
]

function keysAt(url: string, { fetch, now, log }: EntraOptions): CompactVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: timeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: trustMs,
    [customFetch]: sparingly(fetch, now),
  })
  let refreshedAt = now()
  return async (header, token) => {
    if (keys.fresh && now() - refreshedAt >= refreshMs) {
      refreshedAt = now()
      await keys.reload().catch((error) => {
        log.warn('identity_keys_not_refreshed', { url, error: messageOf(error) })
      })
    }
    try {
      return await keys(header, token)
    } catch (error) {
      if (aboutToken.some((kind) => error instanceof kind)) throw error
      throw new Error(`the keys of the tenant can't be had from ${url}: ${messageOf(error)}`)
    }
  }
}

/** `fetch` for a small document, which is left alone for a moment after it failed. */
function sparingly(fetch: EntraOptions['fetch'], now: () => number): EntraOptions['fetch'] {
  let failedAt = Number.NEGATIVE_INFINITY
  return async (url, init) => {
    if (now() - failedAt < retryMs) throw new Error('it failed a moment ago')
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
    // nothing that could be judged, which the judgement says
    return undefined
  }
}

function invalid(reason: string): Verified {
  return { outcome: 'invalid', reason }
}

/** Our own words: those of the library might one day quote what they are about. */
function sentenceOf(error: errors.JOSEError, { tenantId }: Entra): string {
  const sentences: Record<string, string> = {
    ERR_JOSE_ALG_NOT_ALLOWED: 'its header "alg" is another than "RS256"',
    ERR_JWKS_NO_MATCHING_KEY: `its header "kid" names no key of the tenant ${tenantId}`,
    ERR_JWKS_MULTIPLE_MATCHING_KEYS: `its header "kid" does not say which key of ${tenantId} made it`,
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: `its signature was not made by a key of ${tenantId}`,
  }
  return sentences[error.code] ?? 'it is no signed JWT as Entra writes them'
}
