// Teams by workflow webhook. 202 means that the flow queued the message. If the flow ends with a "Response"
// action, its owner chose the status and the text.
import {
  describeChain,
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  post,
  withLastingTitles,
} from '../notifier.ts'
import { fittingBody } from './card.ts'
import type { Workflow } from './schema.ts'

export const teamsWebhook: Notifier<Workflow> = {
  takes: 'newest',
  // Teams accepts about 4 messages a second. A card has room for 15 events.
  rate: { everyMs: 250, burst: 2, together: 15, atOnce: 4 },
  buttons: undefined,
  async notify(outgoing, channel, send) {
    // without a bot, nobody would receive a press
    const { buttons: _, ...linked } = outgoing
    const { now, signal } = linked
    const body = fittingBody(withLastingTitles(linked))
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (!isSuccess(answer.status) || isWebPage(answer)) return fromStatus(answer, now)
      const status = errorIn(answer.text)
      if (status === undefined) {
        return { outcome: 'delivered', note: answer.status === 202 ? 'queued' : 'ok' }
      }
      const note = `HTTP ${answer.status}${describeChain(answer)}`
      return { ...fromStatus({ ...answer, status }, now), note }
    } catch (error) {
      return fromError(error, outgoing)
    }
  },
}

/**
 * The status of an error that the text of a 2xx reports, as connectors do: "Webhook message delivery
 * failed with error: Microsoft Teams endpoint returned HTTP error 429". 400 if it has no number.
 */
function errorIn(answer: string): number | undefined {
  // `"error": null` and `0 failed` say that there was none
  const text = answer.replaceAll(/"\w+"\s*:\s*(?:null|false|0|""|\[\])|\b(?:0|no)\s+\w+/gi, '')
  if (!/\b(error|failed|failure|exception)\b/i.test(text)) return undefined
  return Number(/\b[45]\d\d\b/.exec(text)?.[0] ?? 400)
}
