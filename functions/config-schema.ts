// The schema of the configuration file. Each part says what to write where it is wrong.
import { z } from 'zod'
import { FoghornError } from '../shared/errors.ts'
import { secretBytes } from '../shared/signature.ts'
import { decisions, moments } from './core/event.ts'

/** A commit stays within 60 deliveries: up to three moments come together. */
export const maxChannels = 20
const maxRules = 200
const maxNetworks = 64
/** Values of one key that takes one or a list. */
const maxListed = 100
/** Failing hardware is announced up to 7 days ahead. */
const maxRemindSeconds = 7 * 86_400

const loopback = ['localhost', '127.0.0.1', '[::1]']

/** An object that names its keys when somebody writes another. */
function object<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `unknown key ${quoted(issue.keys as string[])}; allowed are ${quoted(Object.keys(shape))}`
        : undefined,
  })
}

function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `write one of ${quoted(values)}` })
}

export const nameRule = 'a name has letters, digits, "_" and "-", at most 64'
export const identifier = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, nameRule)

const webUrl = z.string().refine(isWebUrl, {
  error: 'write an absolute https:// address (http:// only within allowNetworks)',
})

const secretRule = 'write "whsec_" followed by the base64 of 24 to 64 random bytes'
const secretsRule = `${secretRule}, or a list of 1 to 4 such`
const secret = z.string().refine(isSecret, { error: secretRule })
const secrets = z
  .union([secret, z.array(secret).min(1, secretsRule).max(4, secretsRule)], { error: secretsRule })
  .transform(toList)

const guid = (error: string) => z.guid({ error }).transform((id) => id.toLowerCase())
const listed = `, or a list of 1 to ${maxListed} such`
const tenantRule = 'write the GUID of the tenant that the VMs and their identities belong to'
const audienceRule = 'write what FOGHORN_AUDIENCE says, such as "api://foghorn"'
const subscriptionRule = 'write the GUID of a subscription'
const groupRule = 'write the name of a resource group, without its path'
const allowListRule =
  'name "subscriptions", "resourceGroups" or both: without them every VM of the tenant might report'

/** Whose managed identities may sign in: VMs of these subscriptions, or of these groups in them. */
const entraSchema = object({
  tenantId: guid(tenantRule),
  /** What tokens have to be made for; `aud` of version 2 is an application's id, of 1 its URI. */
  audience: list(z.string(audienceRule).min(1, audienceRule).max(256), audienceRule + listed),
  subscriptions: list(guid(subscriptionRule), subscriptionRule + listed).optional(),
  /** Names; within `subscriptions`, where those are given. */
  resourceGroups: list(
    z.string(groupRule).regex(/^[^/]{1,90}$/, groupRule),
    groupRule + listed,
  ).optional(),
  authority: z
    .string()
    .refine(isAuthority, {
      error: 'write an https:// address without a path (http:// for loopback only)',
    })
    .transform((url) => new URL(url).origin)
    .default('https://login.microsoftonline.com'),
}).refine((entra) => entra.subscriptions !== undefined || entra.resourceGroups !== undefined, {
  error: allowListRule,
})

const fleetSchema = object({ key: secrets.optional(), entra: entraSchema.optional() }).refine(
  (fleet) => fleet.key !== undefined || fleet.entra !== undefined,
  {
    path: ['key'],
    error: `${secretRule}, or say in "entra" whose managed identities may sign in, or both`,
  },
)

const common = {
  /** Another channel that is told when this one refuses or can't be reached. */
  fallback: identifier.optional(),
}

const channelSchema = z.discriminatedUnion(
  'kind',
  [
    object({ kind: z.literal('slack'), url: webUrl, ...common }),
    object({ kind: z.literal('teams'), url: webUrl, ...common }),
    object({
      kind: z.literal('pagerduty'),
      routingKey: z.string().length(32, 'a routing key has 32 characters'),
      endpoint: webUrl.default('https://events.pagerduty.com/v2/enqueue'),
      ...common,
    }),
    object({ kind: z.literal('webhook'), url: webUrl, secret: secrets, ...common }),
  ],
  { error: 'write a kind: "slack", "teams", "pagerduty" or "webhook"' },
)

