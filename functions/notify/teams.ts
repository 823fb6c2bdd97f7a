// Microsoft Teams by workflow webhook: one Adaptive Card 1.4. 202 means queued by the flow.
import { cut } from '../../shared/document.ts'
import type { ChannelOf } from '../config.ts'
import { composeList, type Tone, whichEvent } from '../core/message.ts'
import { fromError, fromStatus, type Notifier, type Outgoing, type Part, post } from './notifier.ts'

/** About 21 KB are accepted in practice; cards are kept below. */
const maxBodyBytes = 20 * 1024
const colors = { info: 'Accent', warning: 'Warning', danger: 'Attention', good: 'Good' }

export const teams: Notifier<ChannelOf<'teams'>> = {
  overtakes: () => true,
  // about 4 messages a second; the limit of a card's size holds this many
  rate: { everyMs: 250, burst: 2, together: 15, atOnce: 4 },
  opensIncidents: false,
  async notify(outgoing, channel, send) {
    const { now, signal } = outgoing
    const body = shorten(outgoing)
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
function shorten({ also, ...first }: Outgoing): string {
  const layOut = (length: number) =>
    envelope(also.length === 0 ? single(first, length) : list([first, ...also], length))
  for (let length = 2_000; length > 20; length = Math.floor(length / 2)) {
    const body = JSON.stringify(layOut(length))
    if (new TextEncoder().encode(body).length <= maxBodyBytes) return body
  }
  const bare = { ...first, message: { ...first.message, facts: [] } }
  return JSON.stringify(also.length === 0 ? envelope(single(bare, 20)) : layOut(20))
}

interface Card {
  body: object[]
  actions: object[]
}

function single({ message, pageUrl }: Part, length: number): Card {
  const facts = message.facts.map(({ name, value }) => ({
    title: name,
    value: plain(value, length),
  }))
  const lines = message.lines.map((line) => paragraph(line, length))
  return {
    body: [heading(message.title, message.tone, length), ...lines, { type: 'FactSet', facts }],
    actions: pageUrl === undefined ? [] : [open(pageUrl, message.asks)],
  }
}

/** Several events in one message, each with its own button. */
function list(parts: Part[], length: number): Card {
  const { title, lines, tone } = composeList(parts.map(({ message }) => message))
  const items = parts.map(({ message, pageUrl, delivery }) => ({
    type: 'Container',
    separator: true,
    items: [
      { ...paragraph(message.title, length), weight: 'Bolder', color: colors[message.tone] },
      paragraph(message.lines.join(' '), length),
      paragraph(whichEvent(delivery), length),
      ...(pageUrl === undefined
        ? []
        : [{ type: 'ActionSet', actions: [open(pageUrl, message.asks)] }]),
    ],
  }))
  const above = lines.map((line) => paragraph(line, length))
  return { body: [heading(title, tone, length), ...above, ...items], actions: [] }
}

function plain(text: string, length: number): string {
  return escapeMarkdown(cut(text, length))
}

function paragraph(text: string, length: number) {
  return { type: 'TextBlock', text: plain(text, length), wrap: true }
}

function heading(text: string, tone: Tone, length: number) {
  return { ...paragraph(text, length), size: 'Large', weight: 'Bolder', color: colors[tone] }
}

function open(url: string, asks: boolean) {
  return { type: 'Action.OpenUrl', title: asks ? 'Decide' : 'Show event', url }
}

function envelope(card: Card) {
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
          ...card,
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
