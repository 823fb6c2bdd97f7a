// Microsoft Teams by workflow webhook: one Adaptive Card 1.4. 202 means that the flow queued it. If
// the flow ends with a "Response" action, its owner chose the status and the text.
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { linkless } from '../../shared/presentable.ts'
import {
  asksByLink,
  buttonOf,
  byUrgency,
  composeList,
  listButtonOf,
} from '../core/message/message.ts'
import type { Message, Tone } from '../core/message/shape.ts'
import { isWebUrl, webUrl } from '../schema/checks.ts'
import { entry, type Kind } from './kind.ts'
import {
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  type Part,
  post,
  wordsOf,
} from './notifier.ts'

/** Teams accepts about 21 KB in practice. */
const maxBodyBytes = 20 * 1024
/** The length of one value of a card, in characters. */
const maxTextLength = 800
const minTextLength = 20
const colors = { info: 'Accent', warning: 'Warning', danger: 'Attention', good: 'Good' }

const pageRule =
  'a page for people, which takes no messages; write the address that the workflow\'s first step shows, "When a Teams webhook request is received"'
const entityRule = '"&amp;" is how the source of a page writes "&"; write "&"'

const schema = entry('teams', {
  url: webUrl
    .refine((url) => !isPage(url), { error: pageRule })
    .refine((url) => !/[?&]\S*&amp;/i.test(url), { error: entityRule })
    .describe('The address of a workflow webhook. It is the secret.'),
})

/** Sites for people. Workflows are not checked by host, because Microsoft moves them. */
const pages =
  /^(teams\.(microsoft|live)\.com|teams\.cloud\.microsoft|make\.power(automate|apps)\.com|([\w-]+\.)?flow\.microsoft\.com|portal\.azure\.com)$/

function isPage(url: string): boolean {
  return isWebUrl(url) && pages.test(new URL(url).hostname)
}

const notifier: Notifier<z.output<typeof schema>> = {
  overtakes: () => true,
  // Teams accepts about 4 messages a second. A card has room for 15 events.
  rate: { everyMs: 250, burst: 2, together: 15, atOnce: 4 },
  opensIncidents: false,
  buttons: undefined,
  async notify(outgoing, channel, send) {
    const { now, signal } = outgoing
    const body = fittingBody(outgoing)
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (!isSuccess(answer.status) || isWebPage(answer)) return fromStatus(answer, now)
      const status = errorIn(answer.text)
      if (status === undefined) {
        return { outcome: 'delivered', note: answer.status === 202 ? 'queued' : 'ok' }
      }
      const note = `HTTP ${answer.status}${wordsOf(answer)}`
      return { ...fromStatus({ ...answer, status }, now), note }
    } catch (error) {
      return fromError(error, outgoing)
    }
  },
}

export const teams: Kind<typeof schema> = { schema, notifiers: { teams: notifier } }

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

/** Cuts values harder until the body fits, then drops the facts or the button for all events. */
function fittingBody({ also, listUrl, ...first }: Outgoing): string {
  const layOut = (length: number, all: string | undefined) =>
    also.length === 0
      ? envelope(single(first, length), first.message.title)
      : envelope(list([first, ...also], length, all), titleOf([first, ...also]))
  for (let length = maxTextLength; length > minTextLength; length = Math.floor(length / 2)) {
    const body = JSON.stringify(layOut(length, listUrl))
    if (new TextEncoder().encode(body).length <= maxBodyBytes) return body
  }
  // In a list, each event still has its own button.
  const bare = { ...first, message: { ...first.message, facts: [] } }
  return JSON.stringify(
    also.length === 0
      ? envelope(single(bare, minTextLength), first.message.title)
      : layOut(minTextLength, undefined),
  )
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
  return {
    body: [
      heading(`${message.sign} ${message.title}`, message.tone, length),
      ...message.lines.map((line) => paragraph(line, length)),
      ...hereOf(message),
      ...(facts.length === 0 ? [] : [{ type: 'FactSet', facts }]),
      smallPrint(message.reference, length),
    ],
    actions: [
      ...(pageUrl === undefined ? [] : [open(pageUrl, message)]),
      ...(message.links ?? []).map(({ label, url }) => openTo(url, label, false)),
    ],
  }
}

