// One request to IMDS: it waits for its turn, and after a 429 all requests wait.
import type { Agent } from 'node:http'
import { parseRetryAfter } from '../shared/retry.ts'
import type { Clock } from './clock.ts'
import type { Gate } from './gate.ts'
import type { Exchange, Exchanged, exchange } from './http.ts'

const connectTimeoutMs = 10_000
const maxDocumentBytes = 1024 * 1024
/** After a 429, whatever it asks for: the budget is one of a second. */
const leastPauseMs = 1_000
const longestPauseMs = 60_000

export interface Asked {
  /** The path, and a body for a POST, when the request may go out. Undefined: there is none to send. */
  prepare(): { path: string; body?: string } | undefined
  kind?: 'poll' | 'other'
  signal: AbortSignal
  timeoutMs: number
}

export interface Ask {
  (asked: Asked & { prepare(): { path: string } }): Promise<Exchanged>
  (asked: Asked): Promise<Exchanged | undefined>
}

export function createAsk(parts: {
  origin: string
  agent: Agent
  gate: Gate
  clock: Clock
  send: typeof exchange
}): Ask {
  const { origin, agent, gate, clock, send } = parts
  const once = async ({ prepare, kind = 'other', signal, timeoutMs }: Asked) => {
    await gate.pass(kind, signal)
    const request = prepare()
    if (request === undefined) return undefined
    const url = new URL(request.path, origin)
    const limits = { timeoutMs, connectTimeoutMs, maxBytes: maxDocumentBytes }
    const answer = await send({ agent, url, signal, ...limits, ...formOf(request.body) })
    const pauseMs = pauseMsOf(answer, clock.now())
    if (pauseMs !== undefined) gate.pause(pauseMs)
    return answer
  }
  return (async (asked: Asked) => {
    const answer = await once(asked)
    // Both may be repeated: reading, and approving, which Azure lets one do twice.
    const again = answer?.kind === 'unanswered' && answer.stale && !asked.signal.aborted
    return again ? once(asked) : answer
  }) as Ask
}

/** A GET, or a POST where there is a body. */
function formOf(body: string | undefined): Pick<Exchange, 'method' | 'headers' | 'body'> {
  const headers = { metadata: 'true', accept: 'application/json' }
  if (body === undefined) return { method: 'GET', headers }
  const length = `${Buffer.byteLength(body)}`
  const posted = { 'content-type': 'application/json', 'content-length': length }
  return { method: 'POST', headers: { ...headers, ...posted }, body }
}

/** How long IMDS wants to be left alone: it says so by 429, and by 503 with a time. */
export function pauseMsOf(answer: Exchanged, now: number): number | undefined {
  if (answer.kind === 'unanswered') return undefined
  const { status, headers } = answer
  if (status !== 429 && status !== 503) return undefined
  const askedMs = parseRetryAfter(headers['retry-after'], now)
  if (status === 503) return askedMs === undefined ? undefined : Math.min(askedMs, longestPauseMs)
  return Math.min(Math.max(askedMs ?? 0, leastPauseMs), longestPauseMs)
}
