// Reads the answer of `/metadata/identity/oauth2/token`. No error shows any part of it.
import * as z from 'zod/mini'
import { parseJson } from '../shared/json.ts'

export interface AccessToken {
  token: string
  /** Epoch ms, by Azure's clock. */
  expiresAt: number
}

/** Only a JWT is accepted: the log masks nothing else. */
const jwt = /^eyJ[\w-]{8,}\.[\w-]+\.[\w-]+$/

const answer = z.object({
  access_token: z.string().check(z.regex(jwt)),
  /** Unix seconds, which IMDS writes as text. */
  expires_on: z.pipe(
    z.union([z.string().check(z.regex(/^\d{1,12}$/)), z.int().check(z.minimum(0))]),
    z.transform(Number),
  ),
})

/** The token, or a sentence that says why there is none. */
export function parseAccessToken(body: string): AccessToken | string {
  const json = parseJson(body)
  if (json === undefined) return 'the token answer is not JSON'
  const parsed = answer.safeParse(json)
  if (parsed.success) {
    return { token: parsed.data.access_token, expiresAt: parsed.data.expires_on * 1000 }
  }
  const names = parsed.error.issues.map(({ path }) => String(path[0] ?? 'access_token'))
  return `the token answer has no valid ${[...new Set(names)].join(' and ')}`
}
