// Who has signed in, as the host's own sign-in says (App Service Authentication with Microsoft Entra). The
// surprise: it says so in a header that anybody can send to a host without that sign-in. So the header counts
// only where the configuration has `signIn`, and hosts refuse to start with it where the sign-in is off.
import { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { fromBase64 } from '../../shared/signature.ts'

/** Set by App Service, which removes it from what comes from outside. */
export const principalHeader = 'x-ms-client-principal'

/** Somebody in hundreds of groups has a claim for each. */
const maxHeaderLength = 64 * 1024
const maxClaims = 2_000
const maxName = 128

interface Principal {
  /** GUIDs in lower case. */
  tenant: string
  user: string
  /** To be shown and nothing else: names change hands. */
  name?: string
}

type PrincipalRead =
  | { outcome: 'signed_in'; principal: Principal }
  | { outcome: 'absent' | 'sign_in_is_off' | 'malformed' | 'other_tenant' }

const principalSchema = z.object({
  /** Of other providers, anybody may have an account, with whatever claims. */
  auth_typ: z.literal('aad'),
  claims: z.array(z.object({ typ: z.string(), val: z.string() })).max(maxClaims),
})

/** The host maps some claims to longer names. */
const types = {
  user: ['oid', 'http://schemas.microsoft.com/identity/claims/objectidentifier'],
  tenant: ['tid', 'http://schemas.microsoft.com/identity/claims/tenantid'],
  name: ['name', 'preferred_username'],
}

/** Reads the header; `signIn` is the configuration's, absent where the host signs nobody in. */
export function readPrincipal(
  signIn: { tenantId: string } | undefined,
  header: string | undefined,
): PrincipalRead {
  if (header === undefined || header === '') return { outcome: 'absent' }
  if (signIn === undefined) return { outcome: 'sign_in_is_off' }
  const parsed = principalSchema.safeParse(contentOf(header))
  if (!parsed.success) return { outcome: 'malformed' }
  const valuesOf = (names: string[]) =>
    parsed.data.claims.filter(({ typ }) => names.includes(typ)).map(({ val }) => val)
  const user = idIn(valuesOf(types.user))
  const tenant = idIn(valuesOf(types.tenant))
  if (user === undefined || tenant === undefined) return { outcome: 'malformed' }
  if (tenant !== signIn.tenantId) return { outcome: 'other_tenant' }
  const name = valuesOf(types.name)[0]
  return {
    outcome: 'signed_in',
    principal: { tenant, user, ...(name && { name: cut(name, maxName) }) },
  }
}

function contentOf(header: string): unknown {
  const bytes = header.length > maxHeaderLength ? undefined : fromBase64(header)
  if (bytes === undefined) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // what is no JSON is malformed, as the schema says of undefined
    return undefined
  }
}

/** The one id that all claims of a kind say; two that differ say none. */
function idIn(values: string[]): string | undefined {
  const ids = new Set(values.map((value) => value.toLowerCase()))
  const [id] = ids
  return ids.size === 1 && z.guid().safeParse(id).success ? id : undefined
}
