// Reads what IMDS says besides events. `/metadata/instance` is read leniently, but it must say which VM
// this is: a report with half an identity would be another VM's. No error shows any part of a token.
import * as z from 'zod/mini'
import { limits } from '../shared/document.ts'
import { parseJson } from '../shared/json.ts'
import { tagLimits, type Vm } from '../shared/report.ts'
import { cut } from '../shared/text.ts'

/** Without `optional` a missing key would refuse the whole instance. */
const text = z.pipe(
  z.optional(z.unknown()),
  z.transform((value) => (typeof value === 'string' ? cut(value.trim(), limits.name) : '')),
)

const instance = z.object({
  compute: z.object({
    name: text,
    vmId: text,
    resourceGroupName: text,
    subscriptionId: text,
    vmScaleSetName: text,
    placementGroupId: text,
    location: text,
    zone: text,
    tagsList: z.optional(z.array(z.unknown())),
  }),
})

/** Azure always gives these. An answer without one is incomplete, and the next one may be whole. */
const required = ['name', 'vmId', 'resourceGroupName'] as const

const tag = z.object({ name: z.string().check(z.minLength(1)), value: z.string() })

/** The VM, or a sentence that says why there is none. */
export function parseInstance(body: string): Vm | string {
  const json = parseJson(body)
  if (json === undefined) return `the instance document is not JSON: ${cut(body, 60)}`
  const parsed = instance.safeParse(json)
  if (!parsed.success) return `the instance document has no "compute": ${cut(body, 60)}`
  const { compute } = parsed.data
  const { tagsList } = compute
  const missing = required.find((key) => compute[key] === '')
  if (missing !== undefined || tagsList === undefined) {
    return `the instance document has no compute.${missing ?? 'tagsList'}`
  }
  return {
    name: compute.name,
    vmId: compute.vmId,
    resourceGroup: compute.resourceGroupName,
    subscriptionId: compute.subscriptionId,
    scaleSet: compute.vmScaleSetName,
    placementGroup: compute.placementGroupId,
    location: compute.location,
    zone: compute.zone,
    tags: readTags(tagsList),
  }
}

/** Keeps the first tags, in the order of IMDS: the relay refuses a report with more. */
function readTags(list: unknown[]): Record<string, string> {
  const tags = list.map((item) => tag.safeParse(item).data).filter((item) => item !== undefined)
  const short = (text: string) => cut(text, tagLimits.text)
  return Object.fromEntries(
    tags.slice(0, tagLimits.count).map(({ name, value }) => [short(name), short(value)]),
  )
}

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

/** Reads an answer of `/metadata/identity/oauth2/token`: the token, or a sentence that says why not. */
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
