// HTTP exchanges over Bun's `fetch`. Bun keeps connections, notices dead ones by TCP keepalive, and
// repeats a request whose kept connection was closed.
import { messageOf } from '../shared/errors.ts'
import {
  type Exchange,
  type Exchanged,
  noAnswer,
  noConnection,
  type ProxyEnvironment,
  stopping,
  type Transport,
  tooLarge,
} from './exchange.ts'

/** What Bun's `fetch` takes beside the standard. With a proxy, it obeys NO_PROXY of the environment. */
interface BunInit extends RequestInit {
  proxy: string | false
  /** Explicit, because NODE_TLS_REJECT_UNAUTHORIZED could switch the check off. */
  tls: { rejectUnauthorized: true }
}

/** `proxy` must be that of the environment: Bun reads NO_PROXY there. */
export function createFetchTransport(proxy: ProxyEnvironment): Transport {
  return { exchange: (asked) => exchange(asked, proxy), close: () => {} }
}

async function exchange(asked: Exchange, { HTTPS_PROXY }: ProxyEnvironment): Promise<Exchanged> {
  const { url, method, headers, body, maxBytes, signal, timeoutMs } = asked
  const over = new AbortController()
  const stop = () => over.abort(stopping)
  const timer = setTimeout(() => over.abort(noAnswer(timeoutMs)), timeoutMs)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  void probe(asked, over)
  const { 'content-length': _, ...own } = headers
  const init: BunInit = {
    method,
    headers: own,
    redirect: 'manual',
    signal: over.signal,
    ...(body === undefined ? {} : { body }),
    proxy: url.protocol === 'https:' && HTTPS_PROXY !== undefined ? HTTPS_PROXY : false,
    tls: { rejectUnauthorized: true },
  }
  try {
    const response = await fetch(url, init)
    const text = await readText(response, maxBytes, over)
    const known = { 'retry-after': response.headers.get('retry-after') ?? undefined }
    const location = response.headers.get('location') ?? undefined
    return { kind: 'answered', status: response.status, headers: { ...known, location }, text }
  } catch (error) {
    const reason = over.signal.aborted ? String(over.signal.reason) : describeFault(error)
    return { kind: 'unanswered', reason, stale: false }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    over.abort(stopping)
  }
}

/** Bun's sentence without its advice to programmers. */
function describeFault(error: unknown): string {
  return messageOf(error).split(/[.:] (?=Is the|For more)/)[0]!
}

async function readText(
  response: Response,
  maxBytes: number,
  over: AbortController,
): Promise<string> {
  if (isWithin(maxBytes, response)) return response.text()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) over.abort(tooLarge(maxBytes))
    over.signal.throwIfAborted()
    chunks.push(chunk)
  }
  // TextDecoder drops a byte order mark, which JSON.parse would refuse
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** If an answer names its length, it needs no costly stream. A compressed answer, or one in chunks, may be longer. */
function isWithin(maxBytes: number, { headers }: Response): boolean {
  const length = headers.get('content-length')
  const mayBeLonger = headers.has('content-encoding') || headers.has('transfer-encoding')
  return length !== null && Number(length) <= maxBytes && !mayBeLonger
}

interface BunSocket {
  end(): void
}

interface BunRuntime {
  connect(options: {
    hostname: string
    port: number
    socket: { open(socket: BunSocket): void; data(): void; error(): void; connectError(): void }
  }): Promise<unknown>
}

/** `fetch` does not say when it is connected. So a connection of its own shows whether it can be. */
async function probe(
  { url, connectTimeoutMs, timeoutMs }: Exchange,
  over: AbortController,
): Promise<void> {
  const bun = (globalThis as { Bun?: BunRuntime }).Bun
  if (bun === undefined || connectTimeoutMs === undefined || connectTimeoutMs >= timeoutMs) return
  const timer = setTimeout(() => over.abort(noConnection(connectTimeoutMs)), connectTimeoutMs)
  over.signal.addEventListener('abort', () => clearTimeout(timer))
  const open = (socket: BunSocket) => {
    clearTimeout(timer)
    socket.end()
  }
  // a refused connection is for `fetch` to report
  const socket = { open, data() {}, error() {}, connectError: () => clearTimeout(timer) }
  await bun
    .connect({ hostname: url.hostname, port: Number(url.port || 80), socket })
    .catch(() => {})
}
