// One call of Slack's Web API. It answers 200 to nearly everything: what counts is `ok`, and the code in `error`.

import { z } from 'zod'
import { parseJson } from '../../shared/json.ts'
import type { SendOutcome } from '../core/attempt.ts'
import { fromError, fromStatus, type Outgoing, readStart, type Send } from './notifier.ts'
import type { Bot } from './slack-schema.ts'

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
  const init: RequestInit = { method: 'POST', headers, signal, redirect: 'manual' }
  try {
    // whoever slept until its time was over sends nothing more
    signal.throwIfAborted()
    const response = await send(`${endpoint}/${method}`, { ...init, body: JSON.stringify(body) })
    const text = await readStart(response, response.status === 200 ? maxAnswerBytes : undefined)
    const retryAfter = response.headers.get('retry-after')
    return judge({ status: response.status, text, retryAfter }, now)
  } catch (error) {
    return coded(fromError(error, signal))
  }
}

function judge(
  answer: { status: number; text: string; retryAfter: string | null },
  now: number,
): Answer {
  const parsed = said.safeParse(answer.status === 200 ? parseJson(answer.text) : undefined)
  // a 200 that is not Slack's comes from something in between
  if (!parsed.success) return coded(fromStatus(answer, now))
  if (parsed.data.ok) return { outcome: 'done', channel: parsed.data.channel, ts: parsed.data.ts }
  const { error, needed } = parsed.data
  const note = needed === undefined ? error : `${error} (needed: ${needed})`
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
