// The body of a message in Slack, for webhooks and bots: `slackBlocks`. Text from outside goes through
// text.ts, which escapes it.
import type { IncomingWebhookSendArguments } from '@slack/webhook'
import { cut } from '../../../shared/text.ts'
import type { Claimed } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { utc } from '../../core/event/time.ts'
import { listedLines } from '../../core/message/list.ts'
import {
  asksByLink,
  byUrgency,
  composeButton,
  composeList,
  composeListButton,
  wantsDecision,
} from '../../core/message/message.ts'
import type { Message } from '../../core/message/shape.ts'
import type { Buttons, Outgoing, Part } from '../notifier.ts'
import { composeQuestion, decidedLine, type Question } from '../press-texts.ts'
import type { Shown } from '../presses.ts'
import { deaden, escaped, escapeText, withName } from './text.ts'

/**
 * Limits in characters; api.slack.com/reference/block-kit/blocks. Slack accepts 3 000 in a section and 2
 * 000 in a field, but only about 13 000 in all blocks, so fields and items are shorter here.
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

/** A press has the id of its button. */
export const actionIds = { approved: 'approve', declined: 'not_now' } as const

/** `verbatim`: Slack makes no links and mentions out of plain text. */
const mrkdwn = { type: 'mrkdwn', verbatim: true } as const

/** `button_to_decide`: after the decision, a link in the small print leads to the event's page. */
type WayIn = 'button' | 'button_to_decide'

export function slackBlocks(
  outgoing: Outgoing,
  wayIn: WayIn = 'button',
): IncomingWebhookSendArguments {
  const { also, listUrl, ...first } = outgoing
  if (also.length > 0) return list([first, ...also], listUrl)
  return single({ ...first, notification: first.delivery.notification }, wayIn)
}

/** The text and its buttons first, then the details. */
export function single(shown: Shown, wayIn: WayIn = 'button') {
  const { message, pageUrl, notification } = shown
  const title = `${message.sign} ${message.title}`
  const asButton = pageUrl !== undefined && (wayIn === 'button' || message.asks)
  const link = pageUrl === undefined || asButton ? '' : ` ${linkTo(pageUrl, message)}`
  return {
    text: said(notification, [title, ...message.lines].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(title),
      section(said(notification, message.lines.join('\n'), limit.section)),
      ...actions(shown, asButton),
      ...facts(shown),
      context(escaped(message.reference, limit.context) + link),
    ],
  } satisfies IncomingWebhookSendArguments
}

/** If the message itself can decide, the button to the page is not the main one. */
function actions({ message, pageUrl, buttons, notification }: Shown, withPage: boolean) {
  const decide = buttons === undefined ? [] : deciding(buttons, composeQuestion(notification.event))
  const rank = buttons === undefined ? message : { asks: false, declined: false }
  const look = pageUrl === undefined || !withPage ? [] : [buttonTo(pageUrl, rank)]
  const further = (message.links ?? []).map(({ label, url }) => button(url, label, false, label))
  const elements = [...decide, ...look, ...further]
  return elements.length === 0 ? [] : [{ type: 'actions' as const, elements }]
}

function deciding({ value, notNow }: Buttons, question: Question) {
  const say = (text: string) => ({ type: 'plain_text' as const, text })
  const approve = {
    type: 'button' as const,
    action_id: actionIds.approved,
    text: say(question.approve),
    value,
    // After *not now*, the message does not ask for an approval.
    ...(notNow && { style: 'primary' as const }),
    confirm: {
      title: say(question.title),
      text: say(question.text),
      confirm: say(question.approve),
      deny: say('Cancel'),
    },
  }
  const decline = {
    type: 'button' as const,
    action_id: actionIds.declined,
    text: say(question.leave),
    value,
  }
  return notNow ? [approve, decline] : [approve]
}

/** Short facts side by side, long ones across the message. */
function facts({ message, notification }: Shown) {
  const { facts: all } = message
  const isShort = ({ value }: Message['facts'][number]) => value.length <= limit.beside
  const texts = (some: Message['facts']) =>
    some.map(
      ({ name, value, at }) =>
        `*${name}*\n${said(notification, value, limit.field - name.length - 3)}${composeHere(at)}`,
    )
  const fields = texts(all.filter(isShort).slice(0, limit.fields))
  const across = texts(all.filter((fact) => !isShort(fact)).slice(0, limit.fields))
  const asText = (text: string) => ({ ...mrkdwn, text })
  return [
    ...(fields.length === 0 ? [] : [{ type: 'section' as const, fields: fields.map(asText) }]),
    ...across.map((text) => ({ type: 'section' as const, text: asText(text) })),
  ]
}

