// The description of the HTTP API for `GET /openapi.json`: OpenAPI 3.1, made from the descriptions
// of the routes and the schemas that their requests are checked with.

import * as z from 'zod'
import { type Problem, problemContentType } from '../../shared/errors.ts'
import { fleetHeader } from '../../shared/report.ts'
import { apiGroups } from '../features/faces.ts'
import { alertDataSchema } from '../schema/alert.ts'
import { eventDataSchema } from '../schema/event.ts'
import { type JsonSchema, toJsonSchema, type Use } from '../schema/json-schema.ts'
import { type Caller, type Groups, openapiPath, type Route } from './route.ts'

/** The version of the API. A change that could break a client raises the first number. */
const version = '1.0.0'

type Json = Record<string, unknown>

const problemSchema = z
  .object({
    code: z.string().describe('A stable word for programs.'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What is wrong, and what to send instead.'),
    time: z.number().exactOptional().describe("The relay's clock, if yours may be wrong."),
  })
  .meta({ id: 'Problem' }) satisfies z.ZodType<Problem>

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A token, or the admin key.' },
  fleetKey: {
    type: 'apiKey',
    in: 'header',
    name: 'webhook-signature',
    description: 'Standard Webhooks, signed with the key of the fleet.',
  },
  vmIdentity: {
    type: 'http',
    scheme: 'bearer',
    description: "A token of the VM's managed identity, if the fleet has `entra`.",
  },
}

const security: Record<Caller, Json[]> = {
  anyone: [],
  admin: [{ bearer: [] }],
  read: [{ bearer: ['read'] }],
  decide: [{ bearer: ['decide'] }],
  manage: [{ bearer: ['manage'] }],
  report: [{ bearer: ['report'] }],
  calendar: [],
  beacon: [{ fleetKey: [] }, { vmIdentity: [] }],
  service: [],
  link: [],
}

/** Errors that follow from who calls. */
const wrongKey = [401, 403, 429]
const callerProblems: Record<Caller, number[]> = {
  anyone: [],
  admin: wrongKey,
  read: wrongKey,
  decide: wrongKey,
  manage: wrongKey,
  report: wrongKey,
  calendar: wrongKey,
  beacon: [401, 503],
  service: [401],
  link: [],
}

const groups: Groups = {
  Events: 'Events and decisions.',
  Beacons: 'What beacons report, and the list of them.',
  Channels: 'Channels, and messages that failed.',
  Drills: 'Events for practice.',
  ...apiGroups,
  Decisions: 'Pages and buttons by which people decide.',
  Tokens: 'Credentials for other systems.',
  Relay: 'The relay itself.',
}

const params: Record<string, string> = {
  fleet: 'The name of a fleet in the configuration.',
  eventId: 'The id of the event, in either case.',
}

export function openapi(routes: readonly Route[], publicUrl: string): Json {
  const components = new Components()
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = openapiPath(route)
    paths[path] = { ...paths[path], [route.method]: operation(route, components) }
  }
  const problem = components.schema(problemSchema, 'sent')
  const webhooks = {
    event: webhook('receiveEvent', 'A step of an event.', eventDataSchema, components),
    alert: webhook('receiveAlert', 'An alert about Foghorn itself.', alertDataSchema, components),
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Foghorn relay',
      version,
      summary: 'Announcements of Azure maintenance, decisions about it, and who was notified.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(groups).map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: {
      securitySchemes: { ...securitySchemes, ...listSchemes(routes) },
      responses: {
        Problem: {
          description: 'An error. Nothing was changed.',
          content: { [problemContentType]: { schema: problem } },
        },
      },
      schemas: components.schemas,
    },
  }
}

function listSchemes(routes: readonly Route[]): Json {
  const schemes = routes.flatMap(({ sender }) => sender?.scheme ?? [])
  return Object.fromEntries(schemes.map(({ name, value }) => [name, value]))
}

