// One request to IMDS. It waits for its turn, and all requests wait while IMDS throttles.
import { parseRetryAfter } from '../shared/retry.ts'
import type { Clock } from './clock.ts'
import type { Exchange, Exchanged, Transport } from './exchange.ts'
import type { Gate } from './gate.ts'

const connectTimeoutMs = 10_000
const maxDocumentBytes = 1024 * 1024
/** The shortest pause after a 429: Azure counts requests per second. */
const leastPauseMs = 1_000
const longestPauseMs = 60_000

export interface Asked {
  /**
   * Called when the request may go out: its path, and a body for a POST. Undefined: nothing to
   * send.
   */
  prepare(): { path: string; body?: string } | undefined
  kind?: 'poll' | 'other'
  signal: AbortSignal
  timeoutMs: number
}

interface Ask {
  (asked: Asked & { prepare(): { path: string } }): Promise<Exchanged>
  (asked: Asked): Promise<Exchanged | undefined>
}

export function createAsk(parts: {
  origin: string
  gate: Gate
  clock: Clock
  send: Transport['exchange']
}): Ask {
  const { origin, gate, clock, send } = parts
  const once = async ({ prepare, kind = 'other', signal, timeoutMs }: Asked) => {
    await gate.pass(kind, signal)
    const request = prepare()
    if (request === undefined) return undefined
    const url = new URL(request.path, origin)
    const limits = { timeoutMs, connectTimeoutMs, maxBytes: maxDocumentBytes }
    const answer = await send({ url, signal, ...limits, ...formOf(request.body) })
    const pauseMs = pauseMsOf(answer, clock.now())
    if (pauseMs !== undefined) gate.pause(pauseMs)
    return answer
  }
  return (async (asked: Asked) => {
    const answer = await once(asked)
    // Every request may be repeated. Azure accepts a second approval of the same event.
    const again = answer?.kind === 'unanswered' && answer.stale && !asked.signal.aborted
    return again ? once(asked) : answer
  }) as Ask
}

/** A POST if there is a body, otherwise a GET. */
function formOf(body: string | undefined): Pick<Exchange, 'method' | 'headers' | 'body'> {
  const headers = { metadata: 'true', accept: 'application/json' }
  if (body === undefined) return { method: 'GET', headers }
  const length = `${Buffer.byteLength(body)}`
  const posted = { 'content-type': 'application/json', 'content-length': length }
  return { method: 'POST', headers: { ...headers, ...posted }, body }
}

/** How long IMDS wants no requests: after a 429, or after a 503 with Retry-After. */
export function pauseMsOf(answer: Exchanged, now: number): number | undefined {
  if (answer.kind === 'unanswered') return undefined
  const { status, headers } = answer
  if (status !== 429 && status !== 503) return undefined
  const askedMs = parseRetryAfter(headers['retry-after'], now)
  if (status === 503) return askedMs === undefined ? undefined : Math.min(askedMs, longestPauseMs)
  return Math.min(Math.max(askedMs ?? 0, leastPauseMs), longestPauseMs)
}
