// The client of the relay: sends one report, and returns the outcome as a value. Its surprise: if
// the relay rejects the VM's clock or token, it corrects the clock or renews the token, and sends
// once more.
import http from 'node:http'
import https from 'node:https'
import * as z from 'zod'
import { cut } from '../shared/document.ts'
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
import type { Clock } from './clock.ts'
import type { Credential, Unready } from './credential.ts'
import { type Exchanged, exchange } from './http.ts'

const timeoutMs = 10_000
const maxAnswerBytes = 256 * 1024
/** Azure's NAT drops a connection that was idle for 4 min, and notifies neither side. */
const idleSocketMs = 90_000

export type Sent =
  | { kind: 'accepted'; answer: Answer }
  /** A newer boot of this VM has reported: the relay accepts only a new boot id. */
  | { kind: 'retired' }
  /** The relay rejects this report. A retry alone does not help. */
  | { kind: 'refused'; status: number; reason: string }
  /** No valid answer. A retry may help. */
  | { kind: 'failed'; reason: string; status?: number; retryAfterMs?: number }

/** The relay as the beacon uses it. Never rejects. */
export interface Relay {
  /** Calls `build` for every attempt: no body is sent twice. */
  send(build: () => string, signal: AbortSignal): Promise<Sent>
}

/** Proxy settings, by the names of the environment. */
export interface ProxyEnvironment {
  HTTPS_PROXY?: string
  NO_PROXY?: string
}

export function createRelay(options: {
  /** Where the relay is, without `/v1/reports`. */
  url: string
  fleet: string
  credential: Credential
  environment: ProxyEnvironment
  clock: Pick<Clock, 'now'>
  timeoutMs?: number
}): Relay & { close(): void } {
  const { clock, credential, fleet } = options
  const url = new URL(`${options.url.replace(/\/+$/, '')}${reportPath}`)
  const keeping = { keepAlive: true, timeout: idleSocketMs }
  // Plain http is for a relay on this machine, which needs no proxy.
  const agent =
    url.protocol === 'https:'
      ? new https.Agent({ ...keeping, proxyEnv: { ...options.environment } })
      : new http.Agent(keeping)
  /** What to add to this VM's clock to get the relay's. */
  let offsetMs = 0

  const attempt = async (build: () => string, signal: AbortSignal): Promise<Attempted> => {
    const authenticate = await credential.ready(signal)
    if (typeof authenticate !== 'function') return authenticate
    const body = build()
    const headers = {
      ...(await authenticate(body, clock.now() + offsetMs)),
      [fleetHeader]: fleet,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    return exchange({
      ...{ agent, url, method: 'POST', headers, body, signal, maxBytes: maxAnswerBytes },
      timeoutMs: options.timeoutMs ?? timeoutMs,
    })
  }

  return {
    async send(build, signal) {
      const first = await attempt(build, signal)
      const { code, time } = refusalIn(first)
      if (code === clockCode && time !== undefined) offsetMs = time - clock.now()
      else if (code !== tokenCode || !(await credential.renew(signal))) {
        return readSent(first, clock.now())
      }
      return readSent(await attempt(build, signal), clock.now())
    },
    close: () => agent.destroy(),
  }
}

const problemSchema = z.object({
  code: z.string().catch(''),
  title: z.string().catch(''),
  detail: z.string().catch(''),
  time: z.number().optional().catch(undefined),
})

type Attempted = Exchanged | Unready

function readSent(answer: Attempted, now: number): Sent {
  if (answer.kind === 'unready') {
    return { kind: 'failed', reason: answer.reason, retryAfterMs: answer.retryAfterMs }
  }
  if (answer.kind === 'unanswered') return { kind: 'failed', reason: answer.reason }
  const { status, text } = answer
  if (status >= 200 && status < 300) {
    const parsed = answerSchema.safeParse(parseJson(text))
    if (parsed.success) return { kind: 'accepted', answer: parsed.data }
    return {
      kind: 'failed',
      status,
      reason: `the answer does not come from a relay: ${cut(text, 60)}`,
    }
  }
  const problem = problemSchema.safeParse(parseJson(text)).data
  if (status === 409 && problem?.code === retiredCode) return { kind: 'retired' }
  if (status >= 300 && status < 400) {
    const reason =
      `the relay answered ${status}, a redirect; set FOGHORN_RELAY_URL to the relay's own address, ` +
      `perhaps ${answer.headers.location}`
    return { kind: 'failed', status, reason }
  }
  const said = problem?.detail || problem?.title || cut(text.trim(), 200) || '(empty body)'
  const reason = `the relay answered ${status}: ${said}`
  const later = status === 408 || status === 429
  if (status >= 400 && status < 500 && !later) return { kind: 'refused', status, reason }
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return { kind: 'failed', status, reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** The problem of a 401, which another attempt may solve. `time` is the relay's clock. */
function refusalIn(answer: Attempted): { code?: string; time?: number | undefined } {
  if (answer.kind !== 'answered' || answer.status !== 401) return {}
  return problemSchema.safeParse(parseJson(answer.text)).data ?? {}
}
