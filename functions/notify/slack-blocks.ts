// A message as Slack's blocks. Names come from outside: `&`, `<` and `>` are escaped everywhere.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../shared/document.ts'
import { composeList, whichEvent } from '../core/message.ts'
import type { Outgoing, Part } from './notifier.ts'

/**
 * Slack's limits, in characters; api.slack.com/reference/block-kit/blocks. All blocks of a message may
 * hold about 13 000, which is what a part of a list is cut for.
 */
const limit = {
  header: 150,
  section: 3_000,
  field: 2_000,
  fields: 10,
  text: 3_000,
  item: 500,
  reply: 1_000,
  lines: 300,
}

/** Verbatim: Slack makes no links and mentions of what merely looks like one. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

const marks = { info: '🔵', warning: '🟠', danger: '🔴', good: '🟢' }

export function slackBlocks(outgoing: Outgoing): IncomingWebhookSendArguments {
  const { also, ...first } = outgoing
  return also.length === 0 ? single(first) : list([first, ...also])
}

function single({ message, pageUrl }: Part): IncomingWebhookSendArguments {
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
      header(title),
      { type: 'section', text: { ...mrkdwn, text } },
      { type: 'section', fields },
      ...(pageUrl === undefined
        ? []
        : [{ type: 'actions' as const, elements: [button(pageUrl, message.asks)] }]),
    ],
  }
}

/** A step of the course, for the thread below what stands there of the event. */
export function slackReply({ message }: Part): IncomingWebhookSendArguments {
  const heading = `${marks[message.tone]} ${message.title}`
  const title = cut(message.title, limit.item / 2).replaceAll('*', '∗')
  const lines = message.lines.join('\n')
  const text = shorten(`${marks[message.tone]} *${title}*\n${lines}`, limit.reply)
  return {
    text: shorten([heading, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [{ type: 'section', text: { ...mrkdwn, text } }],
  }
}

/** Several events in one message, each with its own button. */
function list(parts: Part[]): IncomingWebhookSendArguments {
  const { title, lines, tone } = composeList(parts.map(({ message }) => message))
  const heading = `${marks[tone]} ${title}`
  const titles = parts.map(({ message }) => `• ${message.title}`)
  return {
    text: shorten([heading, ...titles].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(heading),
      { type: 'section', text: { ...mrkdwn, text: shorten(lines.join('\n'), limit.section) } },
      ...parts.map(item),
    ],
  }
}

function item({ message, pageUrl, delivery }: Part) {
  // a star of its own would end the bold type
  const title = cut(message.title, limit.item / 2).replaceAll('*', '∗')
  const lines = `${cut(message.lines.join(' '), limit.lines)} ${whichEvent(delivery)}`
  const text = shorten(`${marks[message.tone]} *${title}*\n${lines}`, limit.item)
  const section = { type: 'section' as const, text: { ...mrkdwn, text } }
  return pageUrl === undefined ? section : { ...section, accessory: button(pageUrl, message.asks) }
}

function header(text: string) {
  const cutText = cut(text, limit.header)
  return {
    type: 'header' as const,
    text: { type: 'plain_text' as const, text: cutText, emoji: true },
  }
}

function button(url: string, asks: boolean) {
  return {
    type: 'button' as const,
    action_id: 'open',
    text: { type: 'plain_text' as const, text: asks ? 'Decide' : 'Show event' },
    url,
    ...(asks ? { style: 'primary' as const } : {}),
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
