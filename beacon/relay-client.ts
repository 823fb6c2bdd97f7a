// Posts to the relay, authenticated. If the relay rejects the VM's clock or token, it corrects the
// clock or renews the token, and posts once more.
import * as z from 'zod/mini'
import { parseJson } from '../shared/json.ts'
import {
  type Answer,
  answerSchema,
  clockCode,
  fleetHeader,
  reportPath,
  retiredCode,
  tokenCode,
} from '../shared/report.ts'
import { parseRetryAfter } from '../shared/retry.ts'
import { cut } from '../shared/text.ts'
import type { Clock } from './clock.ts'
import type { Credential, Unready } from './credential.ts'
import type { Exchanged, ProxyEnvironment } from './exchange.ts'
import { createTransport } from './transport.ts'

const timeoutMs = 10_000
const maxAnswerBytes = 256 * 1024
/** The longest text of an answer that is kept. The relay's own sentences are shorter. */
const maxSaid = 1_000

export interface RelayOptions {
  /** Where the relay is, without a path of its API. */
  url: string
  fleet: string
  credential: Credential
  environment: ProxyEnvironment
  clock: Pick<Clock, 'now'>
  timeoutMs?: number
}

export type Posted = Exchanged | Unready

export interface RelayClient {
  /**
   * Calls `build` for every attempt: no body is sent twice. The relay may hold its answer for
   * `waitMs`. Never rejects.
   */
  post(path: string, build: () => string, signal: AbortSignal, waitMs?: number): Promise<Posted>
  close(): void
}

export function createRelayClient(options: RelayOptions): RelayClient {
  const { clock, credential, fleet } = options
  const base = options.url.replace(/\/+$/, '')
  const transport = createTransport(options.environment)
  /** What to add to this VM's clock to get the relay's. */
  let offsetMs = 0

  const attempt = async (
    url: URL,
    build: () => string,
    signal: AbortSignal,
    waitMs: number,
  ): Promise<Posted> => {
    const authenticate = await credential.ready(signal)
    if (typeof authenticate !== 'function') return authenticate
    const body = build()
    const headers = {
      ...(await authenticate(body, clock.now() + offsetMs)),
      [fleetHeader]: fleet,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    return transport.exchange({
      url,
      method: 'POST',
      headers,
      body,
      signal,
      maxBytes: maxAnswerBytes,
      timeoutMs: (options.timeoutMs ?? timeoutMs) + waitMs,
    })
  }

  return {
    async post(path, build, signal, waitMs = 0) {
      const url = new URL(`${base}${path}`)
      const first = await attempt(url, build, signal, waitMs)
      const { code, time } = refusalIn(first)
      if (code === clockCode && time !== undefined) offsetMs = time - clock.now()
      else if (code !== tokenCode || !(await credential.renew(signal))) return first
      return attempt(url, build, signal, waitMs)
    },
    close: () => transport.close(),
  }
}

const problemSchema = z.object({
  code: z.catch(z.string(), ''),
  title: z.catch(z.string(), ''),
  detail: z.catch(z.string(), ''),
  time: z.catch(z.optional(z.number()), undefined),
})

/** Undefined if the answer is no problem+json. */
export function problemIn(text: string): z.infer<typeof problemSchema> | undefined {
  return problemSchema.safeParse(parseJson(text)).data
}

/** What an answer says that is not the expected one, with a remedy for a redirect. */
export function reasonIn({ status, headers, text }: Exchanged & { kind: 'answered' }): string {
  if (status >= 300 && status < 400) {
    const remedy = "set FOGHORN_RELAY_URL to the relay's own address"
    return `the relay answered ${status}, a redirect; ${remedy}, perhaps ${cut(String(headers.location), maxSaid)}`
  }
  const problem = problemIn(text)
  const said = problem?.detail || problem?.title || cut(text.trim(), 200) || '(empty body)'
  return `the relay answered ${status}: ${cut(said.replace(/\s+/g, ' '), maxSaid)}`
}

/** The problem of a 401, which another attempt may solve. `time` is the relay's clock. */
function refusalIn(answer: Posted): { code?: string; time?: number | undefined } {
  if (answer.kind !== 'answered' || answer.status !== 401) return {}
  return problemIn(answer.text) ?? {}
}

export type Sent =
  | { kind: 'accepted'; answer: Answer }
  /** A newer boot of this VM has reported: the relay accepts only a new boot id. */
  | { kind: 'retired' }
  /** The relay rejects this report, in its own words. A retry alone does not help. */
  | { kind: 'refused'; status: number; code: string; reason: string }
  /** No valid answer. A retry may help. */
  | { kind: 'failed'; reason: string; status?: number; retryAfterMs?: number }

/** The relay as the beacon uses it. Never rejects. */
export interface Relay {
  /**
   * Calls `build` for every attempt: no body is sent twice. With `waitMs`, the relay may hold its
   * answer for this time.
   */
  send(build: () => string, signal: AbortSignal, waitMs?: number): Promise<Sent>
}

export function createRelay(options: RelayOptions): Relay & { close(): void } {
  const client = createRelayClient(options)
  return {
    async send(build, signal, waitMs) {
      const posted = await client.post(reportPath, build, signal, waitMs)
      return readSent(posted, options.clock.now())
    },
    close: () => client.close(),
  }
}

function readSent(answer: Posted, now: number): Sent {
  if (answer.kind === 'unready') {
    return { kind: 'failed', reason: answer.reason, retryAfterMs: answer.retryAfterMs }
  }
  if (answer.kind === 'unanswered') return { kind: 'failed', reason: answer.reason }
  const { status, text } = answer
  if (status >= 200 && status < 300) {
    const parsed = answerSchema.safeParse(parseJson(text))
    if (parsed.success) return { kind: 'accepted', answer: parsed.data }
    const reason = `the answer does not come from a relay: ${cut(text, 60)}`
    return { kind: 'failed', status, reason }
  }
  // a proxy, a sign-in page or a firewall may answer with any status
  const code = problemIn(text)?.code ?? ''
  if (status === 409 && code === retiredCode) return { kind: 'retired' }
  const reason = reasonIn(answer)
  const isLater = status === 408 || status === 429 || status >= 500
  if (status >= 400 && !isLater && code !== '') return { kind: 'refused', status, code, reason }
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return { kind: 'failed', status, reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
