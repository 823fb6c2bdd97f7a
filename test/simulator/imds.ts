// One VM's metadata endpoint. It is as strict as the real one about headers and versions, so that a client
// that only works here is not possible. A VM that is away accepts no connection and keeps none.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiVersion, type EventsDocument, isApiVersion, PREVIEW } from './documents.ts'
import type { Faults } from './faults.ts'
import type { Fleet } from './fleet.ts'
import { HOST, parseJson, type Reply, readBody, send } from './http.ts'
import { instanceOf, isInstanceVersion } from './instance.ts'
import { claimsOf, type Issuer } from './issuer.ts'
import { type FaultRequest, startRequest } from './requests.ts'

const MAX_BODY_BYTES = 64 * 1024
const TOKEN_VERSION = '2018-02-01'

export interface World {
  readonly fleet: Fleet
  readonly faults: Faults
  readonly issuer: Issuer
  readonly apiVersions: readonly ApiVersion[]
  /** The time in ms, after everything due by then has happened. */
  now(): number
  /** To be called after every change to the fleet. */
  changed(): void
}

export function createImdsServer(world: World, vm: string): Server {
  const isUp = () => {
    world.now()
    return world.fleet.answers(vm)
  }
  const server = createServer((request, response) => {
    if (!isUp()) return request.socket.destroy()
    return answer(world, vm, request)
      .then((reply) => {
        send(response, reply)
        if (request.method !== 'POST') return
        // What a StartRequest sets off may take this VM down, but its answer goes out first.
        if (response.closed) world.changed()
        else response.once('close', world.changed)
      })
      .catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    if (!isUp()) socket.destroy()
  })
  return server
}

async function answer(world: World, vm: string, request: IncomingMessage): Promise<Reply> {
  const url = new URL(request.url ?? '/', `http://${HOST}`)
  const version = url.searchParams.get('api-version') ?? ''
  const [, part] = /^\/metadata\/instance(\/.*|$)/.exec(url.pathname) ?? []
  if (part !== undefined) return instance(world, vm, request, part, url.searchParams)
  if (url.pathname === '/metadata/scheduledevents') {
    return scheduledEvents(world, vm, request, version)
  }
  if (url.pathname === '/metadata/identity/oauth2/token') {
    return token(world, vm, request, url.searchParams)
  }
  return { status: 404, body: { error: `Nothing is served at ${url.pathname}.` } }
}

/** `part`: the path below the instance, such as `/compute/name`. A value needs `format=text`. */
function instance(
  world: World,
  vm: string,
  request: IncomingMessage,
  part: string,
  query: URLSearchParams,
): Reply {
  const version = query.get('api-version') ?? ''
  const refusal = refuseHeaders(request, true)
  if (refusal) return refusal
  if (request.method !== 'GET') return METHOD_NOT_ALLOWED
  if (!isInstanceVersion(version)) return badVersion(version)
  let found: unknown = instanceOf(vm, world.fleet.tenantOf(vm))
  for (const name of part.split('/').filter(Boolean)) {
    found = Object(found)[name]
    if (found === undefined) return { status: 404, body: { error: 'Not found' } }
  }
  if (typeof found === 'object' && found !== null) return { status: 200, body: found }
  if (query.get('format') !== 'text') return badRequest('a value has only the format text')
  return { status: 200, body: String(found) }
}

