// Where events are shipped, with the checks that Azure makes: the place of tokens, a data collection rule, an
// event hub and a custom topic. Written from Microsoft's documentation; nobody compared it with a real Azure.
import { z } from 'zod'
import table from '../../../infra/azure/ship-columns.json' with { type: 'json' }
import type { Decided, Sink, SinkRequest } from './sink.ts'

export const shipTenant = '5e5e5e5e-0000-4000-8000-000000000001'
export const shipClient = '5e5e5e5e-0000-4000-8000-000000000002'
export const shipSecret = 'secret-of-the-app-registration'
export const shipRule = `dcr-${'fedcba98'.repeat(4)}`

export const shipPaths = {
  entra: `/${shipTenant}/oauth2/v2.0/token`,
  logs: '/ingestion',
  'event-hubs': '/foghorn-hub',
  'event-grid': '/api/events',
} as const
export type ShipKind = keyof typeof shipPaths

/** The token that the fake of Entra gives for this service. */
export function tokenFor(resource: string): string {
  return `token of ${resource}`
}

const maxBytes = 1_048_576

const columnTypes: Record<string, z.ZodType> = {
  string: z.string(),
  int: z.int(),
  real: z.number(),
  boolean: z.boolean(),
  datetime: z.iso.datetime(),
  // a dynamic field has at most 64 kB
  dynamic: z.unknown().refine((value) => JSON.stringify(value).length <= 65_536),
}

/** Azure drops what has no column, and so nobody would see a mistake: this fake refuses it. */
const rows = z
  .array(
    z.strictObject({
      ...Object.fromEntries(
        table.columns.map(({ name, type }) => [name, columnTypes[type]!.optional()]),
      ),
      TimeGenerated: z.iso.datetime(),
    }),
  )
  .min(1)

const cloudEvents = z
  .array(
    z.looseObject({
      specversion: z.literal('1.0'),
      id: z.string().min(1),
      source: z.string().min(1),
      type: z.string().min(1),
    }),
  )
  .min(1)

const hubMessages = z
  .array(z.strictObject({ Body: z.string(), UserProperties: z.record(z.string(), z.string()) }))
  .min(1)

interface Expected {
  resource: string
  path: string
  contentType: string
  schema: z.ZodType
  status: number
}

const expected: Record<Exclude<ShipKind, 'entra'>, Expected> = {
  logs: {
    resource: 'https://monitor.azure.com',
    path: `${shipPaths.logs}/dataCollectionRules/${shipRule}/streams/Custom-FoghornEvents?api-version=2023-01-01`,
    contentType: 'application/json',
    schema: rows,
    status: 204,
  },
  'event-hubs': {
    resource: 'https://eventhubs.azure.net',
    path: `${shipPaths['event-hubs']}/messages?api-version=2014-01`,
    contentType: 'application/vnd.microsoft.servicebus.json',
    schema: hubMessages,
    status: 201,
  },
  'event-grid': {
    resource: 'https://eventgrid.azure.net',
    path: `${shipPaths['event-grid']}?api-version=2018-01-01`,
    contentType: 'application/cloudevents-batch+json',
    schema: cloudEvents,
    status: 200,
  },
}

export function shipSink(kind: ShipKind): Sink {
  return { accept: () => {}, judge: kind === 'entra' ? judgeToken : (one) => judge(kind, one) }
}

function judgeToken({ body }: SinkRequest): Decided {
  const { client_id, client_secret, scope = '' } = Object.fromEntries(new URLSearchParams(body))
  const isKnown = client_id === shipClient && client_secret === shipSecret
  if (!isKnown) return refused(401, 'invalid_client')
  const access_token = tokenFor(scope.replace(/\/\.default$/, ''))
  return { valid: true, reply: { status: 200, body: { access_token, expires_in: 3_600 } } }
}

function judge(
  kind: Exclude<ShipKind, 'entra'>,
  { path, headers, body, json }: SinkRequest,
): Decided {
  const { resource, path: own, contentType, schema, status } = expected[kind]
  if (path !== own) return refused(404, `no such address: ${path}`)
  if (headers.authorization !== `Bearer ${tokenFor(resource)}`) {
    return refused(401, `the token is not for ${resource}`)
  }
  if (headers['content-type'] !== contentType) return refused(415, `no ${contentType}`)
  if (Buffer.byteLength(body) > maxBytes) return refused(413, 'more than 1 MB')
  const read = schema.safeParse(json)
  if (!read.success) return refused(400, z.prettifyError(read.error))
  return { valid: true, reply: { status } }
}

function refused(status: number, why: string): Decided {
  return { valid: why, reply: { status, body: { error: { code: 'Refused', message: why } } } }
}
