// Slack incoming webhooks, through Slack's own library. It drops the status and Retry-After of an
// error, and sends a redirect mode that some runtimes reject: the fetch it is given mends both.
import { IncomingWebhook } from '@slack/webhook'
import type { ChannelOf } from '../config.ts'
import { fromError, fromStatus, type Notifier, type Outgoing, readStart } from './notifier.ts'
import { slackBlocks } from './slack-blocks.ts'

export const slack: Notifier<ChannelOf<'slack'>> = {
  keepsEveryStep: false,
  async notify(outgoing, channel, send) {
    let answer = { status: 0, text: '', retryAfter: null as string | null }
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      const response = await send(channel.url, {
        ...init,
        redirect: 'manual',
        signal: outgoing.signal,
      })
      const text = await readStart(response)
      const { status, headers } = response
      answer = { status, text, retryAfter: headers.get('retry-after') }
      // the library reads the body again, and only asks whether the status is a success
      return new Response(text === '' ? null : text, { status: status === 200 ? 200 : 400 })
    }
    try {
      await new IncomingWebhook(channel.url, { fetch }).send(slackBlocks(outgoing))
    } catch (error) {
      if (answer.status === 0) return fromError(error, outgoing.signal)
    }
    return judge(answer, outgoing)
  },
}

function judge(
  answer: { status: number; text: string; retryAfter: string | null },
  { now }: Outgoing,
) {
  if (answer.status !== 200) return fromStatus(answer, now)
  if (answer.text.trim() === 'ok') return { outcome: 'delivered', note: 'ok' } as const
  const limited = answer.text.includes('rate_limited') || answer.text.includes('ratelimited')
  return fromStatus({ ...answer, status: limited ? 429 : 400 }, now)
}
