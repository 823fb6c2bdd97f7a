// The client of the VM's metadata service (IMDS). Failures are normal here, so every outcome is a
// value, and a failed poll never looks like "no events".
import * as z from 'zod/mini'
import {
  type ApiVersion,
  type EventsDocument,
  limits,
  parseDocument,
  previewVersion,
} from '../shared/document.ts'
import type { Log } from '../shared/log.ts'
import type { Vm } from '../shared/report.ts'
import { parseRetryAfter } from '../shared/retry.ts'
import { cut } from '../shared/text.ts'
import type { Clock } from './clock.ts'
import type { Exchanged, Transport } from './exchange.ts'
import { type Asked, createImdsRequest, createRateLimit, readPauseMs } from './imds-request.ts'
import { type AccessToken, parseAccessToken, parseInstance } from './instance.ts'
import { createTransport } from './transport.ts'
import { createVersions } from './versions.ts'

/** The first GET switches Scheduled Events on for the tenant, which may take two minutes. */
const firstTimeoutMs = 150_000
const laterTimeoutMs = 10_000
const instancePath = '/metadata/instance?api-version=2021-02-01'
const tokenPath = '/metadata/identity/oauth2/token'
const tokenVersion = '2018-02-01'

/**
 * `fallback`: ask for another api-version. `updating`: 410. `throttled`: 429. `transient`: 5xx, no
 * answer, or an unreadable one. `absent`: this address has no IMDS, or none that we know.
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
  /** 429, or 503 with a time to wait. The request itself was valid. */
  | { outcome: 'throttled'; status: number; reason: string; retryAfterMs: number }
  | { outcome: 'unreachable'; reason: string }

/**
 * IMDS as the beacon uses it. No method rejects. Requests wait for their turn, and while IMDS
 * throttles.
 */
