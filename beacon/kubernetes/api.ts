// The requests of a drain to the API server of Kubernetes, with the token of a service account. The
// process knows the server's certificate by NODE_EXTRA_CA_CERTS.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ZodMiniType } from 'zod/mini'
import { describeIssues, FoghornError, messageOf } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import { maskTokens } from '../../shared/mask.ts'
import { visible } from '../../shared/presentable.ts'
import { cut } from '../../shared/text.ts'
import { type Exchange, type Transport, tooLarge } from '../exchange.ts'
import {
  fieldManager,
  type Node,
  nodeSchema,
  type Pod,
  podListSchema,
  statusSchema,
} from './objects.ts'

/** One answer of the API server has at most this many bytes. A longer list is asked for in smaller pages. */
const maxBytes = 4 * 1024 * 1024
/** An answer with one pod may be longer: a pod's 1.5 MiB of storage may be six times as long as JSON. */
const maxPodBytes = 16 * 1024 * 1024
const timeoutMs = 10_000
const podsAtOnce = 25
/** If a list has no limit, the API server answers from its memory. */
const allAtOnce = 0
/** A node has 250 at most. Pages that are too long are asked for again. */
const maxPods = 1_000
const maxPages = 2 * maxPods
/** Characters of the reason why one pod does not end. A note has several reasons. */
const maxReason = 120

/**
 * Each method throws FoghornError: `kubernetes_forbidden`, `kubernetes_unreachable`, `kubernetes_failed` or
 * `kubernetes_answer_large`.
 */
export interface KubernetesApi {
  readonly nodeName: string
  node(): Promise<Node>
  /** `conflict` if the node has changed since it was read. */
  patchNode(patch: object): Promise<'done' | 'conflict'>
  patchStatus(patch: object): Promise<void>
  writeEvent(event: object): Promise<void>
  /** Lists the node's pods. A `recent` list may lag some seconds behind, and costs the API server little. */
  pods(selector: string, freshness: 'exact' | 'recent'): Promise<Pod[]>
  /** Undefined if the pod ends. Otherwise why it does not, in some words. */
  evict(pod: Pod, graceSeconds: number | undefined): Promise<string | undefined>
  remove(pod: Pod, graceSeconds: number | undefined): Promise<string | undefined>
}

interface ApiParts {
  /** The address of the API server, such as `https://10.0.0.1:443`. */
  origin: string
  /** Has the file `token`, which Kubernetes replaces before it expires. */
  accountFolder: string
  nodeName: string
  transport: Transport
  signal: AbortSignal
}

