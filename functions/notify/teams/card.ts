// A message as an Adaptive Card 1.4, for both ways to Teams.

import { linkless } from '../../../shared/presentable.ts'
import { cut } from '../../../shared/text.ts'
import { listedLines } from '../../core/message/list.ts'
import {
  asksByLink,
  byUrgency,
  composeButton,
  composeList,
  composeListButton,
  wantsDecision,
} from '../../core/message/message.ts'
import type { Message, Tone } from '../../core/message/shape.ts'
import type { Buttons, Outgoing, Part } from '../notifier.ts'
import { composeQuestion, type Question } from '../press-texts.ts'
import type { Shown } from '../presses.ts'

/** Teams accepts about 21 KB in practice. */
const maxBodyBytes = 20 * 1024
/** The length of one value of a card, in characters. */
const maxTextLength = 800
const minTextLength = 20
/** Characters that the title of each event in a list keeps, however long the list is. */
const titleLength = 120
const colors = { info: 'Accent', warning: 'Warning', danger: 'Attention', good: 'Good' }

/** Cuts values harder until the body fits, then drops the facts or the button for all events. */
export function fittingBody({ also, listUrl, ...first }: Outgoing): string {
  const layOut = (length: number, all: string | undefined) =>
    also.length === 0
      ? envelope(single(shownIn(first), length), first.message.title)
      : envelope(list([first, ...also], length, all), composeTitleBlock([first, ...also]))
  for (let length = maxTextLength; length > minTextLength; length = Math.floor(length / 2)) {
    const body = JSON.stringify(layOut(length, listUrl))
    if (new TextEncoder().encode(body).length <= maxBodyBytes) return body
  }
  // In a list, each event still has its own button.
  const bare = { ...first, message: { ...first.message, facts: [] } }
  return JSON.stringify(
    also.length === 0
      ? envelope(single(shownIn(bare), minTextLength), first.message.title)
      : layOut(minTextLength, undefined),
  )
}

interface Card {
  body: object[]
  actions: object[]
}

function shownIn(part: Part): Shown {
  return { ...part, notification: part.delivery.notification }
}

/** `buttons`: those that decide, which only a bot can have. */
function single({ message, pageUrl, buttons, notification }: Shown, length: number): Card {
  const facts = message.facts.map(({ name, value }) => ({
    title: name,
    value: plain(value, length),
  }))
  return {
    body: [
      heading(`${message.sign} ${message.title}`, message.tone, length),
      ...message.lines.map((line) => paragraph(line, length)),
      ...composeHere(message),
      ...(facts.length === 0 ? [] : [{ type: 'FactSet', facts }]),
      smallPrint(message.reference, length),
    ],
    actions: [
      ...(buttons === undefined
        ? []
        : deciding(buttons, composeQuestion(notification.event), length)),
      // if the message itself can decide, the button to the page is not the main one
      ...(pageUrl === undefined
        ? []
        : [
            buttons === undefined
              ? open(pageUrl, message)
              : openTo(pageUrl, composeButton({ asks: false, declined: false }), false),
          ]),
      ...(message.links ?? []).map(({ label, url }) => openTo(url, label, false)),
    ],
  }
}

/**
 * When it is due by the reader's own clock. learn.microsoft.com/adaptive-cards/authoring-cards/text-features:
 * cards format times in a TextBlock.
 */
function composeHere({ facts }: Message) {
  const due = facts.find(({ name, at }) => name === 'When' && at !== undefined)
  if (due === undefined) return []
  const iso = `${new Date(due.at!).toISOString().slice(0, 19)}Z`
  return [
    { type: 'TextBlock', text: `For you: {{DATE(${iso}, SHORT)}}, {{TIME(${iso})}}`, wrap: true },
  ]
}

