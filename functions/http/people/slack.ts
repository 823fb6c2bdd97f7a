// `POST /slack/interactions`: buttons pressed in Slack. Slack wants an answer within 3 s, so the
// request waits for the decision for 2 s at most. The reply goes to the address in the press.
import type { Context } from 'hono'
import * as z from 'zod'
import { messageOf } from '../../../shared/errors.ts'
import { within } from '../../../shared/within.ts'
import type { SlackPress } from '../../notify/presses.ts'
import { decidePress } from '../../use-cases/decide-event.ts'
import type { FrequentLog } from '../../use-cases/frequent-log.ts'
import { channelNamed, type Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import { route } from '../route.ts'

export const interactionsPath = '/slack/interactions'

/** The payload repeats the message, with up to 13 000 characters of text. */
const maxPayloadBytes = 64 * 1024

interface Patience {
  /** Slack shows an error after 3 s, of which the host may need a part. */
  answerMs: number
  /** Time for each attempt to reply to the person. */
  replyMs: number
}

const usual: Patience = { answerMs: 2_000, replyMs: 5_000 }

export const pressRoute = route({
  method: 'post',
  path: interactionsPath,
  name: 'slackInteraction',
  summary: 'Slack says that a button was pressed.',
  group: 'Decisions',
  caller: 'service',
  sender: {
    scheme: {
      name: 'slackSignature',
      value: { type: 'apiKey', in: 'header', name: 'x-slack-signature' },
    },
    refuse: refusePress,
  },
  body: {
    schema: z.object({ payload: z.string() }),
    type: 'application/x-www-form-urlencoded',
    maxBytes: maxPayloadBytes,
  },
  answers: { 200: { about: 'Read. The reply to the person goes to Slack.' } },
  problems: [404],
  handler:
    ({ relay, refusals }) =>
    (c) =>
      answerPress(relay, refusals, c),
})

export async function answerPress(
  relay: Relay,
  refusals: FrequentLog,
  c: Context,
  patience = usual,
): Promise<Response> {
  const read = await readPress(relay, refusals, c)
  if (read instanceof Response) return read
  if (read.outcome === 'acknowledged') {
    relay.log.debug('slack_acknowledged', { note: read.note })
    return c.body(null, 200)
  }
  await within(patience.answerMs, serve(relay, read.press, patience))
  return c.body(null, 200)
}

type PressParts = Pick<Relay, 'config' | 'presses' | 'now'>

/** What Slack sent, or the answer if the relay refuses it. */
async function readPress(relay: PressParts, refusals: FrequentLog, c: Context) {
  const { slackApp } = relay.config
  if (slackApp === undefined) {
    const detail = 'the configuration has no "slackApp"; docs/deciding.md says how to add it'
    return problem(c, 404, 'not_found', detail)
  }
  const body = await c.req.text()
  const header = (name: string) => c.req.header(name)
  const read = await relay.presses.slack.read(header, body, slackApp.signingSecret, relay.now())
  if (read.outcome !== 'refused') return read
  const { status, code, detail } = read
  refusals.note('slack_refused', { status, code, detail }, code)
  return problem(c, status, code, detail)
}

/** The answer to a press that the relay refuses, or undefined. */
async function refusePress(relay: PressParts, refusals: FrequentLog, c: Context) {
  const read = await readPress(relay, refusals, c)
  return read instanceof Response ? read : undefined
}

/** Decides and replies. Never throws: the request may already be answered. */
async function serve(relay: Relay, press: SlackPress, { replyMs }: Patience): Promise<void> {
  const { reply, channel } = await decidePress(relay, press)
  if (reply === undefined) return
  try {
    const configured = channel === undefined ? undefined : channelNamed(relay, channel)
    const to = { replyUrl: press.replyUrl, own: configured?.url ?? configured?.endpoint }
    const times = { now: relay.now(), attemptMs: replyMs }
    const { outcome, note } = await relay.presses.slack.reply(relay.sending.send, to, reply, times)
    if (outcome !== 'delivered') relay.log.warn('slack_reply_failed', { note })
  } catch (error) {
    relay.log.error('slack_reply_failed', { error: messageOf(error) })
  }
}
