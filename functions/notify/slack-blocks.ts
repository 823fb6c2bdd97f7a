// A message as Slack's blocks. Names come from outside: `&`, `<` and `>` are escaped everywhere.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../shared/document.ts'
import { buttonOf, composeList, listButtonOf, type Message } from '../core/message.ts'
import type { Outgoing, Part } from './notifier.ts'

/**
 * In characters; api.slack.com/reference/block-kit/blocks. Slack takes 3 000 in a section and 2 000 in
 * a field, but about 13 000 in all blocks together: fields and items are cut so that these are kept.
 */
const limit = {
  header: 150,
  section: 3_000,
  field: 800,
  fields: 10,
  beside: 60,
  context: 600,
  text: 3_000,
  item: 500,
  reply: 1_000,
  lines: 300,
}

/** Verbatim: Slack makes no links and mentions of what merely looks like one. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

const marks = { info: '🔵', warning: '🟠', danger: '🔴', good: '🟢' }

export function slackBlocks(outgoing: Outgoing): IncomingWebhookSendArguments {
  const { also, listUrl, ...first } = outgoing
  return also.length === 0 ? single(first) : list([first, ...also], listUrl)
}

/** The question and its button first, then what one may want to look up. */
function single({ message, pageUrl }: Part): IncomingWebhookSendArguments {
  const title = `${marks[message.tone]} ${message.title}`
  return {
    text: shorten([title, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(title),
      section(message.lines.join('\n')),
      ...(pageUrl === undefined
        ? []
        : [{ type: 'actions' as const, elements: [buttonTo(pageUrl, message)] }]),
      ...facts(message),
      context(message.reference),
    ],
  }
}

/** Short ones side by side, each long one across the message. */
function facts({ facts: all }: Message) {
  const isShort = ({ value }: Message['facts'][number]) => value.length <= limit.beside
  const texts = (some: Message['facts']) =>
    some.map(({ name, value }) => `*${name}*\n${shorten(value, limit.field - name.length - 3)}`)
  const fields = texts(all.filter(isShort).slice(0, limit.fields))
  const across = texts(all.filter((fact) => !isShort(fact)).slice(0, limit.fields))
  const asText = (text: string) => ({ ...mrkdwn, text })
  return [
    ...(fields.length === 0 ? [] : [{ type: 'section' as const, fields: fields.map(asText) }]),
    ...across.map((text) => ({ type: 'section' as const, text: asText(text) })),
  ]
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

/** Several events in one message, each with its own button, and one for all. */
function list(parts: Part[], listUrl: string | undefined): IncomingWebhookSendArguments {
  const messages = parts.map(({ message }) => message)
  const { title, lines, tone } = composeList(messages)
  const asks = messages.some((message) => message.asks)
  const heading = `${marks[tone]} ${title}`
  const titles = parts.map(({ message }) => `• ${message.title}`)
  return {
    text: shorten([heading, ...titles].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(heading),
      section(lines.join('\n')),
      ...(listUrl === undefined
        ? []
        : [
            { type: 'actions' as const, elements: [button(listUrl, listButtonOf(messages), asks)] },
          ]),
      ...parts.map(item),
    ],
  }
}

function item({ message, pageUrl }: Part) {
  // a star of its own would end the bold type
  const title = cut(message.title, limit.item / 2).replaceAll('*', '∗')
  const lines = cut(message.lines.join(' '), limit.lines)
  const text = `${marks[message.tone]} *${title}*\n${lines} ${message.reference}`
  const block = section(text, limit.item)
  return pageUrl === undefined ? block : { ...block, accessory: buttonTo(pageUrl, message) }
}

function header(text: string) {
  const cutText = cut(text, limit.header)
  return {
    type: 'header' as const,
    text: { type: 'plain_text' as const, text: cutText, emoji: true },
  }
}

function section(text: string, length = limit.section) {
  return { type: 'section' as const, text: { ...mrkdwn, text: shorten(text, length) } }
}

function context(text: string) {
  const element = { ...mrkdwn, text: shorten(text, limit.context) }
  return { type: 'context' as const, elements: [element] }
}

function buttonTo(url: string, message: Message) {
  return button(url, buttonOf(message), message.asks)
}

function button(url: string, text: string, asks: boolean) {
  return {
    type: 'button' as const,
    action_id: 'open',
    text: { type: 'plain_text' as const, text },
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
