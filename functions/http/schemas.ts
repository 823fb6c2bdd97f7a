// What programs read about the API, without a credential: JSON Schemas of webhooks, and OpenAPI.
import * as z from 'zod'
import { eventSchemaPath } from '../core/message/cloud-event.ts'
import { alertSchemaPath } from '../schema/alert.ts'
import { schemaQuery } from '../schema/event.ts'
import { alertSchema, eventSchema } from '../schema/json-schema.ts'
import type { Relay } from '../use-cases/relay.ts'
import { openapi } from './openapi.ts'
import { type Route, route } from './route.ts'

/** A front answers these without a relay. */
interface Needs {
  relay: Pick<Relay, 'config'>
  routes: readonly Route[]
}

const schemaType = 'application/schema+json'
const document = z.looseObject({})

function schemaRoute(
  path: string,
  name: string,
  about: string,
  make: (publicUrl: string) => object,
) {
  return route({
    method: 'get',
    path,
    name,
    summary: `The JSON Schema of \`data\` in webhooks about ${about}.`,
    group: 'Relay',
    caller: 'anyone',
    query: schemaQuery,
    answers: { 200: { about: 'JSON Schema 2020-12.', schema: document, type: schemaType } },
    handler({ relay }: Needs) {
      const text = once(() => JSON.stringify(make(relay.config.publicUrl)))
      return (c) => c.body(text(), 200, { 'content-type': schemaType })
    },
  })
}

export const documentRoutes: Route<Needs>[] = [
  schemaRoute(eventSchemaPath, 'getEventSchema', 'events', eventSchema),
  schemaRoute(alertSchemaPath, 'getAlertSchema', 'Foghorn itself', alertSchema),
  route({
    method: 'get',
    path: '/openapi.json',
    name: 'getOpenapi',
    summary: 'This document.',
    group: 'Relay',
    caller: 'anyone',
    answers: { 200: { about: 'OpenAPI 3.1.', schema: document } },
    handler({ relay, routes }: Needs) {
      const text = once(() => JSON.stringify(openapi(routes, relay.config.publicUrl)))
      return (c) => c.body(text(), 200, { 'content-type': 'application/json' })
    },
  }),
]

/** The text is made at the first request: most processes are never asked. */
function once(make: () => string): () => Uint8Array<ArrayBuffer> {
  let made: Uint8Array<ArrayBuffer> | undefined
  return () => {
    made ??= new TextEncoder().encode(make())
    return made
  }
}