/**
 * When it is due by the reader's own clock. learn.microsoft.com/adaptive-cards/authoring-cards/text-features:
 * cards format times in a TextBlock.
 */
function hereOf({ facts }: Message) {
  const due = facts.find(({ name, at }) => name === 'When' && at !== undefined)
  if (due === undefined) return []
  const iso = `${new Date(due.at!).toISOString().slice(0, 19)}Z`
  return [
    { type: 'TextBlock', text: `For you: {{DATE(${iso}, SHORT)}}, {{TIME(${iso})}}`, wrap: true },
  ]
}

/** Several events in one message, each with its own button, and one for all. */
function list(parts: Part[], length: number, listUrl: string | undefined): Card {
  const ordered = byUrgency(parts, ({ message }) => message)
  const messages = ordered.map(({ message }) => message)
  const { title, tone, sign } = composeList(messages)
  const items = ordered.map(({ message, pageUrl }) => ({
    type: 'Container',
    separator: true,
    items: [
      {
        ...paragraph(`${message.sign} ${message.title}`, length),
        weight: 'Bolder',
        color: colors[message.tone],
      },
      paragraph(message.lines.join(' '), length),
      smallPrint(message.reference, length),
      ...(pageUrl === undefined ? [] : [{ type: 'ActionSet', actions: [open(pageUrl, message)] }]),
    ],
  }))
  const asks = messages.some(({ asks, lookOnly }) => asks && !lookOnly)
  const all = listUrl === undefined ? [] : [openTo(listUrl, listButtonOf(messages), asks)]
  return { body: [heading(`${sign} ${title}`, tone, length), ...items], actions: all }
}

function plain(text: string, length: number): string {
  return escapeMarkdown(linkless(cut(text, length)))
}

function paragraph(text: string, length: number) {
  return { type: 'TextBlock', text: plain(text, length), wrap: true }
}

function smallPrint(text: string, length: number) {
  return { ...paragraph(text, length), size: 'Small', isSubtle: true }
}

function heading(text: string, tone: Tone, length: number) {
  return { ...paragraph(text, length), size: 'Large', weight: 'Bolder', color: colors[tone] }
}

function open(url: string, message: Message) {
  return openTo(url, buttonOf(message), asksByLink(message))
}

function openTo(url: string, title: string, asks: boolean) {
  const style = asks ? { style: 'positive' } : {}
  return { type: 'Action.OpenUrl', title, url, ...style }
}

function titleOf(parts: Part[]): string {
  return composeList(parts.map(({ message }) => message)).title
}

/** `summary`: what phones and watches show of the message. */
function envelope(card: Card, summary: string) {
  return {
    type: 'message',
    summary: linkless(cut(summary, maxTextLength)),
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          ...card,
          msteams: { width: 'Full' },
        },
      },
    ],
  }
}

/**
 * What cards read as markdown, or as a date: {{DATE(…)}}. Some clients show the backslash, so
 * nothing else is escaped: no underscore inside a word (VM names contain many), no round bracket
 * except after a square one, no single curly bracket.
 */
const markup = new RegExp(
  [
    '[\\\\`*[\\]#~<>|]',
    '(?<=\\])\\(|(?<=\\{)\\{',
    '(?<![\\p{L}\\p{N}])_|_(?![\\p{L}\\p{N}])',
    // The mark of a list item.
    '(?<=^\\s*)[-+]|(?<=^\\s*\\d{1,9})[.)](?!\\S)',
  ].join('|'),
  'gu',
)

function escapeMarkdown(text: string): string {
  return text.replace(markup, '\\$&')
}
