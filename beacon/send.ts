// The client of the relay: signs and sends one report, and says what came of it as a value. Its surprise:
// a wrong clock of this VM is healed here, by the relay's own time in its refusal.
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
} from '../shared/report.ts'
import { parseRetryAfter } from '../shared/retry.ts'
import { sign } from '../shared/signature.ts'
import type { Clock } from './clock.ts'
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
  /** `whsec_…` */
  fleetKey: string
  environment: ProxyEnvironment
  clock: Pick<Clock, 'now'>
  newId: () => string
  timeoutMs?: number
}): Relay & { close(): void } {
  const { clock, fleet, fleetKey, newId } = options
  const url = new URL(`${options.url.replace(/\/+$/, '')}${reportPath}`)
  const keeping = { keepAlive: true, timeout: idleSocketMs }
  // Plain http is for a relay on this machine, and no proxy is asked for the way there.
  const agent =
    url.protocol === 'https:'
      ? new https.Agent({ ...keeping, proxyEnv: { ...options.environment } })
      : new http.Agent(keeping)
  /** What to add to this VM's clock to get the relay's. */
  let offsetMs = 0

  const attempt = async (body: string, signal: AbortSignal): Promise<Exchanged> => {
    const signature = await sign([fleetKey], newId(), clock.now() + offsetMs, body)
    const headers = {
      ...signature,
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
      const first = await attempt(build(), signal)
      const time = relayTime(first)
      if (time === undefined) return readSent(first, clock.now())
      offsetMs = time - clock.now()
      return readSent(await attempt(build(), signal), clock.now())
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

function readSent(answer: Exchanged, now: number): Sent {
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

/** The relay's clock, where the answer says that ours is the only fault. */
function relayTime(answer: Exchanged): number | undefined {
  if (answer.kind === 'unanswered' || answer.status !== 401) return undefined
  const problem = problemSchema.safeParse(jsonOf(answer.text)).data
  return problem?.code === clockCode ? problem.time : undefined
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
