// One request to Azure Resource Manager, which also answers queries of Resource Graph. What comes back is
// read up to a limit, and its sentences are cut, made one line, and masked: logs,
// pages and messages show them.
import * as z from 'zod'
import { FoghornError } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import { maskTokens } from '../../shared/mask.ts'
import { parseRetryAfter } from '../../shared/retry.ts'
import { cut } from '../../shared/text.ts'
import type { AzureAccess } from '../core/rules/config.ts'
import { addressBelow } from '../core/rules/path.ts'
import { type AzureTokens, describeCode, oneLine, readStart } from '../notify/notifier.ts'
import type { Fetch } from './tokens.ts'

const timeoutMs = 10_000
/** A page of Resource Graph has 1,000 rows. */
const maxAnswerBytes = 16 * 1_048_576
const maxSentence = 300

export interface Answer {
  status: number
  /** One line each. */
  code: string
  message: string
  body: unknown
  /** Absent: Azure asks for no pause. */
  retryAfterMs?: number
  /** `name` in lower case. */
  header(name: string): string | null
}

/**
 * `path`: the parts of the address. Throws FoghornError `azure_no_answer`, `azure_token_missing` and
 * `path_invalid`. A 401 is repeated once, with a new token.
 */
export type ArmRequest = (
  method: 'GET' | 'POST',
  path: readonly string[],
  version: string,
  body?: object,
) => Promise<Answer>

interface Options {
  access: AzureAccess
  tokens: AzureTokens
  fetch: Fetch
  now: () => number
}

const sentence = z
  .string()
  .transform((text) => cut(maskTokens(oneLine(cut(text, 4 * maxSentence))), maxSentence))
  .default('')
const errorSchema = z.object({
  error: z.object({ code: sentence, message: sentence }).optional(),
  Error: z.object({ Code: sentence, Message: sentence }).optional(),
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
    }).catch(withoutAnswer)
    if (answer.status !== 401 || isAgain) return answer
    tokens.drop(access.resourceManager)
    await answer.body?.cancel()
    return send(method, url, body, true)
  }
  return async (method, path, version, given) => {
    const url = `${addressBelow(access.resourceManager, path)}?api-version=${version}`
    const answer = await send(method, url, given, false)
    const { text, end } = await readStart(answer, maxAnswerBytes)
    const body = end === 'read' ? parseJson(text) : undefined
    const { error, Error: other } = errorSchema.safeParse(body).data ?? {}
    const retryMs = parseRetryAfter(answer.headers.get('retry-after') ?? undefined, now())
    return {
      status: answer.status,
      code: error?.code ?? other?.Code ?? '',
      message: error?.message ?? other?.Message ?? '',
      body,
      ...(retryMs !== undefined && { retryAfterMs: retryMs }),
      header: (name) => answer.headers.get(name),
    }
  }
}

/** The sentence of a runtime may repeat the request, with its token. */
function withoutAnswer(error: unknown): never {
  throw new FoghornError('azure_no_answer', `Azure did not answer: ${describeCode(error)}`)
}

export function isFine({ status }: Answer): boolean {
  return status >= 200 && status < 300
}
