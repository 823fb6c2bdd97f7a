// Sends one report to the relay, and returns the outcome as a value.
import { cut } from '../shared/document.ts'
import { parseJson } from '../shared/json.ts'
import { type Answer, answerSchema, reportPath, retiredCode } from '../shared/report.ts'
import { parseRetryAfter } from '../shared/retry.ts'
import {
  createRelayClient,
  type Posted,
  problemIn,
  type RelayOptions,
  reasonIn,
} from './relay-client.ts'

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
  if (status === 409 && problemIn(text)?.code === retiredCode) return { kind: 'retired' }
  const reason = reasonIn(answer)
  const later = status === 408 || status === 429
  if (status >= 400 && status < 500 && !later) return { kind: 'refused', status, reason }
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return { kind: 'failed', status, reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