export function createApi(parts: ApiParts): KubernetesApi {
  const { nodeName } = parts
  const nodePath = `/api/v1/nodes/${nodeName}`

  const ask = async (method: Exchange['method'], path: string, body?: Body, most = maxBytes) => {
    const answer = await parts.transport.exchange({
      url: new URL(path, parts.origin),
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${tokenIn(parts.accountFolder)}`,
        ...(body && { 'content-type': body.type }),
      },
      ...(body && { body: JSON.stringify(body.value) }),
      ...{ timeoutMs, maxBytes: most, signal: parts.signal },
    })
    if (answer.kind === 'answered') return answer
    const code = answer.reason === tooLarge(most) ? answerLarge : 'kubernetes_unreachable'
    throw new FoghornError(code, `the API server: ${answer.reason}`)
  }

  const expect = async (method: Exchange['method'], path: string, body?: Body, most?: number) => {
    const answer = await ask(method, path, body, most)
    if (answer.status < 300) return answer.text
    throw describeRefusal(answer, `${method} ${path.replace(/\?.*/, '')}`)
  }

  const read = async <T>(path: string, schema: ZodMiniType<T>, most?: number): Promise<T> => {
    const value = parseJson(await expect('GET', path, undefined, most))
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    const [what] = describeIssues(parsed.error, value)
    throw new FoghornError('kubernetes_failed', `the API server's answer to GET ${path}: ${what}`)
  }

  const podPage = async (selector: string, limit: number, rest: string) => {
    const query = new URLSearchParams({
      // pods that have ended may be many, and nothing is to be done about them
      fieldSelector: `spec.nodeName=${nodeName},status.phase!=Succeeded,status.phase!=Failed`,
      ...(limit === allAtOnce ? { resourceVersion: '0' } : { limit: String(limit) }),
      ...(selector !== '' && { labelSelector: selector }),
      ...(rest !== '' && { continue: rest }),
    })
    try {
      const most = limit === 1 ? maxPodBytes : maxBytes
      return await read(`/api/v1/pods?${query}`, podListSchema, most)
    } catch (error) {
      if (limit === 1 || !isAnswerLarge(error)) throw error
      return 'too_large' as const
    }
  }

  const toPatch = (value: object): Body => ({
    value,
    type: 'application/strategic-merge-patch+json',
  })

  const end = async (method: Exchange['method'], path: string, body: object) => {
    const { status, text } = await ask(method, path, toJson(body))
    // 409: a pod of this name that is not the one of the list
    if (status < 300 || status === 404 || status === 409) return undefined
    const message = messageIn(text)
    if (status === 500 && message.includes('more than one')) return 'two disruption budgets'
    if (status === 429 && message.includes('disruption budget')) return 'disruption budget'
    return cut(`HTTP ${status}: ${message}`, maxReason)
  }

  return {
    nodeName,
    node: () => read(nodePath, nodeSchema),

    async patchNode(patch) {
      const answer = await ask('PATCH', `${nodePath}?fieldManager=${fieldManager}`, toPatch(patch))
      if (answer.status === 409) return 'conflict'
      if (answer.status < 300) return 'done'
      throw describeRefusal(answer, `PATCH ${nodePath}`)
    },

    async patchStatus(patch) {
      await expect('PATCH', `${nodePath}/status`, toPatch(patch))
    },

    async writeEvent(event) {
      await expect('POST', '/api/v1/namespaces/default/events', toJson(event))
    },

    async pods(selector, freshness) {
      const found: Pod[] = []
      let rest = ''
      let limit = freshness === 'recent' ? allAtOnce : podsAtOnce
      for (let page = 0; page < maxPages; page += 1) {
        const list = await podPage(selector, limit, rest)
        if (list === 'too_large') {
          limit = smallerThan(limit)
          continue
        }
        found.push(...list.items)
        rest = list.metadata.continue ?? ''
        if (rest === '') return found
        if (found.length > maxPods) break
        // only some pods are large
        limit = Math.min(podsAtOnce, limit * 2)
      }
      throw new FoghornError('kubernetes_failed', `the node has more than ${maxPods} pods`)
    },

    evict(pod, graceSeconds) {
      const { namespace, name } = pod.metadata
      return end('POST', `${buildPath(pod)}/eviction`, {
        ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } },
        deleteOptions: buildOptions(pod, graceSeconds),
      })
    },

    remove(pod, graceSeconds) {
      return end('DELETE', buildPath(pod), {
        ...{ apiVersion: 'v1', kind: 'DeleteOptions', ...buildOptions(pod, graceSeconds) },
      })
    },
  }
}

function smallerThan(limit: number): number {
  return limit === allAtOnce ? podsAtOnce : Math.floor(limit / 2)
}

const answerLarge = 'kubernetes_answer_large'

function isAnswerLarge(error: unknown): boolean {
  return error instanceof FoghornError && error.code === answerLarge
}

function tokenIn(folder: string): string {
  const file = join(folder, 'token')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const remedy =
      'mount the token of the service account there, or correct FOGHORN_SERVICE_ACCOUNT_DIR'
    throw new FoghornError(
      'kubernetes_failed',
      `there is no token at ${file} (${messageOf(error)}): ${remedy}`,
    )
  }
}

/** A controller may have started a pod of the same name elsewhere meanwhile. */
function buildOptions({ metadata: { uid } }: Pod, graceSeconds: number | undefined): object {
  const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }
  return { preconditions: { uid }, ...grace }
}

interface Body {
  type: string
  value: object
}

function toJson(value: object): Body {
  return { value, type: 'application/json' }
}

function buildPath({ metadata: { namespace, name } }: Pod): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`
}

/** One line, as it goes to the log and to the relay. */
function messageIn(text: string): string {
  const read = statusSchema.safeParse(parseJson(text))
  const message = (read.success && read.data.message) || ''
  return cut(maskTokens(visible(cut(message, 4 * maxMessage))), maxMessage)
}

const maxMessage = 500

function describeRefusal(
  { status, text }: { status: number; text: string },
  what: string,
): FoghornError {
  const code = status === 403 ? 'kubernetes_forbidden' : 'kubernetes_failed'
  const message = messageIn(text)
  const why = message === '' ? '' : ` (${message})`
  return new FoghornError(code, `the API server answered ${status} to ${what}${why}`)
}
