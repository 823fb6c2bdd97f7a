// Where events are shipped, as CloudEvents: a table of Log Analytics, Event Hubs, an Event Grid topic. To
// add a kind, write its `Kind`, add it to `ship`, and give it a row in `test/features/ship/kinds.ts`.

import * as z from 'zod'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { buildMessageId } from '../../core/delivery/delivery.ts'
import type { ChannelGroup, Kind } from '../../notify/kind.ts'
import {
  type Answer,
  describeChain,
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  post,
} from '../../notify/notifier.ts'
import { composeBody } from '../../notify/webhook.ts'
import { isPublicUrl, object, textBy, webUrl } from '../../schema/checks.ts'
import { toTableRow } from './kind-row.ts'

/** The services accept 1 MB in a request. A body has at most 20 kB; a row repeats some of it. */
const mostTogether = 25

const endpointRule =
  'write an https:// address (http:// for loopback only): the token of the relay goes there'
const endpoint = webUrl
  .refine(isPublicUrl, { error: endpointRule })
  .transform((url) => url.replace(/\/+$/, ''))

interface Request {
  url: string
  contentType: string
  body: string
}

/** What differs between the services. */
interface Service<Channel> {
  requestOf(channel: Channel, bodies: string[]): Request
  /** What a token is for. */
  resource(channel: Channel): string
  /** A key in place of a token. */
  keyOf?(channel: Channel): Record<string, string> | undefined
  role: string
  /** Makes the shell print the id of what the role is for. */
  scope(channel: Channel): string
}

function shipper<Channel>(service: Service<Channel>): Notifier<Channel> {
  return {
    rate: { everyMs: 0, burst: 1, together: mostTogether, atOnce: 1 },
    takes: 'every',
    buttons: undefined,
    notify: (outgoing, channel, send) => attempt(service, outgoing, channel, send),
  }
}

/** What is wrong with the service is a retry: what an owner repairs within a day, or replays, arrives. */
async function attempt<Channel>(
  service: Service<Channel>,
  outgoing: Outgoing,
  channel: Channel,
  send: Parameters<Notifier<Channel>['notify']>[2],
): Promise<SendOutcome> {
  const { azureTokens, signal, now } = outgoing
  try {
    const key = service.keyOf?.(channel)
    const resource = service.resource(channel)
    const proof = key ?? { authorization: `Bearer ${await azureTokens.read(resource)}` }
    const bodies = [outgoing, ...outgoing.also].map((part) => {
      const one = { ...outgoing, ...part }
      return composeBody(buildMessageId(part.delivery), one)
    })
    const { url, contentType, body } = service.requestOf(channel, bodies)
    const answer = await post(send, url, body, { 'content-type': contentType, ...proof }, signal)
    const { status } = answer
    if (isSuccess(status) && !isWebPage(answer)) {
      return { outcome: 'delivered', note: `HTTP ${status}` }
    }
    if (key === undefined && (status === 401 || status === 403)) {
      azureTokens.drop(resource)
      return { outcome: 'retry', note: whyForbidden(service, channel, answer, outgoing) }
    }
    return judge(fromStatus(answer, now), bodies.length > 1)
  } catch (error) {
    return judge(fromError(error, outgoing), true)
  }
}

/** `mayRefuse`: it may be about this message, or about one of the list, of which each is then sent by itself. */
function judge(outcome: SendOutcome, mayRefuse: boolean): SendOutcome {
  if (outcome.outcome !== 'refused' || (mayRefuse && !outcome.broken)) return outcome
  return { outcome: 'retry', note: outcome.note }
}

/** The command that gives the role comes first: what Azure says may be long. */
function whyForbidden<Channel>(
  { role, scope }: Service<Channel>,
  channel: Channel,
  answer: Answer,
  { azureTokens: { clientId = 'CLIENT_ID' } }: Outgoing,
): string {
  const command =
    `az role assignment create --assignee ${clientId} --role ${role} ` +
    `--scope $(${scope(channel)} -o tsv)`
  const said = describeChain(answer)
  return `HTTP ${answer.status}, a role may be missing: ${command}${said && `; Azure says${said}`}`
}

const eventGridSchema = object({
  kind: z
    .literal('event-grid')
    .describe('A custom topic of Event Grid, with the schema of CloudEvents.'),
  endpoint: endpoint.describe('The endpoint of the topic: https://…/api/events'),
  key: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'An access key of the topic, in place of the identity of the relay. It is the secret.',
    ),
})

