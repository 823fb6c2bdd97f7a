// The schema of the configuration file. Each part has an error that says what to write, and a
// description that editors show (infra/config.schema.json, written by `npm run generate`).
import * as z from 'zod'
import { documentedTypes } from '../../shared/document.ts'
import { isSecretAddress, looksSecret } from '../../shared/presentable.ts'
import { decisions } from '../core/event/event.ts'
import { moments } from '../core/event/moment.ts'
import { hasBlockedPort, portRefusal } from '../core/rules/address.ts'
import {
  apps,
  buttonServices,
  type Channel,
  channelSchema,
  channelSecrets,
  groupSchemas,
} from '../notify/registry.ts'
import {
  atLeastOne,
  guid,
  identifier,
  isAuthority,
  isPublicUrl,
  list,
  listChoices,
  maxListed,
  object,
  secretRule,
  secrets,
  textBy,
  webUrl,
} from '../schema/checks.ts'
import { azureSchema, subscriptionIds } from './azure.ts'
import {
  approver,
  approverForms,
  approversRule,
  signInSchema,
  viewer,
  viewersRule,
} from './people.ts'
import { timeSchema } from './time.ts'

/** Channels that an event can reach by routes. A commit has up to three moments. */
export const maxReached = 20
const maxChannels = 200
const maxRules = 200
const maxNetworks = 64
const maxExpected = 10_000
/** Azure announces failing hardware up to 7 days ahead. */
const maxRemindSeconds = 7 * 86_400

const publicRule =
  'write an https:// address without query, fragment, spaces, backslashes or a bare "%" (http:// for loopback only)'
const notOursRule =
  'this is the address of another service, and may be a secret; write the address of the relay for browsers'

const listed = `, or a list of 1 to ${maxListed} of these`
const tenantRule = 'write the GUID of the tenant that the VMs and their identities belong to'
const audienceRule = 'write the same value as in FOGHORN_AUDIENCE, such as "api://foghorn"'
const subscriptionRule = 'write the GUID of a subscription'
const groupRule = 'write the name of a resource group, without its path'
const allowListRule =
  'add "subscriptions", "resourceGroups" or both: without them every VM of the tenant could report'

const entraSchema = object({
  tenantId: guid(tenantRule).describe('The Entra tenant of the VMs and their identities.'),
  audience: list(
    z.string(audienceRule).min(1, audienceRule).max(256),
    audienceRule + listed,
  ).describe(
    "The audience of the tokens: the application's URI in tokens of version 1, its id in version 2.",
  ),
  subscriptions: list(guid(subscriptionRule), subscriptionRule + listed)
    .optional()
    .describe('VMs of these subscriptions may report.'),
  resourceGroups: list(z.string(groupRule).regex(/^[^/]{1,90}$/, groupRule), groupRule + listed)
    .optional()
    .describe(
      'VMs of these resource groups may report. With `subscriptions`: only these groups there.',
    ),
  authority: z
    .string()
    .refine(isAuthority, {
      error: 'write an https:// address without a path (http:// for loopback only)',
    })
    .transform((url) => new URL(url).origin)
    .default('https://login.microsoftonline.com')
    .describe('Where the relay reads the keys of the tenant. Other clouds use another address.'),
}).refine((entra) => entra.subscriptions !== undefined || entra.resourceGroups !== undefined, {
  error: allowListRule,
})

const ownersRule = `write 1 to ${maxReached} names under "channels"`
const owners = z
  .array(z.string(ownersRule), ownersRule)
  .min(1, ownersRule)
  .max(maxReached, ownersRule)

const viewers = z.array(viewer, viewersRule).min(1, viewersRule).max(maxListed, viewersRule)

const expectedRule =
  `write how many beacons the fleet has, from 1 to ${maxExpected}, ` +
  'or a list of the names of their VMs'
const vmName = z.string(expectedRule).min(1, expectedRule).max(64, expectedRule)
const expectedBeacons = z.union(
  [
    z.int(expectedRule).min(1, expectedRule).max(maxExpected, expectedRule),
    z.array(vmName, expectedRule).min(1, expectedRule).max(maxExpected, expectedRule),
  ],
  { error: expectedRule },
)

