// Who sends a report, shown by the token of a VM's managed identity instead of a fleet's key. An adapter
// says whether a token is genuine; what its claims prove is decided here, purely.
// The surprise: one of Entra's signing keys serves many tenants, and every application of a tenant gets
// tokens. A good signature alone says nothing: tenant, audience and resource do.
import { z } from 'zod'
import { cut, isSameName } from '../../shared/document.ts'
import type { Vm } from '../../shared/report.ts'
import type { Entra } from '../core/rules/config.ts'

export interface Identity {
  /**
   * Checks that a key of the tenant signed the token (RS256), and nothing else of it. Never rejects;
   * no outcome but the claims holds any part of the token.
   */
  verify(token: string, entra: Entra): Promise<Verified>
}

export type Verified =
  | { outcome: 'genuine'; claims: unknown }
  | { outcome: 'invalid'; reason: string }
  /** The tenant's keys can't be had, so nothing is known of the token. */
  | { outcome: 'unavailable'; reason: string }

/** Clocks of Entra and of the relay are both kept by somebody; a beacon's plays no part. */
const toleranceMs = 60_000
const maxShown = 200

const claimsSchema = z.object({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  tid: z.string(),
  /** Unix seconds. */
  exp: z.number(),
  nbf: z.number().optional(),
  /** ARM id of the resource that asked for the token. */
  xms_az_rid: z.string().optional(),
  /** ARM id of what the identity belongs to: the resource, or the identity itself. */
  xms_mirid: z.string().optional(),
})
export type Claims = z.output<typeof claimsSchema>

type Judged = { outcome: 'accepted'; claims: Claims } | { outcome: 'refused'; reason: string }

/** Whether a genuine token was made by this tenant, for this relay, and for now. */
export function judgeClaims(genuine: unknown, entra: Entra, now: number): Judged {
  const parsed = claimsSchema.safeParse(genuine)
  if (!parsed.success) {
    const claim = String(parsed.error.issues[0]?.path[0] ?? 'iss')
    return refused(`its claim "${claim}" is missing, or of another type than Entra writes`)
  }
  const claims = parsed.data
  const { tenantId, authority } = entra
  if (claims.tid.toLowerCase() !== tenantId) return wrong('tid', claims.tid, [tenantId])
  // tokens of version 1 and of version 2
  const issuers = [`https://sts.windows.net/${tenantId}/`, `${authority}/${tenantId}/v2.0`]
  if (!issuers.includes(claims.iss)) return wrong('iss', claims.iss, issuers)
  const audiences = [claims.aud].flat()
  if (!audiences.some((audience) => entra.audience.includes(audience))) {
    return wrong('aud', audiences.join(', '), entra.audience)
  }
  if (claims.exp * 1000 + toleranceMs <= now) {
    return refused(`its claim "exp" is ${instant(claims.exp)}, which is over`)
  }
  if (claims.nbf !== undefined && claims.nbf * 1000 - toleranceMs > now) {
    return refused(`its claim "nbf" is ${instant(claims.nbf)}, which is still to come`)
  }
  return { outcome: 'accepted', claims }
}

type Proven = { outcome: 'proven'; beacon: string } | { outcome: 'refused'; reason: string }

/**
 * Whether accepted claims prove that this VM speaks, and that its fleet takes it. `beacon` is the key of
 * the beacon, made of nothing but what was proven: the report's vmId is anybody's to write, and under
 * another VM's vmId a report would retire that VM's boot, and confirm or lose its directives.
 */
export function proves(claims: Claims, entra: Entra, vm: Vm): Proven {
  // the resource that asked says more than the identity, which many resources may share
  const claim = claims.xms_az_rid === undefined ? 'xms_mirid' : 'xms_az_rid'
  const id = claims[claim]
  if (id === undefined) return refused('it has neither of the claims "xms_az_rid" and "xms_mirid"')
  const resource = parseResource(id)
  if (resource === undefined) {
    return refused(
      `its claim "${claim}" is ${shown([id])}, which is no VM; ` +
        "use the VM's system-assigned identity, where a user-assigned one comes without xms_az_rid",
    )
  }
  const { subscriptionId, resourceGroup } = resource
  if (!isListed(entra.subscriptions, subscriptionId)) {
    return refused(notListed(claim, 'subscription', subscriptionId, entra.subscriptions))
  }
  if (!isListed(entra.resourceGroups, resourceGroup)) {
    return refused(notListed(claim, 'resource group', resourceGroup, entra.resourceGroups))
  }
  for (const [field, proven] of Object.entries(resource)) {
    const said = vm[field as keyof Resource]
    if (isSameName(said, proven)) continue
    return refused(
      `the report's vm.${field} is ${shown([said])}; "${claim}" proves ${shown([proven])}`,
    )
  }
  if (resource.scaleSet !== undefined && !isInstanceOf(vm.name, resource.scaleSet)) {
    const prefix = shown([`${resource.scaleSet}_`])
    return refused(
      `the report's vm.name is ${shown([vm.name])}; "${claim}" proves names that begin with ${prefix}`,
    )
  }
  const beacon = `${subscriptionId}/${resourceGroup}/${vm.name}`.toLowerCase()
  return { outcome: 'proven', beacon }
}

/** What an ARM id says of a VM, by the names that a report has for it. */
interface Resource {
  subscriptionId: string
  resourceGroup: string
  name?: string
  /** In place of a name: the whole of a uniform set. Which of its instances speaks is not said. */
  scaleSet?: string
}

const groupId =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute(\/.*)$/i
const vmId = /^\/virtualMachines\/([^/]+)$/i
const setId = /^\/virtualMachineScaleSets\/([^/]+)(?:\/virtualMachines\/([^/]+))?$/i

/** Undefined for anything but a VM, an instance of a uniform scale set, or such a set. */
export function parseResource(id: string): Resource | undefined {
  const [, subscriptionId = '', resourceGroup = '', rest = ''] = groupId.exec(id) ?? []
  const [, name] = vmId.exec(rest) ?? []
  if (name !== undefined) return { subscriptionId, resourceGroup, name }
  const [, scaleSet, instance] = setId.exec(rest) ?? []
  if (scaleSet === undefined) return undefined
  if (instance === undefined) return { subscriptionId, resourceGroup, scaleSet }
  // the name that IMDS and events have for it
  return { subscriptionId, resourceGroup, name: `${scaleSet}_${instance}` }
}

function isInstanceOf(name: string, scaleSet: string): boolean {
  const prefix = `${scaleSet}_`
  return name.length > prefix.length && isSameName(name.slice(0, prefix.length), prefix)
}

function isListed(list: string[] | undefined, value: string): boolean {
  return list === undefined || list.some((one) => isSameName(one, value))
}

function notListed(claim: string, what: string, value: string, list: string[] | undefined) {
  return `its claim "${claim}" is of the ${what} ${shown([value])}; this fleet takes ${shown(list ?? [])}`
}

function wrong(claim: string, value: string, expected: string[]) {
  return refused(`its claim "${claim}" is ${shown([value])}; this fleet takes ${shown(expected)}`)
}

function refused(reason: string): { outcome: 'refused'; reason: string } {
  return { outcome: 'refused', reason }
}

/** What a claim or a report holds is anybody's text, of any length. */
function shown(values: string[]): string {
  return cut(values.map((value) => JSON.stringify(value)).join(' or '), maxShown)
}

function instant(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString()
}