/** Lists several events in one message, each with its own button, and one for all. */
function list(parts: Part[], length: number, listUrl: string | undefined): Card {
  const ordered = byUrgency(parts, ({ message }) => message)
  const messages = ordered.map(({ message }) => message)
  const { title, tone, sign } = composeList(messages)
  const items = ordered.map(({ message, pageUrl }) => ({
    type: 'Container',
    separator: true,
    items: [
      {
        // if a list is too long, its sentences are cut, and no name is
        ...paragraph(`${message.sign} ${message.title}`, Math.max(length, titleLength)),
        weight: 'Bolder',
        color: colors[message.tone],
      },
      paragraph(listedLines(message).join(' '), length),
      ...(length > minTextLength ? [smallPrint(message.reference, length)] : []),
      ...(pageUrl === undefined ? [] : [{ type: 'ActionSet', actions: [open(pageUrl, message)] }]),
    ],
  }))
  const asks = messages.some(({ asks, lookOnly }) => asks && !lookOnly)
  const button = listUrl && openTo(listUrl, composeListButton(messages), asks)
  // below a long list, nobody would see it
  const all = button ? [{ type: 'ActionSet', actions: [button] }] : []
  return { body: [heading(`${sign} ${title}`, tone, length), ...all, ...items], actions: [] }
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
  return openTo(url, composeButton(message), asksByLink(message))
}

function openTo(url: string, title: string, asks: boolean) {
  const style = asks ? { style: 'positive' } : {}
  return { type: 'Action.OpenUrl', title, url, ...style }
}

function composeTitleBlock(parts: Part[]): string {
  return composeList(parts.map(({ message }) => message)).title
}

/** A press has the verb of its button. */
export type Verb = 'approved' | 'declined'

/** *Approve* asks first, in a card that opens below the message. */
function deciding({ value, notNow }: Buttons, question: Question, length: number) {
  const execute = (title: string, verb: Verb) => {
    return { type: 'Action.Execute', title, verb, data: { value } }
  }
  const approve = {
    type: 'Action.ShowCard',
    title: `${question.approve} …`,
    // after *not now*, the message does not ask for an approval
    ...(notNow && { style: 'positive' }),
    card: {
      type: 'AdaptiveCard',
      body: [paragraph(question.text, length)],
      actions: [{ ...execute(question.approve, 'approved'), style: 'positive' }],
    },
  }
  return notNow ? [approve, execute(question.leave, 'declined')] : [approve]
}

/** What replaces a card after a press. */
export function composeCard(shown: Shown): object {
  return composeContent(single(shown, maxTextLength))
}

/** What replaces a card after a press, if the decision has its own message. */
export function composeLine(text: string, pageUrl: string): object {
  const actions = [openTo(pageUrl, composeButton({ asks: false, declined: false }), false)]
  return composeContent({ body: [paragraph(text, maxTextLength)], actions })
}

/** One step of the event, for the thread of its message. If people are asked to act, it leads to the page. */
export function composeReply({ message, pageUrl, buttons }: Part, isLoud: boolean): string {
  const body = [
    {
      ...paragraph(`${message.sign} ${message.title}`, maxTextLength),
      weight: 'Bolder',
    },
    ...message.brief.map((line) => paragraph(line, maxTextLength)),
    ...(wantsDecision(message) ? composeHere(message) : []),
  ]
  // where the message itself decides, its page is the second way
  const rank = buttons === undefined ? message : { ...message, asks: false, declined: false }
  const actions = isLoud && pageUrl !== undefined ? [open(pageUrl, rank)] : []
  return JSON.stringify(envelope({ body, actions }, message.title))
}

/** `summary`: what phones and watches show of the message. */
function envelope(card: Card, summary: string) {
  return {
    type: 'message',
    summary: linkless(cut(summary, maxTextLength)),
    attachments: [{ contentType: cardType, contentUrl: null, content: composeContent(card) }],
  }
}

export const cardType = 'application/vnd.microsoft.card.adaptive'

function composeContent(card: Card): object {
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    ...card,
    msteams: { width: 'Full' },
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