const fleetSchema = object({
  key: secrets
    .optional()
    .describe('Signs reports: "whsec_" and base64. A list of up to 4 while you replace one.'),
  entra: entraSchema.optional().describe('Managed identities that may report.'),
  azureSubscriptions: subscriptionIds
    .optional()
    .describe(
      'Events that Azure publishes for these subscriptions of `azure` belong to this fleet, and only in these may the relay tell Azure to start its events.',
    ),
  owners: owners
    .optional()
    .describe('Channels that receive alerts about this fleet, in place of the top-level `owners`.'),
  expectedBeacons: expectedBeacons
    .optional()
    .describe(
      'How many beacons the fleet has, or a list of the names of their VMs. If some never report, owners get an alert.',
    ),
  viewers: viewers
    .optional()
    .describe(
      'People and groups who may see this fleet in the console, besides the top-level ones.',
    ),
}).refine(({ key, entra, azureSubscriptions }) => [key, entra, azureSubscriptions].some(Boolean), {
  path: ['key'],
  error: `${secretRule}, or add "entra" for managed identities, or both; a fleet without beacons needs "azureSubscriptions"`,
})

const text = z.string().min(1).max(256)
const texts = (what: string) =>
  list(text, `write a text of 1 to 256 characters${listed}`).optional().describe(what)

const matchSchema = object({
  fleet: texts('Names under `fleets`.'),
  eventType: texts(`${documentedTypes.join(', ')}.`),
  source: texts('Platform, or User if a person or a program requested the event.'),
  resource: texts('VM names, as globs: `*` is any characters, `?` is one.'),
  resourceGroup: texts('The resource group of an affected VM, as its beacon reports it.'),
  scaleSet: texts('The scale set of an affected VM, as its beacon reports it.'),
  tag: texts('A tag of an affected VM, as its beacon reports it: `name` or `name=value`.'),
  time: timeSchema
    .optional()
    .describe('When the rule or route counts. If it is a list, one interval is enough.'),
  maxDurationSeconds: z
    .number()
    .min(0)
    .optional()
    .describe('Azure expects an interruption of at most this. Unknown durations never match.'),
}).describe('All conditions must hold. In a list, one value must match. {} matches every event.')

const ruleNameRule =
  'messages and the history show the name, so it must not be an address or a secret; write words'

const maxConcurrentLimit = 1_000
const maxConcurrentRule = `write a whole number from 1 to ${maxConcurrentLimit}`

const leadRule = 'write whole seconds from 60 to 86400'

const ruleSchema = object({
  name: text
    .refine((name) => !looksSecret(name) && !/^\S*:\/\/\S*$/.test(name), { error: ruleNameRule })
    .optional()
    .describe('Shown in messages and in the history as the reason of the decision.'),
  match: matchSchema,
  decide: listChoices(decisions).describe(
    'approve: Azure starts it at once. ask: people decide. notify: channels are notified, nobody is asked. ignore: no message is sent.',
  ),
  runbook: webUrl
    .optional()
    .describe(
      'An address for people who read the message: messages and pages have a button to it.',
    ),
  whenReady: z
    .boolean()
    .optional()
    .describe(
      'true, with approve: approves once the hook `prepare` has succeeded on every affected VM. If that fails or takes too long, people are asked.',
    ),
  prepareBeforeSeconds: z
    .int(leadRule)
    .min(60, leadRule)
    .max(86_400, leadRule)
    .optional()
    .describe(
      'With whenReady: VMs run `prepare` from this long before NotBefore on, 600 by default. A beacon whose FOGHORN_HOOK_LEAD_SECONDS is longer begins earlier.',
    ),
  maxConcurrent: z
    .int(maxConcurrentRule)
    .min(1, maxConcurrentRule)
    .max(maxConcurrentLimit, maxConcurrentRule)
    .optional()
    .describe(
      'With approve: at most this many VMs of one scale set, or of one tag value if `match` has a tag, are prepared or approved at the same time. The next event waits for its turn.',
    ),
}).superRefine((rule, { addIssue }) => {
  if (rule.prepareBeforeSeconds !== undefined && !rule.whenReady) {
    const message = 'only a rule with "whenReady": true prepares VMs; write that, or remove this'
    addIssue({ code: 'custom', path: ['prepareBeforeSeconds'], message })
  }
  if (rule.decide === 'approve') return
  for (const key of ['whenReady', 'maxConcurrent'] as const) {
    if (!rule[key]) continue
    const message = `only a rule with "decide": "approve" waits; write that, or remove "${key}"`
    addIssue({ code: 'custom', path: [key], message })
  }
})

/** Services whose messages may have buttons that decide. */
const inMessages = buttonServices.map(({ approveIn }) => approveIn)