export interface Imds {
  /** Asks for the events of the tenant. */
  poll(signal: AbortSignal): Promise<Poll>
  /** Asks who this VM is. */
  identify(signal: AbortSignal): Promise<{ kind: 'vm'; vm: Vm } | Failed>
  /**
   * Approves events in one request. Each starts for every VM it hits. The request may have to wait,
   * so `choose` names the events (canonical ids) when it goes out. Undefined if it named none.
   */
  start(choose: () => readonly string[], signal: AbortSignal): Promise<Started | undefined>
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

/** The last good document. */
interface Answered {
  text: string
  document: EventsDocument
  apiVersion: ApiVersion
  /** Which VM's events came first, if there were too many. */
  vmName: string | undefined
}

export function createImds(options: {
  /** The address of IMDS, such as `http://169.254.169.254`. */
  origin: string
  clock: Clock
  log: Log
  firstTimeoutMs?: number
  laterTimeoutMs?: number
  /** Sends one request. Tests pass their own. */
  exchange?: Transport['exchange']
}): Imds & TokenSource & { close(): void } {
  const { clock } = options
  // without a proxy: IMDS must see the VM itself
  const transport = createTransport()
  const rateLimit = createRateLimit(clock)
  const send = options.exchange ?? transport.exchange
  const ask = createImdsRequest({ origin: options.origin, rateLimit, clock, send })
  const versions = createVersions(options.log)
  const laterMs = options.laterTimeoutMs ?? laterTimeoutMs
  const firstMs = options.firstTimeoutMs ?? firstTimeoutMs
  let last: Answered | undefined
  let vmName: string | undefined
  let probing = false

  const askFor = async (
    apiVersion: ApiVersion,
    request: Pick<Asked, 'kind' | 'signal' | 'timeoutMs'>,
  ) => {
    const answer = await ask({ ...request, prepare: () => ({ path: eventsPath(apiVersion) }) })
    return readAnswer(answer, clock.now(), (text) => readDocument(text, apiVersion))
  }

  /** Nearly every poll has the text of the last one, which is not parsed again. */
  const readDocument = (text: string, apiVersion: ApiVersion): EventsDocument | string => {
    const isSame = text === last?.text && apiVersion === last.apiVersion && vmName === last.vmName
    return isSame ? last!.document : parseDocument(text, apiVersion, vmName)
  }

  /** Asks for newer versions when that is due. It delays no poll, and a refusal changes nothing. */
  const probe = async (signal: AbortSignal): Promise<void> => {
    if (probing) return
    probing = true
    for (const version of versions.probes(clock.monotonic())) {
      const answer = await askFor(version, { kind: 'other', signal, timeoutMs: laterMs })
      if (!('kind' in answer)) versions.restored(version, clock.monotonic())
      if (!('kind' in answer) || !isRefused(version, answer.status)) break
    }
    probing = false
  }

  return {
    async poll(signal) {
      const apiVersion = versions.current()
      const timeoutMs = last === undefined ? firstMs : laterMs
      const document = await askFor(apiVersion, { kind: 'poll', signal, timeoutMs })
      const now = clock.monotonic()
      if ('kind' in document) {
        if (!isRefused(apiVersion, document.status)) return document
        return { ...document, class: versions.refused(apiVersion, now) }
      }
      versions.worked(apiVersion, now)
      void probe(signal)
      last = { text: document.text, document: document.value, apiVersion, vmName }
      return { kind: 'document', document: document.value, apiVersion }
    },

    async identify(signal) {
      const answer = await ask({
        signal,
        timeoutMs: laterMs,
        prepare: () => ({ path: instancePath }),
      })
      const vm = readAnswer(answer, clock.now(), parseInstance)
      if ('kind' in vm) return vm
      vmName = vm.value.name
      return { kind: 'vm', vm: vm.value }
    },

    async token(audience, clientId, signal) {
      const query = new URLSearchParams({
        'api-version': tokenVersion,
        resource: audience,
        ...(clientId === undefined ? {} : { client_id: clientId }),
      })
      const path = `${tokenPath}?${query}`
      const answer = await ask({ signal, timeoutMs: laterMs, prepare: () => ({ path }) })
      const token = readAnswer(answer, clock.now(), parseAccessToken)
      return 'kind' in token ? token : { kind: 'token', ...token.value }
    },

    async start(choose, signal) {
      const prepare = () => {
        const apiVersion = last?.apiVersion ?? versions.current()
        const ids = choose()
        if (ids.length === 0) return undefined
        return { path: eventsPath(apiVersion), body: startBody(ids, apiVersion, last) }
      }
      const answer = await ask({ signal, timeoutMs: laterMs, prepare })
      return answer && readStart(answer, clock.now())
    },

    close: () => transport.close(),
  }
}

/** The preview is absent where Azure has not rolled it out. */
function isRefused(version: ApiVersion, status: number | undefined): boolean {
  return status === 400 || (status === 404 && version === previewVersion)
}

function eventsPath(apiVersion: ApiVersion): string {
  return `/metadata/scheduledevents?api-version=${apiVersion}`
}

/** Version 2017-03-01 requires the number of the document. */
function startBody(ids: readonly string[], apiVersion: ApiVersion, last: Answered | undefined) {
  const raw = rawIdsIn(last?.text ?? '')
  const DocumentIncarnation = String(last?.document.incarnation ?? '')
  return JSON.stringify({
    ...(apiVersion === '2017-03-01' ? { DocumentIncarnation } : {}),
    StartRequests: ids.map((id) => ({ EventId: raw.get(id) ?? id })),
  })
}

function readStart(answer: Exchanged, now: number): Started {
  if (answer.kind === 'unanswered') return { outcome: 'unreachable', reason: answer.reason }
  const { status } = answer
  if (status >= 200 && status < 300) return { outcome: 'accepted', status }
  const reason = cut(answer.text.trim(), 200)
  const retryAfterMs = readPauseMs(answer, now)
  if (retryAfterMs === undefined) return { outcome: 'rejected', status, reason }
  return { outcome: 'throttled', status, reason, retryAfterMs }
}

/** The parsed body of a 200. Everything else is a failure with its class. */
function readAnswer<T extends object>(
  answer: Exchanged,
  now: number,
  parse: (text: string) => T | string,
): { value: T; text: string } | Failed {
  if (answer.kind === 'unanswered' || answer.status !== 200) return describeFailure(answer, now)
  const value = parse(answer.text)
  if (typeof value !== 'string') return { value, text: answer.text }
  return { kind: 'failed', class: 'transient', status: 200, reason: value }
}

function describeFailure(answer: Exchanged, now: number): Failed {
  if (answer.kind === 'unanswered') {
    return { kind: 'failed', class: 'transient', reason: answer.reason }
  }
  const { status, text } = answer
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now)
  return {
    kind: 'failed',
    class: classify(status),
    status,
    reason: `IMDS answered ${status}: ${cut(text.trim(), 200) || '(empty body)'}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function classify(status: number): FailureClass {
  if (status === 410) return 'updating'
  if (status === 429) return 'throttled'
  return status >= 400 && status < 500 && status !== 408 ? 'absent' : 'transient'
}

const rawIds = z.object({ Events: z.array(z.unknown()) })
const rawId = z.object({ EventId: z.string() })

/**
 * The ids as IMDS wrote them, by our lower-case ids. Azure does not promise that IMDS ignores case.
 */
function rawIdsIn(text: string): Map<string, string> {
  const entries = text === '' ? [] : rawIds.parse(JSON.parse(text)).Events
  const ids = entries.flatMap((entry) => rawId.safeParse(entry).data?.EventId.trim() ?? [])
  return new Map(ids.reverse().map((id) => [cut(id.toLowerCase(), limits.name), id]))
}
