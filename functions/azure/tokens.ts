// Tokens for Azure's services: of the host's managed identity, or of an app registration with a secret or
// with a token of another issuer (workload identity).
import * as z from 'zod'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import type { AzureAccess } from '../core/rules/config.ts'
import { type AzureTokens, describeCode, readStart } from '../notify/notifier.ts'

/** Where App Service gives tokens of the app's identity, and the header that it asks for. */
export interface HostIdentity {
  endpoint: string
  header: string
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

const timeoutMs = 10_000
/** A token is renewed this long before its end. */
const spareMs = 5 * 60_000
/** IMDS, on a VM. */
const metadata = 'http://169.254.169.254/metadata/identity/oauth2/token'

const maxAnswerBytes = 64 * 1_024

/** A token must be valid in a header: a runtime's error about an invalid header would repeat the token. */
const tokenSchema = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/),
  // managed identities write numbers as texts
  expires_in: z.coerce.number().optional(),
  expires_on: z.coerce.number().optional(),
})

interface Options {
  access: AzureAccess
  host: HostIdentity | undefined
  fetch: Fetch
  now: () => number
  /** Reads a file. */
  readText: (file: string) => Promise<string>
}

export function createTokens(options: Options): AzureTokens {
  const known = new Map<string, { token: string; until: number }>()
  const { clientId } = options.access
  return {
    ...(clientId !== undefined && { clientId }),
    async read(resource) {
      const now = options.now()
      const last = known.get(resource)
      if (last !== undefined && now < last.until) return last.token
      const found = await ask(resource, options)
      const { access_token, expires_in, expires_on } = found
      const endsAt = expires_on === undefined ? now + (expires_in ?? 0) * 1_000 : expires_on * 1_000
      known.set(resource, { token: access_token, until: endsAt - spareMs })
      return access_token
    },
    drop(resource) {
      known.delete(resource)
    },
  }
}

async function ask(resource: string, options: Options) {
  const { tenantId, clientId } = options.access
  const ofWhom =
    tenantId === undefined ? "the host's managed identity" : `the app registration ${clientId}`
  const failed = (why: string) =>
    new FoghornError('azure_token_missing', `there is no token of ${ofWhom}: ${why}`)
  try {
    const { url, init } = await requestFor(resource, options)
    // a redirect would take the secret elsewhere
    const own: RequestInit = { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) }
    const answer = await options.fetch(url, { ...init, ...own })
    const { text } = await readStart(answer, maxAnswerBytes)
    const read = tokenSchema.safeParse(parseJson(text))
    // the body of a refusal may repeat what was sent
    if (answer.ok && read.success) return read.data
    const why = answer.ok ? 'the answer has no token' : `HTTP ${answer.status}`
    throw failed(why)
  } catch (error) {
    throw error instanceof FoghornError ? error : failed(`no answer: ${describeCode(error)}`)
  }
}

async function requestFor(resource: string, { access, host, readText }: Options) {
  const { tenantId, clientId, clientSecret, federatedTokenFile } = access
  if (tenantId === undefined) return ofHost(resource, clientId, host)
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId ?? '',
    scope: `${resource}/.default`,
    ...(clientSecret === undefined
      ? {
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          // the file is written anew while the relay runs
          client_assertion: (await readAssertion(federatedTokenFile ?? '', readText)).trim(),
        }
      : { client_secret: clientSecret }),
  })
  const url = `${access.authority}/${tenantId}/oauth2/v2.0/token`
  return { url, init: { method: 'POST', body } }
}

async function readAssertion(file: string, readText: Options['readText']): Promise<string> {
  try {
    return await readText(file)
  } catch (error) {
    const why = `federatedTokenFile: "${file}" cannot be read: ${messageOf(error)}`
    throw new FoghornError('azure_token_missing', why)
  }
}

function ofHost(resource: string, clientId: string | undefined, host: HostIdentity | undefined) {
  const query = new URLSearchParams({
    'api-version': host === undefined ? '2018-02-01' : '2019-08-01',
    resource,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  })
  const headers: Record<string, string> =
    host === undefined ? { metadata: 'true' } : { 'x-identity-header': host.header }
  const url = `${host?.endpoint ?? metadata}?${query}`
  return { url, init: { headers } }
}
