// The HTTP edge of the small Functions host: finds the function, starts its invocation, and
// forwards the request to the library's own server, bodies as streams both ways. Besides, like the
// real host, it runs any function on `POST /admin/functions/<name>` with `{"input": "…"}`, so that
// a test can reach into a process.
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { FunctionMetadata, TypedData } from './functions-core.ts'
import { match, triggerOf } from './functions-route.ts'

/** What the edge needs of its host. */
interface Invoker {
  functions: FunctionMetadata[]
  begin(name: string, type: string, request: InvocationRequest): Invocation
  invokeQueue(name: string, message: string, metadata?: object): Promise<void>
  invokeTimer(name: string): Promise<void>
}

export interface InvocationRequest {
  data: TypedData
  triggerMetadata: Record<string, TypedData>
}

export interface Invocation {
  id: string
  /** What the library answers; rejects with the function's error. */
  response: Promise<unknown>
}

export interface HttpEdge {
  url: string
  close(): Promise<void>
}

interface EdgeOptions {
  port: number
  routePrefix: string
  /** Where the library serves; undefined where the app did not enable streams. */
  workerUrl: string | undefined
}

interface Edge extends EdgeOptions {
  /** Connections to the library's server. The host pools them, so clients share them. */
  pool: Agent
}

const ofOneHop = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding'])

export async function serve(host: Invoker, options: EdgeOptions): Promise<HttpEdge> {
  const hasHttp = host.functions.some((one) => triggerOf(one).binding.type === 'httpTrigger')
  if (hasHttp && options.workerUrl === undefined) {
    throw new Error('HTTP runs with streams only here; call app.setup({ enableHttpStream: true })')
  }
  // the worker closes an idle connection after 5 s: drop it long before, even on a slow machine
  const pool = new Agent({
    keepAlive: true,
    scheduling: 'lifo',
    agentKeepAliveTimeoutBuffer: 4_000,
  })
  const edge = { ...options, pool }
  const server = createServer((request, response) => {
    handle(host, edge, request, response).catch((error) => {
      // Azure would let the client wait for 240 s; cut it off instead, so that a test fails at once
      response.destroy(error as Error)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        pool.destroy()
      }),
  }
}

async function handle(
  host: Invoker,
  edge: Edge,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? 'GET'
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const [, adminName] = /^\/admin\/functions\/([^/]+)$/.exec(path) ?? []
  if (adminName !== undefined && method === 'POST') {
    return runFunction(host, decodeURIComponent(adminName), request, response)
  }
  const found = /^\/(admin|runtime)(\/|$)/.test(path)
    ? undefined
    : match(method, path, edge.routePrefix)
  if (found === undefined) {
    response.writeHead(404).end()
    return
  }
  const headers = headersOf(request)
  const params = Object.entries(found.params).map(([name, value]) => [name, { string: value }])
  const { id, response: answered } = host.begin(found.metadata.name, 'httpTrigger', {
    data: { http: {} },
    triggerMetadata: { ...Object.fromEntries(params), Headers: { json: JSON.stringify(headers) } },
  })
  await Promise.all([answered, forward(edge, id, headers, request, response)])
}

/** Several values of one name are joined; the scheme is what the front end saw. */
function headersOf(request: IncomingMessage): Record<string, string> {
  const headers = Object.entries(request.headersDistinct).map(([name, values = []]) => {
    return [name, values.join(name === 'cookie' ? '; ' : ', ')]
  })
  const { host = '', 'x-forwarded-proto': proto = 'http' } = request.headers
  const outside = { 'x-forwarded-host': host, 'x-forwarded-proto': String(proto) }
  return { ...Object.fromEntries(headers), ...outside }
}

/**
 * Works as the host's proxy does. After an early answer it sends the rest of the body. Once both
 * are over, the connection goes back to the pool.
 */
async function forward(
  { workerUrl, pool }: Edge,
  invocationId: string,
  headers: Record<string, string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const kept = Object.entries(headers).filter(([name]) => !ofOneHop.has(name))
  // not through URL: the path goes on as the client wrote it
  const { hostname, port } = new URL(workerUrl!)
  const forwarded = httpRequest({
    agent: pool,
    hostname,
    port,
    path: request.url,
    method: request.method,
    headers: { ...Object.fromEntries(kept), 'x-ms-invocation-id': invocationId },
  })
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    forwarded.once('response', resolve).on('error', reject)
  })
  // after the complete answer, Node's client no longer listens for a drained socket
  forwarded.once('socket', (socket) => {
    const drained = () => forwarded.emit('drain')
    socket.on('drain', drained)
    forwarded.once('close', () => socket.off('drain', drained))
  })
  request.pipe(forwarded)
  // the worker closed the connection, so the rest is dropped; the client may still send it
  forwarded.once('close', () => request.unpipe(forwarded).resume())
  // the client went away
  request.once('close', () => {
    if (!request.complete) forwarded.destroy()
  })
  response.once('close', () => {
    if (!response.writableFinished) forwarded.destroy()
  })
  const received = await answer
  const pairs = received.rawHeaders.filter(
    (_, i, all) => !ofOneHop.has(all[i - (i % 2)]!.toLowerCase()),
  )
  response.writeHead(received.statusCode!, pairs)
  response.flushHeaders()
  await pipeline(received, response)
}

async function runFunction(
  host: Invoker,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { input = '', metadata } = JSON.parse((await text(request)) || '{}')
  const known = host.functions.find((one) => one.name === name)
  if (known === undefined) {
    response.writeHead(404).end()
    return
  }
  const { type } = triggerOf(known).binding
  const run =
    type === 'timerTrigger' ? host.invokeTimer(name) : host.invokeQueue(name, input, metadata)
  const status = await run.then(
    () => 202,
    () => 500,
  )
  response.writeHead(status).end()
}
