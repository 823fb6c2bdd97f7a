// Reads which person has signed in through App Service Authentication with Microsoft Entra. A host
// without it accepts the same header from anybody. So the header counts only if the configuration
// has `signIn`, and a host with `signIn` does not start if the authentication is off.
import * as z from 'zod'
import { fromBase64 } from '../../shared/signature.ts'
import { cut } from '../../shared/text.ts'

/** App Service sets it, and removes it from outside requests. */
export const principalHeader = 'x-ms-client-principal'

/** A person in hundreds of groups has a claim for each. */
const maxHeaderLength = 64 * 1024
const maxClaims = 2_000
const maxName = 128

interface Principal {
  /** GUIDs in lower case. */
  tenant: string
  user: string
  /** Ids of groups, if the application's tokens have them. */
  groups: string[]
  /** The name is only shown: it may later belong to another person. */
  name?: string
}

type PrincipalRead =
  | { outcome: 'signed_in'; principal: Principal }
  | { outcome: 'absent' | 'sign_in_is_off' | 'malformed' | 'other_tenant' }

const principalSchema = z.object({
  /** With other providers, anybody may have an account with any claims. */
  auth_typ: z.literal('aad'),
  claims: z.array(z.object({ typ: z.string(), val: z.string() })).max(maxClaims),
})

/** The host maps some claims to longer names. */
const types = {
  user: ['oid', 'http://schemas.microsoft.com/identity/claims/objectidentifier'],
  tenant: ['tid', 'http://schemas.microsoft.com/identity/claims/tenantid'],
  groups: ['groups', 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups'],
  name: ['name', 'preferred_username'],
}

/** `signIn` is from the configuration, and undefined if people cannot sign in. */
export function readPrincipal(
  signIn: { tenantId: string } | undefined,
  header: string | undefined,
): PrincipalRead {
  if (header === undefined || header === '') return { outcome: 'absent' }
  if (signIn === undefined) return { outcome: 'sign_in_is_off' }
  const parsed = principalSchema.safeParse(readContent(header))
  if (!parsed.success) return { outcome: 'malformed' }
  const readValues = (names: string[]) =>
    parsed.data.claims.filter(({ typ }) => names.includes(typ)).map(({ val }) => val)
  const user = idIn(readValues(types.user))
  const tenant = idIn(readValues(types.tenant))
  if (user === undefined || tenant === undefined) return { outcome: 'malformed' }
  if (tenant !== signIn.tenantId) return { outcome: 'other_tenant' }
  const name = readValues(types.name)[0]
  return {
    outcome: 'signed_in',
    principal: {
      tenant,
      user,
      groups: readValues(types.groups).map(lower),
      ...(name && { name: cut(name, maxName) }),
    },
  }
}

function readContent(header: string): unknown {
  const bytes = header.length > maxHeaderLength ? undefined : fromBase64(header)
  if (bytes === undefined) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // the schema rejects undefined, so the header is malformed
    return undefined
  }
}

function lower(text: string): string {
  return text.toLowerCase()
}

/** The id in all claims of a kind. Undefined if they differ. */
function idIn(values: string[]): string | undefined {
  const ids = new Set(values.map((value) => value.toLowerCase()))
  const [id] = ids
  return ids.size === 1 && z.guid().safeParse(id).success ? id : undefined
}
