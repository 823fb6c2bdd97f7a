// Slack incoming webhooks, through Slack's own library. We give it our own fetch, which uses the
// guarded `send`, follows no redirect, and keeps what the library drops: Retry-After, and whether
// the text broke off.
import {
  type FetchFunction,
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
} from '@slack/webhook'
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import {
  type Answer,
  describeChain,
  fromError,
  fromStatus,
  isSuccess,
  type Notifier,
  post,
  withLastingTitles,
} from '../notifier.ts'
import { slackBlocks } from './blocks.ts'
import { buttons } from './buttons.ts'
import { explainCode } from './codes.ts'
import type { Incoming } from './schema.ts'

/** The only text of a success: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
const success = 'ok'

/** Errors on that page that every message would get, whatever their status. */
const broken = [
  'invalid_token',
  'no_service',
  'no_service_id',
  'no_active_hooks',
  'no_team',
  'team_disabled',
  'action_prohibited',
  'posting_to_general_channel_denied',
  'channel_not_found',
  'channel_is_archived',
  'user_not_found',
]

const limited = ['rate_limited', 'ratelimited']

export const slackWebhook: Notifier<Incoming> = {
  takes: 'newest',
  // Slack accepts about one message a second and webhook. A burst of 2 lets an event and its
  // approval by a rule arrive together. A list of 20 stays within the limits of blocks and
  // characters.
  rate: { everyMs: 1_000, burst: 2, together: 20, atOnce: 4 },
  buttons: { ...buttons, isEdited: false },
  async notify(outgoing, { url }, send) {
    const { now, signal } = outgoing
    let answer: Answer | undefined
    const fetch: FetchFunction = async (to, { body, headers = {} } = {}) => {
      answer = await post(send, String(to), String(body), headers, signal)
      return judgeResponse(answer)
    }
    try {
      const { text } = await new IncomingWebhook(url, { fetch }).send(
        slackBlocks(withLastingTitles(outgoing)),
      )
      return judge({ ...answer!, text }, now)
    } catch (error) {
      if (error instanceof IncomingWebhookHTTPError) {
        return judge({ ...answer!, status: error.statusCode, text: error.body }, now)
      }
      // The library's own code would hide the reason, such as a forbidden address.
      return fromError(
        error instanceof IncomingWebhookRequestError ? error.original : error,
        outgoing,
      )
    }
  },
}

/**
 * What the library reads. A real `Response` cannot have a status above 599, which some servers
 * send.
 */
function judgeResponse({ status, text }: Answer) {
  const ok = isSuccess(status)
  return { ok, status, statusText: '', text: async () => text } as Response
}

function judge(answer: Answer, now: number): SendOutcome {
  const { status } = answer
  if (status === 200 && isSent(answer)) return { outcome: 'delivered', note: success }
  const code = codeIn(answer.text)
  const judged = fromStatus(limited.includes(code) ? { ...answer, status: 429 } : answer, now)
  const said = explainCode(code) === code ? answer : { ...answer, text: explainCode(code) }
  const note = `HTTP ${status}${status === 200 ? `, but not "${success}"` : ''}${describeChain(said)}`
  return broken.includes(code) ? { outcome: 'refused', note, broken: true } : { ...judged, note }
}

/** A 200 that broke off counts if its text could be the beginning of "ok". */
function isSent({ text, end }: Answer): boolean {
  return end === 'broke_off' ? success.startsWith(text.trim()) : text.trim() === success
}

const said = z.object({ error: z.string() })

/** One word, or JSON as in the Web API. */
function codeIn(text: string): string {
  const { data } = said.safeParse(parseJson(text))
  return data?.error ?? text.trim()
}