const eventGrid: Kind<typeof eventGridSchema> = {
  name: 'Event Grid',
  schema: eventGridSchema,
  notifiers: {
    'event-grid': shipper({
      requestOf: ({ endpoint }, bodies) => ({
        url: `${endpoint}?api-version=2018-01-01`,
        contentType: 'application/cloudevents-batch+json',
        body: `[${bodies.join(',')}]`,
      }),
      keyOf: ({ key }) => (key === undefined ? undefined : { 'aeg-sas-key': key }),
      resource: () => 'https://eventgrid.azure.net',
      // EventGrid Data Sender
      role: 'd5a91429-5739-47e2-a06b-3470a27159e7',
      scope: ({ endpoint }) =>
        `az eventgrid topic list --query "[?name=='${nameIn(endpoint)}'].id"`,
    }),
  },
}

const hubRule = 'write the address of an event hub: https://NAMESPACE.servicebus.windows.net/HUB'

const eventHubsSchema = object({
  kind: z.literal('event-hubs').describe('An event hub.'),
  endpoint: endpoint
    .refine((url) => new URL(url).pathname !== '/', { error: hubRule })
    .describe('The address of the event hub: that of its namespace, and its name as the path.'),
})

const eventHubs: Kind<typeof eventHubsSchema> = {
  name: 'Event Hubs',
  schema: eventHubsSchema,
  notifiers: {
    'event-hubs': shipper({
      requestOf: ({ endpoint }, bodies) => ({
        url: `${endpoint}/messages?api-version=2014-01`,
        contentType: 'application/vnd.microsoft.servicebus.json',
        body: JSON.stringify(
          bodies.map((body) => ({ Body: body, UserProperties: listProperties(body) })),
        ),
      }),
      resource: () => 'https://eventhubs.azure.net',
      // Azure Event Hubs Data Sender
      role: '2b629674-e913-4c01-ae53-ef4638d8f975',
      scope: ({ endpoint }) =>
        `az eventhubs namespace list --query "[?name=='${nameIn(endpoint)}'].id"`,
    }),
  },
}

/** The name of the namespace or topic. Messages would change a whole address, which then finds nothing. */
function nameIn(endpoint: string): string {
  return new URL(endpoint).hostname.split('.', 1)[0]!
}

/** A consumer can filter by them without reading the body. */
function listProperties(body: string) {
  const { id, type, source } = JSON.parse(body) as Record<string, string>
  return { id, type, source }
}

const ruleRule = 'write the immutable id of the data collection rule: "dcr-" and 32 digits'

const logsSchema = object({
  kind: z.literal('logs').describe('A table of Log Analytics.'),
  endpoint: endpoint.describe('Where the data collection rule takes logs.'),
  rule: textBy(ruleRule)
    .regex(/^dcr-[0-9a-f]{32}$/, ruleRule)
    .describe('The immutable id of the data collection rule.'),
})

const logs: Kind<typeof logsSchema> = {
  name: 'Log Analytics',
  schema: logsSchema,
  ids: ['rule'],
  placeholders: { rule: () => `dcr-${'0'.repeat(32)}` },
  notifiers: {
    logs: shipper({
      requestOf: ({ endpoint, rule }, bodies) => ({
        url: `${endpoint}/dataCollectionRules/${rule}/streams/Custom-FoghornEvents?api-version=2023-01-01`,
        contentType: 'application/json',
        body: JSON.stringify(bodies.map(toTableRow)),
      }),
      // other clouds have another one
      resource: ({ endpoint }) =>
        `https://${/monitor\.azure\.\w+$/.exec(new URL(endpoint).hostname)?.[0] ?? 'monitor.azure.com'}`,
      // Monitoring Metrics Publisher
      role: '3913510d-42f4-4e42-8a64-420c390055eb',
      scope: ({ rule }) =>
        `az monitor data-collection rule list --query "[?immutableId=='${rule}'].id"`,
    }),
  },
}

/** The key `ship` of the configuration. */
export const ship = {
  about: 'By name: services of Azure that get every step of every event, at most 5.',
  most: 5,
  kinds: { eventGrid, eventHubs, logs },
} satisfies ChannelGroup
