// The little HTTP that the IMDS servers and the sinks share. Everything binds to the loopback only.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const HOST = '127.0.0.1'

export interface Reply {
  readonly status: number
  /** Text goes out as it is, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Resolves to the port: the one given, or for 0 a free one. */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is in use already' : `failed: ${cause.message}`
      reject(new Error(`Port ${port} on ${HOST} ${why}.`, { cause }))
    })
    server.listen(port, HOST, () => resolve((server.address() as AddressInfo).port))
  })
}

export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** The body as text, or null when it is longer than the limit. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Leaving the loop must not destroy the socket: the sender is still to be told.
  const stream: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false })
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function send(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return
  const isText = typeof reply.body === 'string'
  const text = isText ? (reply.body as string) : (JSON.stringify(reply.body) ?? '')
  response.writeHead(reply.status, {
    ...(text && { 'content-type': isText ? 'text/plain; charset=utf-8' : JSON_TYPE }),
    // as IMDS does
    'content-length': Buffer.byteLength(text),
    ...reply.headers,
  })
  response.end(text)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** The value, or undefined for anything that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
