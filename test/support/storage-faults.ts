// A proxy in front of Azurite's tables that fails where a test wants it to, as Azure Storage does.
// A signature covers the path, not the host, so requests pass it as they are; and the answer to a
// transaction is 202 even where a change in it was refused.
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Waiters } from '../simulator/waiters.ts'

export interface Fault {
  /** What is answered in place of Azurite: an HTTP status, nothing at all, or nothing although it was done. */
  answer: number | 'hang' | 'lost'
  /** Azure's own name for the error. */
  code?: string
  retryAfterSeconds?: number
  /** Changes are transactions and removals. */
  only?: 'reads' | 'changes'
  /** Found in the body, or in the path: only such requests fail. */
  about?: string
  /** How many requests fail; all, where nothing is said. */
  times?: number
  /** Refused within the transaction, so that the request itself succeeds. */
  inTransaction?: boolean
}

export interface StorageFaults extends Awaited<ReturnType<typeof startStorageFaults>> {}

export async function startStorageFaults(connection: string) {
  const endpoint = new URL(/TableEndpoint=([^;]+)/.exec(connection)![1]!)
  const waiters = new Waiters()
  let faults: { fault: Fault; left: number }[] = []
  const state = { failed: 0, passed: 0 }

  const take = (request: IncomingMessage, body: Buffer): Fault | undefined => {
    const found = faults.find(({ fault, left }) => left > 0 && isMeant(fault, request, body))
    if (found === undefined) return undefined
    found.left -= 1
    return found.fault
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request)
    const fault = take(request, body)
    if (fault === undefined) {
      state.passed += 1
      return forward(endpoint, request, body, response)
    }
    if (fault.answer === 'lost') await forward(endpoint, request, body)
    state.failed += 1
    waiters.changed()
    if (fault.answer === 'lost') response.destroy()
    else if (fault.answer !== 'hang') refuse(fault, fault.answer, response)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    /** As Azurite's, with the tables behind the proxy. */
    connection: connection.replace(endpoint.host, `127.0.0.1:${port}`),
    state: state as Readonly<typeof state>,
    add(fault: Fault): void {
      faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    },
    clear(): void {
      faults = []
      state.failed = 0
    },
    /** Until so many requests failed, since `clear`. */
    async failures(count: number, timeoutMs = 10_000): Promise<void> {
      const enough = () => state.failed >= count || undefined
      await waiters.until(enough, timeoutMs, () => `only ${state.failed} requests failed`)
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function isMeant({ only, about }: Fault, { method, url = '' }: IncomingMessage, body: Buffer) {
  const isChange = url.endsWith('/$batch') || method === 'DELETE'
  if (only !== undefined && isChange !== (only === 'changes')) return false
  return about === undefined || body.includes(about) || decodeURIComponent(url).includes(about)
}

async function forward(
  { hostname, port }: URL,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  response?: ServerResponse,
): Promise<void> {
  const received = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ hostname, port, method, path: url, headers, agent: false })
      .once('response', resolve)
      .once('error', reject)
      .end(body)
  })
  const answer = await buffer(received)
  response?.writeHead(received.statusCode!, received.rawHeaders).end(answer)
}

function refuse(fault: Fault, status: number, response: ServerResponse): void {
  const { code = 'ServerBusy', retryAfterSeconds, inTransaction } = fault
  const value = `${inTransaction ? '0:' : ''}refused by the test\nRequestId:1`
  const body = JSON.stringify({ 'odata.error': { code, message: { lang: 'en-US', value } } })
  const headers = {
    'content-type': 'application/json;odata=minimalmetadata',
    'x-ms-error-code': code,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  }
  if (!inTransaction) {
    response.writeHead(status, headers).end(body)
    return
  }
  const type = 'multipart/mixed; boundary=batchresponse_1'
  const lines = [
    '--batchresponse_1',
    'Content-Type: multipart/mixed; boundary=changesetresponse_1',
    '',
    '--changesetresponse_1',
    'Content-Type: application/http',
    '',
    `HTTP/1.1 ${status} Refused`,
    'Content-Type: application/json',
    '',
    body,
    '--changesetresponse_1--',
    '--batchresponse_1--',
    '',
  ]
  response.writeHead(202, { 'content-type': type }).end(lines.join('\r\n'))
}
