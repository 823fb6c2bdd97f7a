// One call of Slack's Web API. It answers nearly everything with 200: see `ok` and `error`.

import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import {
  describeChain,
  fromError,
  fromStatus,
  type Outgoing,
  oneLine,
  post,
  type Answer as Said,
  type Send,
  type Undelivered,
} from '../notifier.ts'
import { explainCode } from './codes.ts'
import type { Bot } from './schema.ts'

export type Method = 'chat.postMessage' | 'chat.update' | 'chat.delete'

export type Answer =
  | { outcome: 'done'; channel: string; ts: string }
  | { outcome: 'refused'; note: string; code: string; broken?: true }
  | Extract<SendOutcome, { outcome: 'retry' }>

/** Slack repeats the whole message, possibly with every letter escaped. 50 blocks fit. */
const maxAnswerBytes = 256 * 1024

/**
 * Temporary errors; https://docs.slack.dev/reference/methods/chat.postMessage and chat.update. A
 * workspace or channel that moves to an organisation accepts messages again afterwards.
 */
const temporary = [
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'update_failed',
  'team_added_to_org',
  'org_login_required',
  'external_channel_migrating',
]

/** Every message would fail: a person has to fix the bot, its token or the channel. */
const broken = [
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'missing_scope',
  'no_permission',
  'not_allowed_token_type',
  'access_denied',
  'ekm_access_denied',
  'team_access_not_granted',
  'two_factor_setup_required',
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'is_inactive',
  'restricted_action',
]

/** Characters of a code, such as `channel_not_found`, and of the scopes that Slack needs. */
const maxCode = 200

const said = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), channel: z.string().min(1), ts: z.string().min(1) }),
  z.object({
    ok: z.literal(false),
    error: z.string().max(maxCode),
    needed: z.string().max(maxCode).optional(),
  }),
])

/** Never throws, and never follows a redirect. */
export async function callSlack(
  send: Send,
  { endpoint, token }: Pick<Bot, 'endpoint' | 'token'>,
  method: Method,
  body: object,
  { signal, now, delivery }: Pick<Outgoing, 'signal' | 'now'> & Partial<Pick<Outgoing, 'delivery'>>,
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    authorization: `Bearer ${token}`,
  }
  const url = `${endpoint}/${method}`
  try {
    // A worker that slept past its lease must not send.
    signal.throwIfAborted()
    return judge(await post(send, url, JSON.stringify(body), headers, signal, maxAnswerBytes), now)
  } catch (error) {
    return coded(fromError(error, { signal, ...(delivery && { delivery }) }))
  }
}

/**
 * A 200 that cannot be read broke off or comes from a proxy. The message may have been posted, so
 * it is refused: every further attempt might post it again.
 */
function judge(answer: Said, now: number): Answer {
  if (answer.status !== 200) return coded(fromStatus(answer, now))
  const parsed = said.safeParse(parseJson(answer.text))
  if (!parsed.success) {
    const note = `HTTP 200, but the answer is not from Slack${describeChain(answer)}`
    return coded({ ...fromStatus(answer, now), note })
  }
  if (parsed.data.ok) return { outcome: 'done', channel: parsed.data.channel, ts: parsed.data.ts }
  const { error, needed } = parsed.data
  const why = explainCode(error)
  const note = oneLine(needed === undefined ? why : `${why} (needed: ${needed})`)
  if (!temporary.includes(error)) {
    return {
      outcome: 'refused',
      note,
      code: error,
      ...(broken.includes(error) && { broken: true }),
    }
  }
  return coded({ ...fromStatus({ ...answer, status: 429 }, now), note })
}

function coded(outcome: Undelivered): Answer {
  return outcome.outcome === 'retry' ? outcome : { ...outcome, code: '' }
}
