// Microsoft Teams by workflow webhook: one Adaptive Card 1.4. 202 means queued by the flow.
import { cut } from '../../shared/document.ts'
import type { ChannelOf } from '../config.ts'
import type { Message } from '../core/message.ts'
import { fromError, fromStatus, type Notifier, post } from './notifier.ts'

/** About 21 KB are accepted in practice; cards are kept below. */
const maxBodyBytes = 20 * 1024
const colors = { info: 'Accent', warning: 'Warning', danger: 'Attention', good: 'Good' }

export const teams: Notifier<ChannelOf<'teams'>> = {
  keepsEveryStep: false,
  opensIncidents: false,
  async notify({ message, pageUrl, now, signal }, channel, send) {
    const body = shorten(message, pageUrl)
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (answer.status === 202) return { outcome: 'delivered', note: 'queued' }
      if (answer.status === 200) return { outcome: 'delivered', note: 'ok' }
      return fromStatus(answer, now)
    } catch (error) {
      return fromError(error, signal)
    }
  },
}

/** Values are cut harder until the serialised body fits. */
function shorten(message: Message, pageUrl: string | undefined): string {
  for (let length = 2_000; length > 20; length = Math.floor(length / 2)) {
    const body = JSON.stringify(envelope(message, pageUrl, length))
    if (new TextEncoder().encode(body).length <= maxBodyBytes) return body
  }
  return JSON.stringify(envelope({ ...message, facts: [] }, pageUrl, 20))
}

function envelope(message: Message, pageUrl: string | undefined, length: number) {
  const plain = (text: string) => escapeMarkdown(cut(text, length))
  const paragraph = (text: string) => ({ type: 'TextBlock', text: plain(text), wrap: true })
  const facts = message.facts.map(({ name, value }) => ({ title: name, value: plain(value) }))
  const title = message.asks ? 'Decide' : 'Show event'
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            {
              ...paragraph(message.title),
              size: 'Large',
              weight: 'Bolder',
              color: colors[message.tone],
            },
            ...message.lines.map(paragraph),
            { type: 'FactSet', facts },
          ],
          actions: pageUrl === undefined ? [] : [{ type: 'Action.OpenUrl', title, url: pageUrl }],
          msteams: { width: 'full' },
        },
      },
    ],
  }
}

/** Cards read markdown, and names come from outside. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]()#~<>|]/g, '\\$&')
}
