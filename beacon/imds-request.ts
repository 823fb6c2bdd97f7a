// One request to IMDS. It waits for its turn, and all requests wait while IMDS throttles.
import { parseRetryAfter } from '../shared/retry.ts'
import type { Clock } from './clock.ts'
import type { Exchange, Exchanged, Transport } from './exchange.ts'

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

interface ImdsRequest {
  (asked: Asked & { prepare(): { path: string } }): Promise<Exchanged>
  (asked: Asked): Promise<Exchanged | undefined>
}

export function createImdsRequest(parts: {
  origin: string
  rateLimit: RateLimit
  clock: Clock
  send: Transport['exchange']
}): ImdsRequest {
  const { origin, rateLimit, clock, send } = parts
  const once = async ({ prepare, kind = 'other', signal, timeoutMs }: Asked) => {
    await rateLimit.pass(kind, signal)
    const request = prepare()
    if (request === undefined) return undefined
    const url = new URL(request.path, origin)
    const limits = { timeoutMs, connectTimeoutMs, maxBytes: maxDocumentBytes }
    const answer = await send({ url, signal, ...limits, ...describeForm(request.body) })
    const pauseMs = readPauseMs(answer, clock.now())
    if (pauseMs !== undefined) rateLimit.pause(pauseMs)
    return answer
  }
  return (async (asked: Asked) => {
    const answer = await once(asked)
    // Every request may be repeated. Azure accepts a second approval of the same event.
    const again = answer?.kind === 'unanswered' && answer.stale && !asked.signal.aborted
    return again ? once(asked) : answer
  }) as ImdsRequest
}

/** A POST if there is a body, otherwise a GET. */
function describeForm(body: string | undefined): Pick<Exchange, 'method' | 'headers' | 'body'> {
  const headers = { metadata: 'true', accept: 'application/json' }
  if (body === undefined) return { method: 'GET', headers }
  const length = `${Buffer.byteLength(body)}`
  const posted = { 'content-type': 'application/json', 'content-length': length }
  return { method: 'POST', headers: { ...headers, ...posted }, body }
}

/** How long IMDS wants no requests: after a 429, or after a 503 with Retry-After. */
export function readPauseMs(answer: Exchanged, now: number): number | undefined {
  if (answer.kind === 'unanswered') return undefined
  const { status, headers } = answer
  if (status !== 429 && status !== 503) return undefined
  const askedMs = parseRetryAfter(headers['retry-after'], now)
  if (status === 503) return askedMs === undefined ? undefined : Math.min(askedMs, longestPauseMs)
  return Math.min(Math.max(askedMs ?? 0, leastPauseMs), longestPauseMs)
}

/** Requests in any `windowMs`. */
const requestsPerWindow = 4
/** One second, and a margin: two requests may arrive closer together than they were sent. */
const windowMs = 1_050

interface RateLimit {
  /**
   * Resolves when the request may go out (then send it at once), or when `signal` aborts. The first
   * poll in a window goes before all others, and its place is kept free. Otherwise requests go out
   * in order of arrival.
   */
  pass(kind: 'poll' | 'other', signal: AbortSignal): Promise<void>
  /** No request goes out for `ms`. */
  pause(ms: number): void
}

interface Waiting {
  kind: 'poll' | 'other'
  go(): void
}

export function createRateLimit(clock: Pick<Clock, 'monotonic' | 'sleep'>): RateLimit {
  /** The requests of the last window, oldest first. */
  let sent: { at: number; kind: Waiting['kind'] }[] = []
  let pausedUntil = Number.NEGATIVE_INFINITY
  const queue: Waiting[] = []
  let timer: AbortController | undefined

  const chooseNext = (now: number): Waiting | undefined => {
    if (now < pausedUntil || sent.length >= requestsPerWindow) return undefined
    if (sent.some(({ kind }) => kind === 'poll')) return queue[0]
    const poll = queue.find(({ kind }) => kind === 'poll')
    return poll ?? (sent.length < requestsPerWindow - 1 ? queue[0] : undefined)
  }

  const serve = (): void => {
    const now = clock.monotonic()
    sent = sent.filter(({ at }) => now - at < windowMs)
    for (let next = chooseNext(now); next !== undefined; next = chooseNext(now)) {
      queue.splice(queue.indexOf(next), 1)
      sent.push({ at: now, kind: next.kind })
      next.go()
    }
    timer?.abort()
    timer = undefined
    if (queue.length === 0) return
    const freeAt = Math.max(pausedUntil, sent[0] === undefined ? now : sent[0].at + windowMs)
    const waiting = new AbortController()
    timer = waiting
    void clock.sleep(freeAt - now, waiting.signal).then(() => {
      if (!waiting.signal.aborted) serve()
    })
  }

  return {
    pass: (kind, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const leave = () => {
          queue.splice(queue.indexOf(waiting), 1)
          resolve()
          serve()
        }
        const go = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const waiting = { kind, go }
        signal.addEventListener('abort', leave, { once: true })
        queue.push(waiting)
        serve()
      }),
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms)
    },
  }
}
