// The client of the relay: sends one report with what shows who sends it, and says what came of it as a
// value. Its surprise: a wrong clock of this VM is healed here, by the relay's own time in its refusal,
// and a token that the relay does not take is renewed.
import http from 'node:http'
import https from 'node:https'
import { z } from 'zod'
import { cut } from '../shared/document.ts'
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
/** Azure's NAT forgets a connection that was idle for 4 min, without a word to either side. */
const idleSocketMs = 90_000

export type Sent =
  | { kind: 'accepted'; answer: Answer }
  /** A newer boot of this VM has reported: only a new boot id will be heard. */
  | { kind: 'retired' }
  /** The relay does not want this report: sending one like it again will not help by itself. */
  | { kind: 'refused'; status: number; reason: string }
  /** No answer, or none that counts: trying again will help. */
  | { kind: 'failed'; reason: string; status?: number; retryAfterMs?: number }

/** The relay as the beacon uses it. Never rejects. */
export interface Relay {
  /** `build` is called once for every attempt, since each has to have a body of its own. */
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
  // Plain http is for a relay on this machine, and no proxy is asked for the way there.
  const agent =
    url.protocol === 'https:'
      ? new https.Agent({ ...keeping, proxyEnv: { ...options.environment } })
      : new http.Agent(keeping)
  /** What to add to this VM's clock to get the relay's. */
  let offsetMs = 0

  const attempt = async (build: () => string, signal: AbortSignal): Promise<Attempted> => {
    const show = await credential.ready(signal)
    if (typeof show !== 'function') return show
    const body = build()
    const headers = {
      ...(await show(body, clock.now() + offsetMs)),
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
    const parsed = answerSchema.safeParse(jsonOf(text))
    if (parsed.success) return { kind: 'accepted', answer: parsed.data }
    return { kind: 'failed', status, reason: `this is not the answer of a relay: ${cut(text, 60)}` }
  }
  const problem = problemSchema.safeParse(jsonOf(text)).data
  if (status === 409 && problem?.code === retiredCode) return { kind: 'retired' }
  if (status >= 300 && status < 400) {
    const reason = `the relay answered ${status}, which is not followed; FOGHORN_RELAY_URL has to be the relay's own address, perhaps ${answer.headers.location}`
    return { kind: 'failed', status, reason }
  }
  const said = problem?.detail || problem?.title || cut(text.trim(), 200) || '(empty body)'
  const reason = `the relay answered ${status}: ${said}`
  const later = status === 408 || status === 429
  if (status >= 400 && status < 500 && !later) return { kind: 'refused', status, reason }
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return { kind: 'failed', status, reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** What a 401 says that another attempt may mend: `time` is the relay's clock, where ours is at fault. */
function refusalIn(answer: Attempted): { code?: string; time?: number | undefined } {
  if (answer.kind !== 'answered' || answer.status !== 401) return {}
  return problemSchema.safeParse(jsonOf(answer.text)).data ?? {}
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
