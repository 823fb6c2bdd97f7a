// The client of the VM's own metadata service (IMDS). Its surprise: failure is the normal case here, so
// every outcome is a value, and a failed poll never looks like "no events".
import { Agent } from 'node:http'
import { z } from 'zod'
import {
  type ApiVersion,
  cut,
  type EventsDocument,
  limits,
  parseDocument,
} from '../shared/document.ts'
import type { Log } from '../shared/log.ts'
import type { Vm } from '../shared/report.ts'
import { parseRetryAfter } from '../shared/retry.ts'
import { type AccessToken, parseAccessToken } from './access-token.ts'
import type { Clock } from './clock.ts'
import { type Exchanged, exchange } from './http.ts'
import { parseInstance } from './instance.ts'
import { createVersions } from './versions.ts'

/** The first GET switches Scheduled Events on for the tenant, which may take two minutes. */
const firstTimeoutMs = 150_000
const laterTimeoutMs = 10_000
const connectTimeoutMs = 10_000
const maxDocumentBytes = 1024 * 1024
const maxSockets = 4
const instancePath = '/metadata/instance?api-version=2021-02-01'
const tokenPath = '/metadata/identity/oauth2/token'
const tokenVersion = '2018-02-01'

/**
 * `fallback`: ask again for an older api-version. `updating`: 410. `throttled`: 429. `transient`: 5xx,
 * no answer, nothing readable in it. `absent`: this service is not here, or not as we know it.
 */
export type FailureClass = 'fallback' | 'updating' | 'throttled' | 'transient' | 'absent'

export interface Failed {
  kind: 'failed'
  class: FailureClass
  reason: string
  status?: number
  retryAfterMs?: number
}

export type Poll = { kind: 'document'; document: EventsDocument; apiVersion: ApiVersion } | Failed

export type Started =
  | { outcome: 'accepted'; status: number }
  | { outcome: 'rejected'; status: number; reason: string }
  | { outcome: 'unreachable'; reason: string }

/** IMDS as the beacon uses it. No method rejects. */
export interface Imds {
  /** Asks for the events of the tenant. */
  poll(signal: AbortSignal): Promise<Poll>
  /** Asks who this VM is. */
  identify(signal: AbortSignal): Promise<{ kind: 'vm'; vm: Vm } | Failed>
  /** Approves one event, by its canonical id: it starts for every VM it hits. */
  start(eventId: string, signal: AbortSignal): Promise<Started>
}

/** The part of IMDS that gives tokens of this VM's managed identity. Never rejects. */
export interface TokenSource {
  /** `clientId` picks one of several identities. No failure's reason holds any part of a token. */
  token(
    audience: string,
    clientId: string | undefined,
    signal: AbortSignal,
  ): Promise<({ kind: 'token' } & AccessToken) | Failed>
}

