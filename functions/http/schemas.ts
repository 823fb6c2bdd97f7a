// What programs read about the API, without a credential: JSON Schemas of webhooks, and OpenAPI.
import { type Context, Hono } from 'hono'
import * as z from 'zod'
import { eventSchemaPath } from '../core/message/cloud-event.ts'
import { alertSchemaPath } from '../schema/alert.ts'
import { schemaQuery } from '../schema/event.ts'
import { alertSchema, eventSchema } from '../schema/published.ts'
import type { Relay } from '../use-cases/relay.ts'
import type { RouteDescription } from './description.ts'
import { openapi } from './openapi.ts'
import { problem } from './problem.ts'
import { readQuery } from './query.ts'

const schemaType = 'application/schema+json'
const document = z.looseObject({})

function schemaRoute(path: string, name: string, what: string): RouteDescription {
  return {
    method: 'get',
    path,
    name,
    summary: `The JSON Schema of \`data\` in webhooks about ${what}.`,
    group: 'Relay',
    caller: 'anyone',
    query: schemaQuery,
    answers: { 200: { about: 'JSON Schema 2020-12.', schema: document, type: schemaType } },
  }
}

export const schemaDescriptions: RouteDescription[] = [
  schemaRoute(eventSchemaPath, 'getEventSchema', 'events'),
  schemaRoute(alertSchemaPath, 'getAlertSchema', 'Foghorn itself'),
  {
    method: 'get',
    path: '/openapi.json',
    name: 'getOpenapi',
    summary: 'This document.',
    group: 'Relay',
    caller: 'anyone',
    answers: { 200: { about: 'OpenAPI 3.1.', schema: document } },
  },
]

/** `descriptions`: of all routes. */
export function schemaRoutes(
  { config: { publicUrl } }: Pick<Relay, 'config'>,
  descriptions: readonly RouteDescription[],
): Hono {
  const routes = new Hono()
  const schema = (path: string, make: (publicUrl: string) => object) => {
    const text = once(() => JSON.stringify(make(publicUrl)))
    routes.get(path, (c) => getSchema(c, text))
  }
  schema(eventSchemaPath, eventSchema)
  schema(alertSchemaPath, alertSchema)
  const text = once(() => JSON.stringify(openapi(descriptions, publicUrl)))
  routes.get('/openapi.json', (c) => c.body(text(), 200, { 'content-type': 'application/json' }))
  return routes
}

function getSchema(c: Context, text: () => string): Response {
  const read = readQuery(c, schemaQuery)
  if ('refusal' in read) return problem(c, 400, 'query_invalid', read.refusal)
  return c.body(text(), 200, { 'content-type': schemaType })
}

/** Made at the first request: most processes are never asked. */
function once(make: () => string): () => string {
  let made: string | undefined
  return () => {
    made ??= make()
    return made
  }
}
