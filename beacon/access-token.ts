// What `/metadata/identity/oauth2/token` answers. No sentence about it may show any of it.
import { z } from 'zod'
import { parseJson } from '../shared/json.ts'

export interface AccessToken {
  token: string
  /** Epoch ms, by Azure's clock. */
  expiresAt: number
}

/** A JWT, which the log knows by its look: what it could not mask is not let in. */
const jwt = /^eyJ[\w-]{8,}\.[\w-]+\.[\w-]+$/

const answer = z.object({
  access_token: z.string().regex(jwt),
  /** Unix seconds, which IMDS writes as text. */
  expires_on: z.union([z.string().regex(/^\d{1,12}$/), z.int().min(0)]).transform(Number),
})

/** The token, or a sentence that says why the text holds none. */
export function parseAccessToken(body: string): AccessToken | string {
  const json = parseJson(body)
  if (json === undefined) return 'the answer for a token is not JSON'
  const parsed = answer.safeParse(json)
  if (parsed.success) {
    return { token: parsed.data.access_token, expiresAt: parsed.data.expires_on * 1000 }
  }
  const names = parsed.error.issues.map(({ path }) => String(path[0] ?? 'access_token'))
  return `the answer for a token has no usable ${[...new Set(names)].join(' and ')}`
}