/** The time by the reader's own clock. Slack shows the text behind the bar where it cannot. */
function composeHere(at: number | undefined): string {
  if (at === undefined) return ''
  return ` (<!date^${Math.floor(at / 1000)}^{time} for you|${utc(at).slice(11, 16)} UTC>)`
}

/** One step of the event, for the thread of its message. If people are asked to act, it leads to the page. */
export function slackReply(part: Part, isLoud: boolean): IncomingWebhookSendArguments {
  const { message, delivery, pageUrl, buttons } = part
  const { notification } = delivery
  const heading = `${message.sign} ${message.title}`
  const brief = message.brief.join('\n')
  const at = wantsDecision(message) ? message.dueAt : undefined
  const here = composeHere(finite(at))
  const text = titled(message, notification, brief, limit.reply - here.length) + here
  // where the message itself decides, its page is the second way
  const rank = buttons === undefined ? message : { asks: false, declined: false }
  const look = isLoud && pageUrl !== undefined ? [buttonTo(pageUrl, rank)] : []
  return {
    text: said(notification, [heading, brief].filter(Boolean).join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'section', text: { ...mrkdwn, text } },
      ...(look.length === 0 ? [] : [{ type: 'actions' as const, elements: look }]),
    ],
  }
}

function finite(at: number | undefined): number | undefined {
  return at === Number.POSITIVE_INFINITY ? undefined : at
}

/** Replaces a message that asked, if the decision has its own message. */
export function slackLine(record: EventRecord, pageUrl: string, now: number) {
  const shown = withName(escaped(decidedLine(record, now), limit.item), record)
  return {
    text: shown,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [section(`${shown} <${escapeText(pageUrl)}|Show event>`)],
  } satisfies IncomingWebhookSendArguments
}

/** Lists several events in one message, each with its own button, and one for all. */
function list(parts: Part[], listUrl: string | undefined): IncomingWebhookSendArguments {
  const ordered = byUrgency(parts, ({ message }) => message)
  const messages = ordered.map(({ message }) => message)
  const { title, sign } = composeList(messages)
  const asks = messages.some(({ asks, lookOnly }) => asks && !lookOnly)
  const heading = `${sign} ${title}`
  const titles = messages.map((message) => `• ${message.title}`)
  return {
    text: escaped([heading, ...titles].join('\n'), limit.text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      header(heading),
      ...(listUrl === undefined
        ? []
        : [
            {
              type: 'actions' as const,
              elements: [button(listUrl, composeListButton(messages), asks)],
            },
          ]),
      ...ordered.map(item),
    ],
  }
}

function item({ message, pageUrl, delivery }: Part) {
  const lines = cut(listedLines(message).join(' '), limit.lines)
  // the title has the fleet, and the page the event's id
  const text = pageUrl === undefined ? `${lines} ${message.reference}` : lines
  const block = section(titled(message, delivery.notification, text, limit.item))
  return pageUrl === undefined ? block : { ...block, accessory: buttonTo(pageUrl, message) }
}

/** The title in bold and the text, together within the limit. */
function titled(message: Message, notification: About, text: string, length: number): string {
  const head = `${message.sign} *${escaped(message.title, limit.title)}*\n`
  return head + said(notification, text, length - head.length)
}

/** Plain text, in which Slack reads only `:names:` of emoji. */
function header(text: string) {
  const inert = deaden(cut(text, limit.header))
  return {
    type: 'header' as const,
    text: { type: 'plain_text' as const, text: inert, emoji: true },
  }
}

/** `text` is mrkdwn. Its parts from outside have gone through `escaped`. */
function section(text: string) {
  return { type: 'section' as const, text: { ...mrkdwn, text } }
}

function context(text: string) {
  return { type: 'context' as const, elements: [{ ...mrkdwn, text }] }
}

/** Slack does not unfurl it: edits never unfurl, and posts say so. */
function linkTo(url: string, message: Message): string {
  return `<${escapeText(url)}|${composeButton(message)}>`
}

function buttonTo(url: string, message: Parameters<typeof composeButton>[0]) {
  return button(url, composeButton(message), asksByLink(message))
}

/** `id`: another one for each button of a message. */
function button(url: string, text: string, asks: boolean, id = 'open') {
  return {
    type: 'button' as const,
    action_id: id,
    text: { type: 'plain_text' as const, text },
    url,
    ...(asks ? { style: 'primary' as const } : {}),
  }
}

type About = Pick<Claimed['notification'], 'moment' | 'event'>

/** Like `escaped`, with a mention of the person who decided. An alert mentions nobody. */
function said({ moment, event }: About, text: string, length: number): string {
  const harmless = escaped(text, length)
  return moment === 'alert' ? harmless : withName(harmless, event)
}