const routeSchema = object({
  match: matchSchema,
  runbook: webUrl.optional().describe('As that of a rule, for the channels of this route.'),
  moments: z
    .array(listChoices(moments))
    .min(1)
    .optional()
    .describe('Moments to notify of. If left out: all. Reminders need remindBeforeSeconds.'),
  channels: z.array(text).min(1).describe('Names under `channels`.'),
  remindBeforeSeconds: list(
    z.int().min(30).max(maxRemindSeconds),
    `write seconds, from 30 to ${maxRemindSeconds}${listed}`,
  )
    .optional()
    .describe('Reminds the channels this long before NotBefore, while nobody has decided.'),
  approvers: z
    .array(approver)
    .min(1, approversRule)
    .max(maxListed, approversRule)
    .optional()
    .describe(`People who may decide: ${approverForms}. If left out: anyone with the link.`),
  approveIn: listChoices(['page', ...inMessages])
    .optional()
    .describe(
      `${inMessages.join(', ')}: messages there have buttons that decide. page (the default): messages have a link.`,
    ),
  continue: z
    .boolean()
    .optional()
    .describe(
      'false: if this route notifies and matches every affected VM, later routes do not notify.',
    ),
}).refine(
  ({ moments: some, remindBeforeSeconds }) =>
    some === undefined || some.includes('reminder') === (remindBeforeSeconds !== undefined),
  {
    error: 'the moment "reminder" and remindBeforeSeconds go together: write both, or neither',
  },
)

const networks = z
  .array(
    z.union([z.cidrv4(), z.cidrv6()], {
      error: 'write a network like 10.1.0.0/16, or one address like 10.1.2.3/32',
    }),
  )
  .max(maxNetworks)
  .default([])

export const configSchema = object({
  $schema: z.string().optional().describe('For editors; the relay ignores it.'),
  publicUrl: textBy(publicRule)
    .refine(isPublicUrl, { error: publicRule, abort: true })
    // the log and every message show it
    .refine((url) => !isSecretAddress(url), { error: notOursRule })
    .refine((url) => !hasBlockedPort(url), { error: portRefusal })
    .transform((url) => new URL(url).href.replace(/\/+$/, ''))
    .describe('The address of the relay for browsers. Every link begins with it.'),
  owners: owners
    .optional()
    .describe(
      'Channels that receive alerts: messages about Foghorn itself. If left out, alerts are only logged.',
    ),
  fleets: z
    .record(identifier, fleetSchema)
    .refine(...atLeastOne('fleet'))
    .describe('By name: VMs that share a credential. Fleets do not affect each other.'),
  channels: z
    .record(identifier, channelSchema)
    .refine(...atLeastOne('channel'))
    .refine((channels) => Object.keys(channels).length <= maxChannels, {
      error: `write at most ${maxChannels} channels`,
    })
    .describe(
      `By name: places to notify, at most ${maxChannels}. The events of one fleet reach at most ${maxReached} of them.`,
    ),
  policy: z
    .array(ruleSchema)
    .max(maxRules)
    .default([])
    .describe('The first rule that matches decides. If no rule matches, people are asked.'),
  routes: z
    .array(routeSchema)
    .min(1)
    .max(maxRules)
    .describe('Every route that matches adds its channels, up to one with "continue": false.'),
  ...groupSchemas,
  ...apps,
  azure: azureSchema
    .optional()
    .describe(
      'As whom the relay asks Azure. With `subscriptions`, it lets the relay tell Azure itself to start an event, if no beacon has done so within 30 s of an approval. A preview of Azure.',
    ),
  signIn: signInSchema
    .optional()
    .describe(
      'Needs App Service Authentication with Microsoft Entra: the relay identifies people who sign in.',
    ),
  viewers: viewers
    .optional()
    .describe(
      'People and groups who may see all fleets in the console: `entra:tenant/object id`, `entra-group:tenant/object id`. Needs `signIn`.',
    ),
  retentionDays: z
    .int()
    .min(10)
    .max(3_650)
    .default(90)
    .describe('The relay removes events, with all their data, this many days after their end.'),
  allowNetworks: networks.describe(
    'Private networks (CIDR) that channels may be in, such as `10.1.0.0/16`, or `127.0.0.0/8` for this machine. Plain http is allowed there.',
  ),
  tokenNetworks: networks.describe(
    'Private networks (CIDR) that subscriptions may be in if a token that is bound to fleets made them. `allowNetworks` does not count for these.',
  ),
})

export { type Channel, channelSecrets }
