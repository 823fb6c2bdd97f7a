// One call of Slack's Web API. It answers 200 to nearly everything: what counts is `ok`, and the code in `error`.

import { z } from 'zod'
import { parseJson } from '../../../shared/json.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import {
  fromError,
  fromStatus,
  type Outgoing,
  oneLine,
  post,
  type Answer as Said,
  type Send,
  wordsOf,
} from '../notifier.ts'
import type { Bot } from './schema.ts'

export type Method = 'chat.postMessage' | 'chat.update' | 'chat.delete'

export type Answer =
  | { outcome: 'done'; channel: string; ts: string }
  | { outcome: 'refused'; note: string; code: string; broken?: true }
  | Extract<SendOutcome, { outcome: 'retry' }>

/** Slack repeats the whole message, each letter of which may be escaped: 50 blocks are less than this. */
const maxAnswerBytes = 256 * 1024

/**
 * Codes that pass; https://docs.slack.dev/reference/methods/chat.postMessage and chat.update. A workspace
 * or channel that is being moved to an organisation takes messages again when that is done.
 */
const passing = [
  ...['ratelimited', 'rate_limited', 'message_limit_exceeded'],
  ...['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'update_failed'],
  ...['team_added_to_org', 'org_login_required', 'external_channel_migrating'],
]

/** Codes that every message would meet: the bot, its token or the channel has to be mended. */
const broken = [
  ...['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired'],
  ...['missing_scope', 'no_permission', 'not_allowed_token_type'],
  ...['access_denied', 'ekm_access_denied', 'team_access_not_granted', 'two_factor_setup_required'],
  ...['channel_not_found', 'not_in_channel', 'is_archived', 'is_inactive', 'restricted_action'],
]

const said = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), channel: z.string().min(1), ts: z.string().min(1) }),
  z.object({ ok: z.literal(false), error: z.string(), needed: z.string().optional() }),
])

/** Never throws, and never follows a redirect. */
export async function callSlack(
  send: Send,
  { endpoint, token }: Pick<Bot, 'endpoint' | 'token'>,
  method: Method,
  body: object,
  { signal, now }: Pick<Outgoing, 'signal' | 'now'>,
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    authorization: `Bearer ${token}`,
  }
  const url = `${endpoint}/${method}`
  try {
    // whoever slept until its time was over sends nothing more
    signal.throwIfAborted()
    return judge(await post(send, url, JSON.stringify(body), headers, signal, maxAnswerBytes), now)
  } catch (error) {
    return coded(fromError(error, signal))
  }
}

/**
 * A 200 that can't be read broke off or comes from something in between; whether a message stands there, and where,
 * nobody knows. It is refused: another attempt might post it once more, and so might each one after that.
 */
function judge(answer: Said, now: number): Answer {
  if (answer.status !== 200) return coded(fromStatus(answer, now))
  const parsed = said.safeParse(parseJson(answer.text))
  if (!parsed.success) {
    const note = `HTTP 200, but no answer of Slack's${wordsOf(answer)}`
    return coded({ ...fromStatus(answer, now), note })
  }
  if (parsed.data.ok) return { outcome: 'done', channel: parsed.data.channel, ts: parsed.data.ts }
  const { error, needed } = parsed.data
  const note = oneLine(needed === undefined ? error : `${error} (needed: ${needed})`)
  if (!passing.includes(error)) {
    return {
      outcome: 'refused',
      note,
      code: error,
      ...(broken.includes(error) && { broken: true }),
    }
  }
  return coded({ ...fromStatus({ ...answer, status: 429 }, now), note })
}

/** What is known to be no success, as an answer. */
function coded(outcome: SendOutcome): Answer {
  if (outcome.outcome === 'retry') return outcome
  const isBroken = outcome.outcome === 'refused' && outcome.broken
  return { outcome: 'refused', note: outcome.note, code: '', ...(isBroken && { broken: true }) }
}
