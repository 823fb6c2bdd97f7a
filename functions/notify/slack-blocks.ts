// A message as Slack's blocks. Names come from outside: `&`, `<` and `>` are escaped everywhere.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../shared/document.ts'
import type { Outgoing } from './notifier.ts'

/** Slack's limits, in characters; api.slack.com/reference/block-kit/blocks. */
const limit = { header: 150, section: 3_000, field: 2_000, fields: 10, text: 3_000 }

/** Verbatim: Slack makes no links and mentions of what merely looks like one. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

const marks = { info: '🔵', warning: '🟠', danger: '🔴', good: '🟢' }

export function slackBlocks({ message, pageUrl }: Outgoing): IncomingWebhookSendArguments {
  const title = `${marks[message.tone]} ${message.title}`
  const fields = message.facts.slice(0, limit.fields).map(({ name, value }) => ({
    ...mrkdwn,
    text: `*${name}*\n${shorten(value, limit.field - name.length - 3)}`,
  }))
  const text = shorten(message.lines.join('\n'), limit.section)
  return {
    text: shorten([title, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: cut(title, limit.header), emoji: true },
      },
      { type: 'section', text: { ...mrkdwn, text } },
      { type: 'section', fields },
      ...(pageUrl === undefined ? [] : [button(pageUrl, message.asks)]),
    ],
  }
}

function button(url: string, asks: boolean) {
  return {
    type: 'actions' as const,
    elements: [
      {
        type: 'button' as const,
        action_id: 'open',
        text: { type: 'plain_text' as const, text: asks ? 'Decide' : 'Show event' },
        url,
        ...(asks ? { style: 'primary' as const } : {}),
      },
    ],
  }
}

/** Escaped, and cut so that the escaped text keeps the limit. */
function shorten(text: string, length: number): string {
  const escaped = escapeText(text)
  if (escaped.length <= length) return escaped
  let room = length
  let kept = text
  while (escapeText(kept).length > length) {
    room = Math.floor(room * 0.9)
    kept = cut(text, room)
  }
  return escapeText(kept)
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
