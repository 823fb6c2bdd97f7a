// One request to Azure Resource Manager, which also answers queries of Resource Graph.
import * as z from 'zod'
import { parseRetryAfter } from '../../shared/retry.ts'
import type { AzureAccess } from '../core/rules/config.ts'
import type { AzureTokens } from '../notify/notifier.ts'
import type { Fetch } from './tokens.ts'

const timeoutMs = 10_000

export interface Answer {
  status: number
  code: string
  message: string
  body: unknown
  retryAfter: string | null
  /** `name` in lower case. */
  header(name: string): string | null
}

/** Throws if there is no answer. A 401 is repeated once, with a new token. */
export type ArmRequest = (
  method: 'GET' | 'POST',
  path: string,
  version: string,
  body?: object,
) => Promise<Answer>

interface Options {
  access: AzureAccess
  tokens: AzureTokens
  fetch: Fetch
  now: () => number
}

const errorSchema = z.object({
  error: z.object({ code: z.string().default(''), message: z.string().default('') }).optional(),
  Error: z.object({ Code: z.string().default(''), Message: z.string().default('') }).optional(),
})

export function createArmRequest({ access, tokens, fetch, now }: Options): ArmRequest {
  const send = async (
    method: 'GET' | 'POST',
    url: string,
    body: object | undefined,
    isAgain: boolean,
  ): Promise<Response> => {
    const authorization = `Bearer ${await tokens.read(access.resourceManager)}`
    const json = body && { 'content-type': 'application/json' }
    const answer = await fetch(url, {
      method,
      headers: { authorization, ...json },
      ...(body && { body: JSON.stringify(body) }),
      // Cloudflare knows no 'error'; a redirect is no answer
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (answer.status !== 401 || isAgain) return answer
    tokens.drop(access.resourceManager)
    await answer.body?.cancel()
    return send(method, url, body, true)
  }
  return async (method, path, version, given) => {
    const url = `${access.resourceManager}${path}?api-version=${version}`
    const answer = await send(method, url, given, false)
    const body: unknown = await answer.json().catch(() => undefined)
    const { error, Error: other } = errorSchema.safeParse(body).data ?? {}
    const retryMs = parseRetryAfter(answer.headers.get('retry-after') ?? undefined, now())
    return {
      status: answer.status,
      code: error?.code ?? other?.Code ?? '',
      message: error?.message ?? other?.Message ?? '',
      body,
      retryAfter: retryMs === undefined ? null : `${Math.round(retryMs / 1_000)} s`,
      header: (name) => answer.headers.get(name),
    }
  }
}

export function isFine({ status }: Answer): boolean {
  return status >= 200 && status < 300
}
