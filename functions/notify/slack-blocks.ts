// A message as Slack's blocks. Names come from outside: `&`, `<` and `>` are escaped everywhere.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../shared/document.ts'
import { buttonOf, composeList, type Message } from '../core/message.ts'
import type { Buttons, Outgoing, Part } from './notifier.ts'

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
  confirmTitle: 100,
  confirmText: 300,
}

/** What Slack calls the buttons that decide, when one is pressed. */
export const actionIds = { approved: 'approve', declined: 'not_now' } as const

/** Verbatim: Slack makes no links and mentions of what merely looks like one. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

const marks = { info: '🔵', warning: '🟠', danger: '🔴', good: '🟢' }

export function slackBlocks(outgoing: Outgoing): IncomingWebhookSendArguments {
  const { also, ...first } = outgoing
  return also.length === 0 ? single(first) : list([first, ...also])
}

/** The question and its buttons first, then what one may want to look up. */
export function single(part: Pick<Part, 'message' | 'pageUrl' | 'buttons'>) {
  const { message } = part
  const title = `${marks[message.tone]} ${message.title}`
  return {
    text: shorten([title, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(title),
      section(message.lines.join('\n')),
      ...actions(part),
      ...facts(message),
      context(message.reference),
    ],
  } satisfies IncomingWebhookSendArguments
}

/** Where the message itself decides, the page is what one may look at besides. */
function actions({ message, pageUrl, buttons }: Parameters<typeof single>[0]) {
  const decide = buttons === undefined ? [] : deciding(buttons)
  const rank = { asks: message.asks && buttons === undefined }
  const look = pageUrl === undefined ? [] : [button(pageUrl, rank)]
  const elements = [...decide, ...look]
  return elements.length === 0 ? [] : [{ type: 'actions' as const, elements }]
}

function deciding({ value, confirm, notNow }: Buttons) {
  const say = (text: string) => ({ type: 'plain_text' as const, text })
  const approve = {
    type: 'button' as const,
    action_id: actionIds.approved,
    text: say('Approve'),
    value,
    style: 'primary' as const,
    confirm: {
      title: say(cut(confirm.title, limit.confirmTitle)),
      text: say(cut(confirm.text, limit.confirmText)),
      confirm: say('Approve'),
      deny: say('Cancel'),
    },
  }
  const decline = {
    type: 'button' as const,
    action_id: actionIds.declined,
    text: say('Not now'),
    value,
  }
  return notNow ? [approve, decline] : [approve]
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

/** Several events in one message, each with its own button. */
function list(parts: Part[]): IncomingWebhookSendArguments {
  const { title, lines, tone } = composeList(parts.map(({ message }) => message))
  const heading = `${marks[tone]} ${title}`
  const titles = parts.map(({ message }) => `• ${message.title}`)
  return {
    text: shorten([heading, ...titles].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [header(heading), section(lines.join('\n')), ...parts.map(item)],
  }
}

function item({ message, pageUrl }: Part) {
  // a star of its own would end the bold type
  const title = cut(message.title, limit.item / 2).replaceAll('*', '∗')
  const lines = cut(message.lines.join(' '), limit.lines)
  const text = `${marks[message.tone]} *${title}*\n${lines} ${message.reference}`
  const block = section(text, limit.item)
  return pageUrl === undefined ? block : { ...block, accessory: button(pageUrl, message) }
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

function button(url: string, message: Pick<Message, 'asks'>) {
  return {
    type: 'button' as const,
    action_id: 'open',
    text: { type: 'plain_text' as const, text: buttonOf(message) },
    url,
    ...(message.asks ? { style: 'primary' as const } : {}),
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

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