/** A token of the VM's managed identity, or of the assigned one that `client_id` names. */
async function token(
  world: World,
  vm: string,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Reply> {
  const fault = world.faults.take(vm, 'identity')
  if (fault?.delayMs) await sleep(fault.delayMs, undefined, { ref: false })
  if (fault?.status) return failure(fault.status, fault.retryAfterSeconds)
  if (fault?.emptyBody) return { status: 200 }
  const refusal = refuseHeaders(request, true)
  if (refusal) return refusal
  if (request.method !== 'GET') return METHOD_NOT_ALLOWED
  const version = query.get('api-version') ?? ''
  if (version !== TOKEN_VERSION) return badVersion(version)
  const resource = query.get('resource') ?? ''
  if (resource === '') return badRequest('the parameter resource is missing')
  const clientId = query.get('client_id') ?? ''
  const claims = claimsOf(vm, world.fleet.tenantOf(vm), resource, clientId, world.now())
  const body = {
    access_token: world.issuer.sign(claims),
    client_id: claims.appid,
    expires_in: String(Number(claims.exp) - Number(claims.iat)),
    expires_on: String(claims.exp),
    not_before: String(claims.nbf),
    resource,
    token_type: 'Bearer',
  }
  return { status: 200, body }
}

function failure(status: number, retryAfterSeconds: number | undefined): Reply {
  return {
    status,
    body: { error: 'The simulator was told to fail.' },
    ...(retryAfterSeconds !== undefined && {
      headers: { 'retry-after': String(retryAfterSeconds) },
    }),
  }
}

async function scheduledEvents(
  world: World,
  vm: string,
  request: IncomingMessage,
  version: string,
): Promise<Reply> {
  const body = await readBody(request, MAX_BODY_BYTES)
  if (body === null) return { status: 413, body: { error: 'The body is too long.' } }
  const fault = world.faults.take(vm)
  if (fault?.delayMs) await sleep(fault.delayMs, undefined, { ref: false })
  const isPost = request.method === 'POST'
  if (fault?.status) {
    if (isPost) logOnly(world, vm, body, fault.status)
    return failure(fault.status, fault.retryAfterSeconds)
  }
  const refusal = refuseHeaders(request, version !== '2017-03-01')
  if (refusal) return refusal
  if (!isApiVersion(version) || !world.apiVersions.includes(version)) return badVersion(version)
  if (isPost) return start(world, vm, version, body)
  if (request.method !== 'GET') return METHOD_NOT_ALLOWED
  const waitMs = world.fleet.switchOn(vm, world.now())
  if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
  if (fault?.emptyBody) return { status: 200 }
  world.now()
  const document = world.fleet.document(vm, version)
  if (fault === null || typeof document !== 'object') return { status: 200, body: document }
  return { status: 200, body: { ...document, ...spoiltEvents(fault, document?.Events) } }
}

/** The `Events` of a document, changed by a fault. */
function spoiltEvents({ emptyEvents, unreadable }: FaultRequest, events: unknown) {
  if (emptyEvents) return { Events: [] }
  if (unreadable === undefined || !Array.isArray(events)) return {}
  if (unreadable === 'added') return { Events: [null, ...events] }
  return { Events: events.map((event: object) => ({ ...event, EventId: 7 })) }
}

function start(world: World, vm: string, version: ApiVersion, body: string): Reply {
  const parsed = startRequest.safeParse(parseJson(body))
  if (!parsed.success) {
    return badRequest('the body must be {"StartRequests":[{"EventId":"…"}]}')
  }
  const ids = parsed.data.StartRequests.map((entry) => entry.EventId)
  const now = world.now()
  if (version === '2017-03-01') {
    const { DocumentIncarnation: current } = world.fleet.document(vm, version) as EventsDocument
    if (parsed.data.DocumentIncarnation !== String(current)) {
      world.fleet.logStartRequests(vm, ids, 400, now)
      return badRequest('DocumentIncarnation must be the current one, as a string')
    }
  }
  const status = world.fleet.startEvents(vm, ids, now)
  return status === 200 ? { status } : badRequest('an EventId is not known')
}

function logOnly(world: World, vm: string, body: string, status: number): void {
  const parsed = startRequest.safeParse(parseJson(body))
  const ids = parsed.data?.StartRequests.map((entry) => entry.EventId) ?? []
  world.fleet.logStartRequests(vm, ids, status, world.now())
}

function refuseHeaders(request: IncomingMessage, metadataRequired: boolean): Reply | null {
  if (request.headers['x-forwarded-for'] !== undefined) {
    return badRequest('forwarded requests are not served; leave X-Forwarded-For out')
  }
  if (metadataRequired && String(request.headers.metadata).toLowerCase() !== 'true') {
    return badRequest('the header "Metadata: true" is missing')
  }
  return null
}

/** Where the preview is not rolled out, IMDS answers 404. */
function badVersion(version: string): Reply {
  if (version === PREVIEW) return { status: 404, body: { error: 'Not found' } }
  return badRequest(version ? `api-version ${version} is not known` : 'api-version is missing')
}

function badRequest(why: string): Reply {
  return { status: 400, body: { error: `Bad request: ${why}.` } }
}

const METHOD_NOT_ALLOWED: Reply = {
  status: 405,
  body: { error: 'This method is not served here.' },
}
