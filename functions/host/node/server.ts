// The HTTP server of the relay on Node. It stays when a new configuration takes the place of the old one.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { FoghornError } from '../../../shared/errors.ts'
import { maxReportBytes, reportPath } from '../../../shared/report.ts'
import type { createParts } from '../../app.ts'
import type { Answered } from '../../http/beacons/direct.ts'
import { bodiesFirst } from './bodies.ts'
import { fewAtOnce } from './pipelines.ts'
import { boundUnread } from './unread.ts'

export const drainMs = 5_000
/** A stream sends something every 15 s, so its reader has stopped reading by then. */
const idleSocketMs = 60_000
/** Browsers send fewer than twenty, and proxies add some. Each costs time, and Node itself takes 2,000. */
const maxHeaders = 100
/** A whole request arrives in this time, also over a slow connection, and its headers sooner. */
const arrival = {
  requestTimeout: 30_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  // longer than a proxy in front: nginx and load balancers keep one for 60 s, Caddy for 2 min
  keepAliveTimeout: 130_000,
}
/** What answers requests now. */
type Current = () => ReturnType<typeof createParts>

/**
 * The next request of one who was refused comes so much later: answered at once, hundreds of them would take each
 * turn. Reports take another way.
 */
const refusedMs = 250

async function toAnswer(current: Current, request: Request): Promise<Response> {
  const response = await current().app.fetch(request)
  if (response.status === 401 || response.status === 429) await sleep(refusedMs)
  return response
}

export function listen(current: Current, port: number, hostname: string) {
  return new Promise<{ port: number; close(): Promise<void> }>((resolve, reject) => {
    const create = (options: ServerOptions, listener: RequestListener) => {
      const take = boundUnread(fewAtOnce(reportsFirst(current, listener)))
      // Node would answer requests that have no Host, or expect something, before `take` counts them. Nothing needs a
      // Host: links begin with `publicUrl`
      const own = { ...arrival, requireHostHeader: false }
      return createServer({ ...options, ...own }, take).on('checkExpectation', take)
    }
    // `bodies.ts` and Node itself read the rest of a body
    const fetch = (request: Request) => toAnswer(current, request)
    const options = { fetch, port, hostname, autoCleanupIncoming: false }
    const server = serve({ ...options, createServer: create as never }, (info) =>
      resolve({
        port: info.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            if (!('closeAllConnections' in server)) return
            // otherwise the process waits until the beacons' keep-alive connections time out
            server.closeIdleConnections()
            setTimeout(() => server.closeAllConnections(), drainMs).unref()
          }),
      }),
    )
    if ('maxHeadersCount' in server)
      Object.assign(server, { timeout: idleSocketMs, maxHeadersCount: maxHeaders })
    server.on('error', (error) => reject(whyNotListening(error, port, hostname)))
  })
}

/** Explains the errors that a variable can fix. */
function whyNotListening(error: NodeJS.ErrnoException, port: number, address: string): Error {
  const remedies: Record<string, string> = {
    EADDRINUSE:
      `Port ${port} on ${address} is in use. ` +
      'Stop the process that uses it, or set PORT to another port.',
    EACCES: `Port ${port} needs privileges. Set PORT to 1024 or higher.`,
    EADDRNOTAVAIL: `This machine lacks the address ${address}. Set HOST to one of its addresses.`,
  }
  const remedy = remedies[error.code ?? '']
  return remedy === undefined ? error : new FoghornError('cannot_listen', remedy)
}

/**
 * Takes reports from Node's server itself: `Request` and `Response` objects, and the routes that a
 * report passes, cost as much as judging it. `others` takes all other requests, with `rawBody`.
 */
function reportsFirst(current: Current, others: RequestListener): RequestListener {
  return bodiesFirst({
    take(request, response, body) {
      const isReport = request.method === 'POST' && request.url === reportPath
      if (isReport && body !== undefined && body.length <= maxReportBytes) {
        void answer(current, request, String(body), response)
      } else {
        others(body === undefined ? request : Object.assign(request, { rawBody: body }), response)
      }
    },
    refuse: (response, refusal) => {
      response.setHeader('connection', 'close')
      write(response, current().refused(refusal))
    },
    noteBrokenOff: (method, cause) => current().noteBrokenOff(method, cause),
  })
}

async function answer(
  current: Current,
  { headers: sent }: IncomingMessage,
  text: string,
  response: ServerResponse,
): Promise<void> {
  const header = (name: string) => sent[name]?.toString()
  write(response, await current().answerReport({ header, text }))
}

function write(response: ServerResponse, { status, headers, body }: Answered): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'content-length': length }).end(body)
}
