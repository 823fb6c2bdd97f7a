// Slack incoming webhooks, through Slack's own library. Its fetch is ours: it uses the guarded send,
// never follows a redirect, and keeps what the library does not report: Retry-After, and whether the
// text broke off.
import {
  type FetchFunction,
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
} from '@slack/webhook'
import { z } from 'zod'
import { parseJson } from '../../../shared/json.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isSuccess,
  type Notifier,
  post,
  wordsOf,
} from '../notifier.ts'
import { buttonSupport, slackBlocks } from './blocks.ts'
import type { Incoming } from './schema.ts'

/** Nothing else says that it was taken: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
const success = 'ok'

/** That page's words for what any message would meet, whichever status they come with. */
const broken = [
  ...['invalid_token', 'no_service', 'no_service_id', 'no_active_hooks', 'no_team'],
  ...['team_disabled', 'action_prohibited', 'posting_to_general_channel_denied'],
  ...['channel_not_found', 'channel_is_archived', 'user_not_found'],
]

const limited = ['rate_limited', 'ratelimited']

export const slackWebhook: Notifier<Incoming> = {
  overtakes: () => true,
  // about one message a second and webhook; with a second one at once, a decision by policy comes with
  // its event. A list of this many keeps the limits of blocks and characters.
  rate: { everyMs: 1_000, burst: 2, together: 20, atOnce: 4 },
  opensIncidents: false,
  buttons: { ...buttonSupport, isEdited: false },
  async notify(outgoing, { url }, send) {
    const { now, signal } = outgoing
    let answer: Answer | undefined
    const fetch: FetchFunction = async (to, { body, headers = {} } = {}) => {
      answer = await post(send, String(to), String(body), headers, signal)
      return responseOf(answer)
    }
    try {
      const { text } = await new IncomingWebhook(url, { fetch }).send(slackBlocks(outgoing))
      return judge({ ...answer!, text }, now)
    } catch (error) {
      if (error instanceof IncomingWebhookHTTPError) {
        return judge({ ...answer!, status: error.statusCode, text: error.body }, now)
      }
      // its own code would hide the reason, such as a forbidden address
      return fromError(
        error instanceof IncomingWebhookRequestError ? error.original : error,
        signal,
      )
    }
  },
}

/** What the library reads. A `Response` cannot be made with a status above 599; servers send some. */
function responseOf({ status, text }: Answer) {
  const ok = isSuccess(status)
  return { ok, status, statusText: '', text: async () => text } as Response
}

function judge(answer: Answer, now: number): SendOutcome {
  const { status } = answer
  if (status === 200 && isTaken(answer)) return { outcome: 'delivered', note: success }
  const code = codeIn(answer.text)
  const judged = fromStatus(limited.includes(code) ? { ...answer, status: 429 } : answer, now)
  const note = `HTTP ${status}${status === 200 ? `, but not "${success}"` : ''}${wordsOf(answer)}`
  return broken.includes(code) ? { outcome: 'refused', note, broken: true } : { ...judged, note }
}

/** A 200 that broke off, also before its first letter, is a success where it began to say so. */
function isTaken({ text, end }: Answer): boolean {
  return end === 'broke_off' ? success.startsWith(text.trim()) : text.trim() === success
}

const said = z.object({ error: z.string() })

/** One word, or JSON as of the Web API. */
function codeIn(text: string): string {
  const { data } = said.safeParse(parseJson(text))
  return data?.error ?? text.trim()
}
