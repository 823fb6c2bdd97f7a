// Authenticates a beacon by the token of its VM's managed identity instead of a fleet's key. An
// adapter checks the signature, and this file decides purely what the claims prove. A valid
// signature proves nothing without tenant, audience and resource, because one of Entra's keys signs
// for many tenants, and every application of a tenant gets tokens.
import * as z from 'zod'
import { isSameName } from '../../shared/document.ts'
import type { Vm } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'
import type { Entra } from '../core/rules/config.ts'

export interface Identity {
  /**
   * Checks only that a key of the issuer signed the token (RS256). Never rejects. A reason never
   * contains any part of the token.
   */
  verify(token: string, issuer: Issuer): Promise<Verified>
}

export interface Issuer {
  /** Where the issuer publishes its keys. */
  keysUrl: string
  /** The issuer's name for sentences. */
  name: string
}

export function readIssuer({ authority, tenantId }: Entra): Issuer {
  return { keysUrl: `${authority}/${tenantId}/discovery/v2.0/keys`, name: `the tenant ${tenantId}` }
}

export type Verified =
  /** `endorsements`: channels that the key may speak for; only the Bot Connector's keys have some. */
  | { outcome: 'genuine'; claims: unknown; endorsements?: string[] }
  | { outcome: 'invalid'; reason: string }
  /** The issuer's keys can't be read, so the token can't be checked. */
  | { outcome: 'unavailable'; reason: string }

/** The clocks of Entra and the relay may differ by this much. The beacon's clock does not matter. */
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
  /** ARM id of the resource that the identity belongs to, or of a user-assigned identity. */
  xms_mirid: z.string().optional(),
})
export type Claims = z.output<typeof claimsSchema>

type Judged = { outcome: 'accepted'; claims: Claims } | { outcome: 'refused'; reason: string }

/** Whether a genuine token is of this tenant, for this relay, and valid now. */
export function judgeClaims(genuine: unknown, entra: Entra, now: number): Judged {
  const parsed = claimsSchema.safeParse(genuine)
  if (!parsed.success) {
    const claim = String(parsed.error.issues[0]?.path[0] ?? 'iss')
    return refused(`its claim "${claim}" is missing or has the wrong type`)
  }
  const claims = parsed.data
  const { tenantId, authority } = entra
  if (claims.tid.toLowerCase() !== tenantId) return wrong('tid', claims.tid, [tenantId])
  // tokens of version 1 and of version 2
  const issuers = [
    `https://${firstIssuerIn(authority)}/${tenantId}/`,
    `${authority}/${tenantId}/v2.0`,
  ]
  if (!issuers.includes(claims.iss)) return wrong('iss', claims.iss, issuers)
  const audiences = [claims.aud].flat()
  if (!audiences.some((audience) => entra.audience.includes(audience))) {
    return wrong('aud', audiences.join(', '), entra.audience)
  }
  if (claims.exp * 1000 + toleranceMs <= now) {
    return refused(`its claim "exp" is ${instant(claims.exp)}, so it has expired`)
  }
  if (claims.nbf !== undefined && claims.nbf * 1000 - toleranceMs > now) {
    return refused(`its claim "nbf" is ${instant(claims.nbf)}, so it is not valid yet`)
  }
  return { outcome: 'accepted', claims }
}

/**
 * Who issues tokens of version 1. Azure in China has an issuer of its own, and Azure for the US
 * government has not (https://learn.microsoft.com/en-us/answers/questions/1190472).
 */
function firstIssuerIn(authority: string): string {
  const isChina = new URL(authority).hostname.endsWith('.cn')
  return isChina ? 'sts.chinacloudapi.cn' : 'sts.windows.net'
}

type Proven = { outcome: 'proven'; beacon: string } | { outcome: 'refused'; reason: string }

/**
 * Whether accepted claims prove that this VM sent the report, and that the fleet accepts the VM.
 * `beacon` is the beacon's key, made of proven facts only: a VM could write another VM's vmId into
 * its report, and so retire that VM's boot and take its directives.
 */
export function proves(claims: Claims, entra: Entra, vm: Vm): Proven {
  // prefer the resource that asked: many resources may share the identity
  const claim = claims.xms_az_rid === undefined ? 'xms_mirid' : 'xms_az_rid'
  const id = claims[claim]
  if (id === undefined) return refused('it lacks both the claims "xms_az_rid" and "xms_mirid"')
  const resource = parseResource(id)
  if (resource === undefined) {
    return refused(
      `its claim "${claim}" is ${shown([id])}, which is not a VM; ` +
        'if tokens of a user-assigned identity lack xms_az_rid, use a system-assigned identity',
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
  if (resource.scaleSet !== undefined && !isInstanceAddress(vm.name, resource.scaleSet)) {
    const prefix = shown([`${resource.scaleSet}_`])
    return refused(
      `the report's vm.name is ${shown([vm.name])}; "${claim}" proves names that begin with ${prefix}`,
    )
  }
  const beacon = `${subscriptionId}/${resourceGroup}/${vm.name}`.toLowerCase()
  return { outcome: 'proven', beacon }
}

/** The facts in an ARM id of a VM, named as in a report. */
interface Resource {
  subscriptionId: string
  resourceGroup: string
  name?: string
  /** The uniform scale set, instead of a name. The id does not tell which of its instances it is. */
  scaleSet?: string
}

const groupId =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute(\/.*)$/i
const vmId = /^\/virtualMachines\/([^/]+)$/i
const setId = /^\/virtualMachineScaleSets\/([^/]+)(?:\/virtualMachines\/([^/]+))?$/i

/** Undefined unless the id is of a VM, a uniform scale set or one of its instances. */
export function parseResource(id: string): Resource | undefined {
  const [, subscriptionId = '', resourceGroup = '', rest = ''] = groupId.exec(id) ?? []
  const [, name] = vmId.exec(rest) ?? []
  if (name !== undefined) return { subscriptionId, resourceGroup, name }
  const [, scaleSet, instance] = setId.exec(rest) ?? []
  if (scaleSet === undefined) return undefined
  if (instance === undefined) return { subscriptionId, resourceGroup, scaleSet }
  // IMDS and events use this name
  return { subscriptionId, resourceGroup, name: `${scaleSet}_${instance}` }
}

function isInstanceAddress(name: string, scaleSet: string): boolean {
  const prefix = `${scaleSet}_`
  return name.length > prefix.length && isSameName(name.slice(0, prefix.length), prefix)
}

function isListed(list: string[] | undefined, value: string): boolean {
  return list === undefined || list.some((one) => isSameName(one, value))
}

function notListed(claim: string, what: string, value: string, list: string[] | undefined) {
  const accepted = shown(list ?? [])
  return `its claim "${claim}" names the ${what} ${shown([value])}; this fleet accepts ${accepted}`
}

function wrong(claim: string, value: string, expected: string[]) {
  return refused(`its claim "${claim}" is ${shown([value])}; this fleet accepts ${shown(expected)}`)
}

function refused(reason: string): { outcome: 'refused'; reason: string } {
  return { outcome: 'refused', reason }
}

/** Claims and reports may contain any text of any length. */
function shown(values: string[]): string {
  return cut(values.map((value) => JSON.stringify(value)).join(' or '), maxShown)
}

function instant(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString()
}
