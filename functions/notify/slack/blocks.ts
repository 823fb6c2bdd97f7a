// A message as Slack's blocks. What is in it from outside goes through text.ts, as Slack would obey its marks.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../../shared/document.ts'
import type { Claimed } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import {
  asksByLink,
  buttonOf,
  composeList,
  listButtonOf,
  type Message,
} from '../../core/message/message.ts'
import type { Shown } from '../desk.ts'
import type { ButtonSupport, Buttons, Outgoing, Part } from '../notifier.ts'
import { decidedLine, type Question, questionOf } from './press.ts'
import { deaden, escapeText, shorten, withName } from './text.ts'

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
  title: 250,
  item: 500,
  reply: 1_000,
  lines: 300,
}

/** Of both ways to Slack. */
export const buttonSupport: Omit<ButtonSupport, 'isEdited'> = {
  how: 'slack',
  service: 'Slack',
  maxValueLength: 2_000,
}

/** What Slack calls the buttons that decide, when one is pressed. */
export const actionIds = { approved: 'approve', declined: 'not_now' } as const

/** Verbatim: Slack makes no links and mentions of what merely looks like one. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

const marks = { info: '🔵', warning: '🟠', danger: '🔴', good: '🟢' }

/**
 * How to get to the event's page: by a button, or by a button only while there is something to decide
 * and by a link in the small print after that.
 */
type WayIn = 'button' | 'button_to_decide'

export function slackBlocks(
  outgoing: Outgoing,
  wayIn: WayIn = 'button',
): IncomingWebhookSendArguments {
  const { also, listUrl, ...first } = outgoing
  if (also.length > 0) return list([first, ...also], listUrl)
  return single({ ...first, telling: first.delivery.telling }, wayIn)
}

/** The question and its buttons first, then what one may want to look up. */
export function single(shown: Shown, wayIn: WayIn = 'button') {
  const { message, pageUrl, telling } = shown
  const title = `${marks[message.tone]} ${message.title}`
  const asButton = pageUrl !== undefined && (wayIn === 'button' || message.asks)
  const link = pageUrl === undefined || asButton ? '' : ` ${linkTo(pageUrl, message)}`
  return {
    text: said(telling, [title, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(title),
      section(said(telling, message.lines.join('\n'), limit.section)),
      ...actions(shown, asButton),
      ...facts(shown),
      context(shorten(message.reference, limit.context) + link),
    ],
  } satisfies IncomingWebhookSendArguments
}

/** Where the message itself decides, the page is what one may look at besides. */
function actions({ message, pageUrl, buttons, telling }: Shown, withPage: boolean) {
  const decide = buttons === undefined ? [] : deciding(buttons, questionOf(telling.event))
  const rank = buttons === undefined ? message : { asks: false, declined: false }
  const look = pageUrl === undefined || !withPage ? [] : [buttonTo(pageUrl, rank)]
  const elements = [...decide, ...look]
  return elements.length === 0 ? [] : [{ type: 'actions' as const, elements }]
}

function deciding({ value, notNow }: Buttons, question: Question) {
  const say = (text: string) => ({ type: 'plain_text' as const, text })
  const approve = {
    type: 'button' as const,
    action_id: actionIds.approved,
    text: say('Approve'),
    value,
    // somebody said *not now*: a second thought is not what the message asks for
    ...(notNow && { style: 'primary' as const }),
    confirm: {
      title: say(question.title),
      text: say(question.text),
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
function facts({ message, telling }: Shown) {
  const { facts: all } = message
  const isShort = ({ value }: Message['facts'][number]) => value.length <= limit.beside
  const texts = (some: Message['facts']) =>
    some.map(
      ({ name, value }) => `*${name}*\n${said(telling, value, limit.field - name.length - 3)}`,
    )
  const fields = texts(all.filter(isShort).slice(0, limit.fields))
  const across = texts(all.filter((fact) => !isShort(fact)).slice(0, limit.fields))
  const asText = (text: string) => ({ ...mrkdwn, text })
  return [
    ...(fields.length === 0 ? [] : [{ type: 'section' as const, fields: fields.map(asText) }]),
    ...across.map((text) => ({ type: 'section' as const, text: asText(text) })),
  ]
}

/** A step of the course, for the thread below what stands there of the event. */
export function slackReply({ message, delivery }: Part): IncomingWebhookSendArguments {
  const { telling } = delivery
  const heading = `${marks[message.tone]} ${message.title}`
  const text = titled(message, telling, message.lines.join('\n'), limit.reply)
  return {
    text: said(telling, [heading, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [{ type: 'section', text: { ...mrkdwn, text } }],
  }
}

/** What stands in place of a message that asked, where the decision has a message of its own. */
export function slackLine(record: EventRecord, pageUrl: string, now: number) {
  const shown = withName(shorten(decidedLine(record, now), limit.item), record)
  return {
    text: shown,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [section(`${shown} <${escapeText(pageUrl)}|Show event>`)],
  } satisfies IncomingWebhookSendArguments
}

/** Several events in one message, each with its own button, and one for all. */
function list(parts: Part[], listUrl: string | undefined): IncomingWebhookSendArguments {
  const messages = parts.map(({ message }) => message)
  const { title, lines, tone } = composeList(messages)
  const asks = messages.some(({ asks, lookOnly }) => asks && !lookOnly)
  const heading = `${marks[tone]} ${title}`
  const titles = parts.map(({ message }) => `• ${message.title}`)
  return {
    text: shorten([heading, ...titles].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(heading),
      section(shorten(lines.join('\n'), limit.section)),
      ...(listUrl === undefined
        ? []
        : [
            { type: 'actions' as const, elements: [button(listUrl, listButtonOf(messages), asks)] },
          ]),
      ...parts.map(item),
    ],
  }
}

function item({ message, pageUrl, delivery }: Part) {
  const lines = cut(message.lines.join(' '), limit.lines)
  const block = section(
    titled(message, delivery.telling, `${lines} ${message.reference}`, limit.item),
  )
  return pageUrl === undefined ? block : { ...block, accessory: buttonTo(pageUrl, message) }
}

/** Bold, and what it is the title of; together within the limit. */
function titled(message: Message, telling: About, text: string, length: number): string {
  const head = `${marks[message.tone]} *${shorten(message.title, limit.title)}*\n`
  return head + said(telling, text, length - head.length)
}

/** Without markup, but for `:names:` of emoji. */
function header(text: string) {
  const inert = deaden(cut(text, limit.header))
  return {
    type: 'header' as const,
    text: { type: 'plain_text' as const, text: inert, emoji: true },
  }
}

/** From here on, `text` is mrkdwn, and what in it is from outside has gone through `shorten`. */
function section(text: string) {
  return { type: 'section' as const, text: { ...mrkdwn, text } }
}

function context(text: string) {
  return { type: 'context' as const, elements: [{ ...mrkdwn, text }] }
}

/** Slack expands none that comes with an edit, and a post says that it is not to. */
function linkTo(url: string, message: Message): string {
  return `<${escapeText(url)}|${buttonOf(message)}>`
}

function buttonTo(url: string, message: Parameters<typeof buttonOf>[0]) {
  return button(url, buttonOf(message), asksByLink(message))
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

type About = Pick<Claimed['telling'], 'moment' | 'event'>

/** As `shorten`, with the name of the person who decided. Trouble with a channel calls nobody. */
function said({ moment, event }: About, text: string, length: number): string {
  const harmless = shorten(text, length)
  return moment === 'alert' ? harmless : withName(harmless, event)
}