export function createImds(options: {
  /** Such as `http://169.254.169.254`. */
  origin: string
  clock: Clock
  log: Log
  firstTimeoutMs?: number
  laterTimeoutMs?: number
}): Imds & TokenSource & { close(): void } {
  const { clock } = options
  // Without `proxyEnv` an agent uses no proxy, whatever the environment says: IMDS has to see the VM itself.
  const agent = new Agent({ keepAlive: true, maxSockets })
  const ask = createAsk(options.origin, agent)
  const versions = createVersions(options.log)
  const laterMs = options.laterTimeoutMs ?? laterTimeoutMs
  const firstMs = options.firstTimeoutMs ?? firstTimeoutMs
  let last: { text: string; document: EventsDocument; apiVersion: ApiVersion } | undefined

  return {
    async poll(signal) {
      const apiVersion = versions.pick(clock.monotonic())
      const path = `/metadata/scheduledevents?api-version=${apiVersion}`
      const answer = await ask(path, signal, last === undefined ? firstMs : laterMs)
      if (answer.kind === 'answered' && answer.status === 400) {
        const failed = failureOf(answer, clock.now())
        return { ...failed, class: versions.refused(clock.monotonic()) }
      }
      const document = readAnswer(answer, clock.now(), (text) => parseDocument(text, apiVersion))
      if ('kind' in document) {
        versions.unclear(clock.monotonic())
        return document
      }
      versions.worked()
      last = { text: document.text, document: document.value, apiVersion }
      return { kind: 'document', document: document.value, apiVersion }
    },

    async identify(signal) {
      const answer = await ask(instancePath, signal, laterMs)
      const vm = readAnswer(answer, clock.now(), parseInstance)
      return 'kind' in vm ? vm : { kind: 'vm', vm: vm.value }
    },

    async token(audience, clientId, signal) {
      const query = new URLSearchParams({
        ...{ 'api-version': tokenVersion, resource: audience },
        ...(clientId === undefined ? {} : { client_id: clientId }),
      })
      const answer = await ask(`${tokenPath}?${query}`, signal, laterMs)
      const token = readAnswer(answer, clock.now(), parseAccessToken)
      return 'kind' in token ? token : { kind: 'token', ...token.value }
    },

    async start(eventId, signal) {
      const apiVersion = last?.apiVersion ?? versions.pick(clock.monotonic())
      const body = JSON.stringify({
        ...(apiVersion === '2017-03-01'
          ? { DocumentIncarnation: String(last?.document.incarnation ?? '') }
          : {}),
        StartRequests: [{ EventId: rawEventId(last?.text ?? '', eventId) ?? eventId }],
      })
      const path = `/metadata/scheduledevents?api-version=${apiVersion}`
      const answer = await ask(path, signal, laterMs, body)
      if (answer.kind === 'unanswered') return { outcome: 'unreachable', reason: answer.reason }
      const { status } = answer
      if (status >= 200 && status < 300) return { outcome: 'accepted', status }
      return { outcome: 'rejected', status, reason: cut(answer.text.trim(), 200) }
    },

    close: () => agent.destroy(),
  }
}

type Ask = (
  path: string,
  signal: AbortSignal,
  timeoutMs: number,
  body?: string,
) => Promise<Exchanged>

/** A GET, or a POST where there is a body. */
function createAsk(origin: string, agent: Agent): Ask {
  return async (path, signal, timeoutMs, body) => {
    const url = new URL(path, origin)
    const posted =
      body === undefined
        ? undefined
        : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` }
    const headers = { metadata: 'true', accept: 'application/json', ...posted }
    const asked = {
      ...{ agent, url, headers, timeoutMs, connectTimeoutMs, signal, maxBytes: maxDocumentBytes },
      ...(body === undefined ? { method: 'GET' as const } : { method: 'POST' as const, body }),
    }
    const answer = await exchange(asked)
    // Both may be repeated: reading, and approving, which Azure lets one do twice.
    const again = answer.kind === 'unanswered' && answer.stale && !signal.aborted
    return again ? exchange(asked) : answer
  }
}

/** Parsed where IMDS said 200 and `parse` understands it; a failure with its class in every other case. */
function readAnswer<T extends object>(
  answer: Exchanged,
  now: number,
  parse: (text: string) => T | string,
): { value: T; text: string } | Failed {
  if (answer.kind === 'unanswered' || answer.status !== 200) return failureOf(answer, now)
  const value = parse(answer.text)
  if (typeof value !== 'string') return { value, text: answer.text }
  return { kind: 'failed', class: 'transient', status: 200, reason: value }
}

function failureOf(answer: Exchanged, now: number): Failed {
  if (answer.kind === 'unanswered') {
    return { kind: 'failed', class: 'transient', reason: answer.reason }
  }
  const { status, text } = answer
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return {
    kind: 'failed',
    class: classOf(status),
    status,
    reason: `IMDS answered ${status}: ${cut(text.trim(), 200) || '(empty body)'}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function classOf(status: number): FailureClass {
  if (status === 410) return 'updating'
  if (status === 429) return 'throttled'
  return status >= 400 && status < 500 && status !== 408 ? 'absent' : 'transient'
}

const rawIds = z.object({ Events: z.array(z.object({ EventId: z.string() })) })

/** The id as IMDS wrote it: ours are lower case, and nothing promises that IMDS ignores case. */
function rawEventId(text: string, eventId: string): string | undefined {
  const ids = text === '' ? [] : rawIds.parse(JSON.parse(text)).Events.map((e) => e.EventId.trim())
  return ids.find((id) => cut(id.toLowerCase(), limits.name) === eventId)
}