function operation(route: Route, components: Components): Json {
  const { name, summary, about, group, caller, sender, answers } = route
  const body = takenBy(route)
  const parameters = describeParameters(route)
  const problems = describeProblems(route).map((status) => [
    status,
    { $ref: '#/components/responses/Problem' },
  ])
  return {
    operationId: name,
    summary,
    ...(about && { description: about }),
    tags: [group],
    security: sender ? [{ [sender.scheme.name]: [] }] : security[caller],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.isOptional,
        description: `At most ${body.maxBytes} bytes.`,
        content: {
          [body.type]: { schema: components.schema(body.schema, 'accepted') },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, one]) => [status, answer(one, components)]),
      ),
      ...Object.fromEntries(problems),
    },
  }
}

function answer(
  { about, schema, type = 'application/json' }: Route['answers'][number],
  components: Components,
): Json {
  if (schema === undefined) return { description: about }
  return { description: about, content: { [type]: { schema: components.schema(schema, 'sent') } } }
}

function takenBy({ json, body }: Route) {
  if (json !== undefined) return { isOptional: false, ...json, type: 'application/json' }
  return body && { isOptional: false, type: 'application/json', ...body }
}

function describeProblems(route: Route): number[] {
  const { caller, query, problems = [] } = route
  const takesQuery = query === 'any' ? [] : [400]
  const takesBody = takenBy(route) === undefined ? [] : [400, 413]
  const all = [...callerProblems[caller], ...takesQuery, ...takesBody, ...problems]
  // a page answers 404 to links that it does not know
  return [...new Set(caller === 'link' ? [404, ...all] : all)].sort((a, b) => a - b)
}

function describeParameters(route: Route): Json[] {
  const { params: own, query, caller } = route
  const inPath = [...openapiPath(route).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...described({ ...params, ...own }[name]),
    schema: { type: 'string' },
  }))
  const shape = query === undefined || query === 'any' ? {} : query.shape
  const inQuery = Object.entries(shape).map(([name, schema]) => {
    const { $schema: _, description, ...rest } = toJsonSchema(schema as z.ZodType, 'parsed')
    return { name, in: 'query', ...described(description), schema: rest }
  })
  return [...inPath, ...inQuery, ...(caller === 'beacon' ? beaconHeaders : [])]
}

function described(description: string | undefined): Json {
  return description === undefined ? {} : { description }
}

const text = { type: 'string' }
const beaconHeaders = [
  { name: fleetHeader, in: 'header', required: true, schema: text },
  { name: 'webhook-id', in: 'header', description: 'With a signature.', schema: text },
  { name: 'webhook-timestamp', in: 'header', description: 'With a signature.', schema: text },
]

const cloudEvent = z.object({
  specversion: z.literal('1.0'),
  id: z.string().describe('Also in `webhook-id`. The same at every attempt.'),
  source: z.string(),
  type: z.string(),
  time: z.iso.datetime(),
  subject: z.string(),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string(),
})

function webhook(
  operationId: string,
  summary: string,
  data: z.ZodType,
  components: Components,
): Json {
  const schema = components.schema(cloudEvent.extend({ data }), 'sent')
  const headers = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  return {
    post: {
      operationId,
      summary,
      // the receiver checks the signature
      security: [],
      parameters: headers.map((name) => ({ name, in: 'header', required: true, schema: text })),
      requestBody: { required: true, content: { 'application/cloudevents+json': { schema } } },
      responses: {
        '2XX': { description: 'Received.' },
        410: { description: 'The receiver wants no more. The relay does not try again.' },
      },
    },
  }
}

/** Schemas with an id, which the document lists once. */
class Components {
  readonly schemas: Record<string, unknown> = {}

  /** The schema, with references to those that have an id. */
  schema(schema: z.core.$ZodType, use: Use): unknown {
    const { properties, $defs = {} } = toJsonSchema(z.object({ it: schema }), use)
    for (const [id, definition] of Object.entries($defs)) {
      const { id: _, ...rest } = definition as JsonSchema
      this.schemas[id] = toComponents(rest)
    }
    return toComponents(properties!.it)
  }
}

function toComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toComponents)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === '$ref'
        ? String(part).replace('#/$defs/', '#/components/schemas/')
        : toComponents(part),
    ]),
  )
}
