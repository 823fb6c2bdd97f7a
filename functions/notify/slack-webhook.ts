// Slack incoming webhooks, through Slack's own library. It drops the status, the Retry-After and the
// cause of an error, and sends a redirect mode that some runtimes reject: the fetch it is given mends it.
import { IncomingWebhook } from '@slack/webhook'
import type { SendOutcome } from '../core/attempt.ts'
import { fromError, fromStatus, type Notifier, type Outgoing, readStart } from './notifier.ts'
import { slackBlocks } from './slack-blocks.ts'
import type { Incoming } from './slack-schema.ts'

export const slackWebhook: Notifier<Incoming> = {
  overtakes: () => true,
  // about one message a second and webhook; with a second one at once, a decision by policy comes with
  // its event. A list of this many keeps the limits of blocks and characters.
  rate: { everyMs: 1_000, burst: 2, together: 20, atOnce: 4 },
  opensIncidents: false,
  async notify(outgoing, channel, send) {
    let outcome: SendOutcome | undefined
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      const { signal } = outgoing
      try {
        const response = await send(channel.url, { ...init, redirect: 'manual', signal })
        const text = await readStart(response)
        const { status, headers } = response
        outcome = judge({ status, text, retryAfter: headers.get('retry-after') }, outgoing)
      } catch (error) {
        outcome = fromError(error, signal)
      }
      // what the library makes of an answer says less than the answer
      return new Response('ok')
    }
    await new IncomingWebhook(channel.url, { fetch }).send(slackBlocks(outgoing))
    return outcome ?? { outcome: 'retry', note: 'no answer' }
  },
}

function judge(
  answer: { status: number; text: string; retryAfter: string | null },
  { now }: Outgoing,
): SendOutcome {
  if (answer.status !== 200) return fromStatus(answer, now)
  if (answer.text.trim() === 'ok') return { outcome: 'delivered', note: 'ok' }
  const limited = answer.text.includes('rate_limited') || answer.text.includes('ratelimited')
  return fromStatus({ ...answer, status: limited ? 429 : 400 }, now)
}