function list<Item extends z.ZodType>(item: Item, error?: string) {
  return z
    .union([item, z.array(item).min(1, error).max(maxListed, error)], error)
    .transform((value) => (Array.isArray(value) ? value : [value]) as z.output<Item>[])
}

const text = z.string().min(1).max(256)

const matchSchema = object({
  fleet: list(text).optional(),
  eventType: list(text).optional(),
  source: list(text).optional(),
  resource: list(text).optional(),
  resourceGroup: list(text).optional(),
  scaleSet: list(text).optional(),
  tag: list(text).optional(),
  maxDurationSeconds: z.number().min(0).optional(),
})

/** Exported for editors: `z.toJSONSchema(configSchema, { io: 'input' })`. */
export const configSchema = object({
  /** For editors; the relay ignores it. */
  $schema: z.string().optional(),
  /** Where people's browsers reach the relay: the start of every link. */
  publicUrl: z
    .string()
    .refine(isPublicUrl, {
      error: 'write an https:// address without query or fragment (http:// for loopback only)',
    })
    .transform((url) => url.replace(/\/+$/, '')),
  fleets: z.record(identifier, fleetSchema).refine(...atLeastOne('fleet')),
  channels: z
    .record(identifier, channelSchema)
    .refine(...atLeastOne('channel'))
    .refine((channels) => Object.keys(channels).length <= maxChannels, {
      error: `at most ${maxChannels} channels, so that one commit can hold what an event owes`,
    }),
  policy: z
    .array(object({ name: text.optional(), match: matchSchema, decide: oneOf(decisions) }))
    .max(maxRules)
    .default([]),
  routes: z
    .array(
      object({
        match: matchSchema,
        moments: z.array(oneOf(moments)).min(1).optional(),
        channels: z.array(text).min(1),
        /** Reminds its channels this long before NotBefore, while nobody has decided. */
        remindBeforeSeconds: list(z.int().min(30).max(maxRemindSeconds)).optional(),
      }).refine(
        ({ moments: some, remindBeforeSeconds }) =>
          some === undefined || some.includes('reminder') === (remindBeforeSeconds !== undefined),
        {
          error:
            'the moment "reminder" and remindBeforeSeconds go together: write both, or neither',
        },
      ),
    )
    .min(1)
    .max(maxRules),
  /** Events that ended this long ago are forgotten, with all that was said of them. */
  retentionDays: z.int().min(10).max(3_650).default(90),
  /** Networks (CIDR) with private addresses that channels may be in, also by plain http. */
  allowNetworks: z
    .array(z.union([z.cidrv4(), z.cidrv6()], { error: 'write a network like 10.1.0.0/16' }))
    .max(maxNetworks)
    .default([]),
})

export type Channel = z.output<typeof channelSchema>
export type Fleet = z.output<typeof fleetSchema>
export type Entra = z.output<typeof entraSchema>
export type ChannelOf<Kind extends Channel['kind']> = Extract<Channel, { kind: Kind }>

function atLeastOne(what: string): [(record: object) => boolean, { error: string }] {
  return [(record) => Object.keys(record).length > 0, { error: `name at least one ${what}` }]
}

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  // fetch refuses an address with a user in it
  return ['https:', 'http:'].includes(protocol) && username + password === ''
}

function isPublicUrl(text: string): boolean {
  if (!isWebUrl(text)) return false
  const { protocol, hostname, search, hash } = new URL(text)
  if (search !== '' || hash !== '') return false
  return protocol === 'https:' || loopback.includes(hostname)
}

/** Where a tenant's keys are read: it is trusted as far as the answer is whose it says. */
function isAuthority(text: string): boolean {
  if (!isPublicUrl(text)) return false
  return new URL(text).pathname === '/'
}

function isSecret(value: string): boolean {
  try {
    return secretBytes(value).length > 0
  } catch (error) {
    if (error instanceof FoghornError) return false
    throw error
  }
}

function toList<T>(value: T | T[]): T[] {
  return Array.isArray(value) ? value : [value]
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
