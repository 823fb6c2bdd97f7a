// The control API: makes things happen to the simulated fleet, and shows what did.

import { createServer, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { parseJson } from './http.ts'
import { type Issuer, TENANT_ID } from './issuer.ts'
import type { Operations } from './operations.ts'
import { isRefusal } from './refusal.ts'

const ROUTES =
  'GET /state, POST /events, PATCH /events/:id, POST /events/:id/cancel, POST /faults, ' +
  'POST /recorded, POST /incarnation/reset, POST /vms/:name/away, POST /vms/:name/back, ' +
  `GET /${TENANT_ID}/discovery/v2.0/keys`

function createControl(operations: Operations, issuer: Issuer): Hono {
  const app = new Hono()
  app.get(`/${TENANT_ID}/discovery/v2.0/keys`, (context) => context.json(issuer.jwks()))
  app.get('/state', (context) => context.json(operations.state()))
  app.post('/events', (context) => withBody(context, operations.createEvent))
  app.patch('/events/:id', (context) =>
    withBody(context, (body) => operations.patchEvent(context.req.param('id'), body)),
  )
  app.post('/events/:id/cancel', (context) =>
    reply(context, operations.cancelEvent(context.req.param('id'))),
  )
  app.post('/faults', (context) => withBody(context, operations.fault))
  app.post('/recorded', (context) => withBody(context, operations.serveRecorded))
  app.post('/incarnation/reset', (context) => reply(context, operations.resetIncarnation()))
  app.post('/vms/:name/away', (context) =>
    reply(context, operations.takeAway(context.req.param('name'))),
  )
  app.post('/vms/:name/back', (context) =>
    reply(context, operations.bringBack(context.req.param('name'))),
  )
  app.notFound((context) => context.json({ error: `Not found. There is ${ROUTES}.` }, 404))
  return app
}

export function createControlServer(operations: Operations, issuer: Issuer): Server {
  const { fetch } = createControl(operations, issuer)
  return createAdaptorServer({ fetch, createServer, overrideGlobalObjects: false }) as Server
}

/** No body at all means {}: everything has a default. */
async function withBody(context: Context, act: (body: unknown) => object): Promise<Response> {
  const text = await context.req.text()
  const body = text === '' ? {} : parseJson(text)
  if (body === undefined) return context.json({ error: 'The body is not valid JSON.' }, 400)
  return reply(context, act(body))
}

function reply(context: Context, outcome: object): Response {
  if (!isRefusal(outcome)) return context.json(outcome)
  return context.json({ error: outcome.error }, outcome.refused)
}
