// What a user of the API may do: the holder of the admin key everything, a token what its scopes
// and fleets allow. A token makes only tokens that may do no more than it may itself. People who sign in
// may see the console: all fleets, some of them, or nothing.
import type { Decider } from '../event/event.ts'
import type { Config } from './config.ts'

export const scopes = ['read', 'decide', 'manage', 'calendar', 'report'] as const
export type Scope = (typeof scopes)[number]

/** What a header can carry: an admin key or a token has no other characters. */
export const keyPattern = /^[\x21-\x7e]+$/

/** What a token allows. */
export interface Grant {
  scopes: Scope[]
  /** Absent: all fleets. */
  fleets?: string[] | undefined
  /** Epoch ms. Absent: the token does not expire. */
  expiresAt?: number | undefined
}

interface TokenAccess extends Grant {
  by: 'token'
  id: string
  name: string
  /** See `Token`. */
  first?: string | undefined
}

/** A person who signed in at the host. Reads, and decides as on the page behind a link. */
interface PersonAccess {
  by: 'entra'
  /** `tenant/object id` */
  who: string
  /** The name is only shown. */
  name?: string | undefined
  /** Absent: all fleets. */
  fleets?: string[] | undefined
}

/** Who sends a request to the API or opens the console. */
export type Access = { by: 'admin' } | TokenAccess | PersonAccess

const implied: Record<Scope, readonly Scope[]> = {
  read: ['read', 'calendar'],
  decide: ['decide', 'read', 'calendar'],
  manage: ['manage', 'read', 'calendar'],
  calendar: ['calendar'],
  // for Azure Event Grid
  report: ['report'],
}

/** Whether a scope allows a request, also if another scope includes it. */
export function may(access: Access, scope: Scope): boolean {
  if (access.by === 'entra') return scope === 'read'
  return access.by === 'admin' || access.scopes.some((own) => implied[own].includes(scope))
}

/** Whether the user has a token for a feed and nothing else, which may be part of an address. */
export function isForAddress(access: Access): boolean {
  return access.by === 'token' && access.scopes.every((scope) => scope === 'calendar')
}

export function isBound(
  access: Access,
): access is (TokenAccess | PersonAccess) & { fleets: string[] } {
  return access.by !== 'admin' && access.fleets !== undefined
}

export function seesFleet(access: Access, fleet: string): boolean {
  return !isBound(access) || access.fleets.includes(fleet)
}

/**
 * The private networks that a webhook may be in. `bound`: the fleets of the token that made it, if it is
 * bound to some: the owner's own networks are not for all who get such a token.
 */
export function networksFor(
  bound: string[] | undefined,
  { allowNetworks, tokenNetworks }: Pick<Config, 'allowNetworks' | 'tokenNetworks'>,
): string[] {
  return bound === undefined ? allowNetworks : tokenNetworks
}

/** What an endpoint answered may be a secret of its network, so only the owner reads it. */
export function readsAnswers(access: Access): boolean {
  return access.by === 'admin'
}

/** The configured fleets that exist for this user. */
export function listFleets(access: Access, configured: readonly string[]): string[] {
  return configured.filter((fleet) => seesFleet(access, fleet))
}

/** Whether this user may see and revoke a token: it must be for no other fleet than the user's. */
export function seesToken(access: Access, { fleets }: Pick<Grant, 'fleets'>): boolean {
  return !isBound(access) || (fleets?.every((fleet) => seesFleet(access, fleet)) ?? false)
}

type Granted =
  | { outcome: 'granted'; grant: Grant }
  | { outcome: 'scope_missing'; scopes: Scope[] }
  | { outcome: 'fleet_unknown'; fleet: string }
  | { outcome: 'too_long'; until: number }

/**
 * What a new token may do. Fleets and an end that the wish leaves out are those of its maker.
 * `configured`: the fleets of the configuration.
 */
export function grantTo(access: Access, wish: Grant, configured: readonly string[]): Granted {
  const missing = wish.scopes.filter((scope) => !may(access, scope))
  if (missing.length > 0) return { outcome: 'scope_missing', scopes: missing }
  const seen = listFleets(access, configured)
  const unknown = wish.fleets?.find((fleet) => !seen.includes(fleet))
  if (unknown !== undefined) return { outcome: 'fleet_unknown', fleet: unknown }
  const own: Partial<Grant> = access.by === 'token' ? access : {}
  const { fleets = own.fleets, expiresAt = own.expiresAt } = wish
  if (own.expiresAt !== undefined && expiresAt! > own.expiresAt) {
    return { outcome: 'too_long', until: own.expiresAt }
  }
  const grant = {
    scopes: scopes.filter((scope) => wish.scopes.includes(scope)),
    ...(fleets === undefined ? {} : { fleets: [...new Set(fleets)] }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
  return { outcome: 'granted', grant }
}

/** Names the user in the record of a decision. */
export function toDecider(access: Access): Decider {
  if (access.by === 'admin') return { how: 'admin', who: 'admin' }
  if (access.by === 'entra') {
    const { who, name } = access
    return { how: 'entra', who, ...(name && { name }) }
  }
  return { how: 'token', who: `${access.id}/${access.name}` }
}

/** Who is behind a credential: the tokens that one token has made are one owner's. */
export function nameOwner(access: Access): string {
  return access.by === 'token' ? `token ${access.first ?? access.id}` : describeAccess(access)
}

/** Names the user in a log line and in a list: `admin`, `token:4f0c…/inventory`. */
export function describeAccess(access: Access): string {
  const { how, who } = toDecider(access)
  return how === 'admin' ? who : `${how}:${who}`
}

/** A person as the host's sign-in proves them. All ids are GUIDs in lower case. */
interface Person {
  tenant: string
  user: string
  /** Ids of the groups that the sign-in names. */
  groups: readonly string[]
  name?: string
}

type Listing = Pick<Config, 'viewers' | 'fleets'>

/** Undefined if no list has the person or one of their groups. */
export function accessOfPerson({ viewers, fleets }: Listing, person: Person): Access | undefined {
  const { tenant, user, groups, name } = person
  const names = new Set([
    `entra:${tenant}/${user}`,
    ...groups.map((group) => `entra-group:${tenant}/${group}`),
  ])
  const isIn = (list: readonly string[] | undefined) => list?.some((one) => names.has(one)) ?? false
  const access = { by: 'entra', who: `${tenant}/${user}`, name } as const
  if (isIn(viewers)) return access
  const own = Object.keys(fleets).filter((fleet) => isIn(fleets[fleet]?.viewers))
  return own.length === 0 ? undefined : { ...access, fleets: own }
}

/** Whether any person may see the console. */
export function hasViewers({ viewers, fleets }: Listing): boolean {
  return viewers !== undefined || Object.values(fleets).some((fleet) => fleet.viewers !== undefined)
}
