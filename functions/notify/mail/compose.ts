// The text of a mail, plain and as HTML (html.ts). Mail programs turn text into links, so names get none.

import { linkless } from '../../../shared/presentable.ts'
import { tellsOfEvent } from '../../core/delivery/delivery.ts'
import { hash } from '../../core/hash.ts'
import { listedLines } from '../../core/message/list.ts'
import {
  asksByLink,
  byUrgency,
  chooseTopic,
  composeButton,
  composeList,
  composeListButton,
} from '../../core/message/message.ts'
import type { Message } from '../../core/message/shape.ts'
import { buildStoryKey } from '../incidents.ts'
import { type Outgoing, type Part, withLastingTitles } from '../notifier.ts'
import { showIn } from '../time-zone.ts'
import { type Block, type Link, layOut } from './html.ts'

interface Mail {
  subject: string
  text: string
  html: string
  headers: Record<string, string>
}

const maxSubject = 200

/** `zone`: where the readers are. */
export function composeMail(outgoing: Outgoing, zone?: string): Mail {
  const { also, listUrl, ...first } = withLastingTitles(outgoing)
  const parts = byUrgency([first, ...also], ({ message }) => message)
  const messages = parts.map(({ message }) => message)
  const isListed = parts.length > 1
  const head = isListed ? composeList(messages) : messages[0]!
  const subject = linkless(isListed ? head.title : topicIn(parts[0]!))
  const all =
    listUrl === undefined ? undefined : { label: composeListButton(messages), url: listUrl }
  const groups = [...Map.groupBy(parts, nameSet)].map(([set, own]) => ({
    heading: composeHeading(set),
    blocks: own.map((part) => composeBlock(part, isListed, zone)),
  }))
  const isAsking = messages.some(asksByLink)
  return {
    subject: [...subject].slice(0, maxSubject).join(''),
    text: composeText(all, groups),
    html: layOut({
      title: linkless(head.title),
      preheader: composePreheader(parts[0]!),
      ...(all && { all: { ...all, isAsking } }),
      groups,
    }),
    headers: composeHeaders(outgoing),
  }
}

/** Beside the subject, which stays: what is new, and what happens if nobody acts. */
function composePreheader({ message: { title, brief }, delivery }: Part): string {
  const { fleet } = delivery.notification.event
  const news = title.startsWith(`${fleet}: `) ? title.slice(fleet.length + 2) : title
  return linkless([news, ...brief.slice(-1)].join('. '))
}

/** The way to act comes first. */
function composeText(
  all: Link | undefined,
  groups: { heading: string; blocks: Block[] }[],
): string {
  const bodies = groups.flatMap(({ heading, blocks }) => [
    ...(groups.length > 1 ? [heading] : []),
    ...blocks.map(blockText),
  ])
  return [...(all === undefined ? [] : [linkText(all)]), ...bodies].join('\n\n---\n\n')
}

function blockText({ sign, fleet, heading, ...rest }: Block): string {
  const { first, lines, page, facts, links, reference } = rest
  const text = [
    [`${sign} ${fleet === '' ? '' : `${fleet}: `}${heading}`, ...first, ...lines].join('\n'),
    page === undefined ? '' : linkText(page),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    links.map(linkText).join('\n'),
    reference,
  ]
  return text.filter(Boolean).join('\n\n')
}

function linkText({ label, url }: Link): string {
  return `${label}: ${url}`
}

/** The subject is that of the first mail: the event may have changed since then. */
function topicIn({ mayHaveHeard, delivery, message }: Part): string {
  const told = [...mayHaveHeard, delivery.notification].find(tellsOfEvent)
  return told === undefined ? message.title : chooseTopic(told)
}

/** The scale set of an event's VMs. Empty if none is known. */
function nameSet({ delivery }: Part): string {
  const { vms = [] } = delivery.notification.event
  return vms.find(({ scaleSet }) => scaleSet)?.scaleSet ?? ''
}

function composeHeading(set: string): string {
  return set === '' ? 'Other VMs' : `Scale set ${linkless(set)}`
}

/** The heading is the news: a subject does not change. Of several events, each has no facts. */
function composeBlock(
  { message, pageUrl, delivery }: Part,
  isListed: boolean,
  zone?: string,
): Block {
  const { sign, title, reference, brief, tone } = message
  const { fleet } = delivery.notification.event
  const named = title.startsWith(`${fleet}: `)
  const said = isListed ? listedLines(message) : message.lines
  const first = isListed ? brief.slice(-1) : brief
  return {
    tone,
    fleet: named ? linkless(fleet) : '',
    sign,
    heading: linkless(named ? title.slice(fleet.length + 2) : title),
    first: first.map(linkless),
    lines: said
      .map((line) => withoutStart(line, first))
      .filter(Boolean)
      .map(linkless),
    ...(pageUrl !== undefined && {
      page: { label: composeButton(message), url: pageUrl, isAsking: asksByLink(message) },
    }),
    facts: isListed ? [] : message.facts.map((fact) => composeFact(fact, zone)),
    links: isListed ? [] : (message.links ?? []),
    reference: linkless(reference),
  }
}

function composeFact(
  { name, value, at }: Message['facts'][number],
  zone?: string,
): [string, string] {
  const local = at === undefined || zone === undefined ? '' : `, ${showIn(zone, at)}`
  return [name, linkless(value) + local]
}

/** The rest of a line that begins with a sentence that stands above it. */
function withoutStart(line: string, above: string[]): string {
  const start = above.find((one) => line.startsWith(one))
  return start === undefined ? line : line.slice(start.length).trim()
}

/** Every attempt to send the same messages has the same id. */
export function idOfMail({ delivery, also }: Outgoing): string {
  const all = [delivery, ...also.map((part) => part.delivery)]
  return hash(all.map(({ id, plannedAt }) => `${id} ${plannedAt}`).join())
}

/**
 * All mails about one event are one thread: each refers to the same id, which no mail has. Programs that
 * answer mails leave these alone (RFC 3834).
 */
function composeHeaders(outgoing: Outgoing): Record<string, string> {
  const { delivery, publicUrl } = outgoing
  const { hostname } = new URL(publicUrl)
  const buildId = (text: string) => `<${hash(text).slice(0, 32)}@${hostname}>`
  const thread = buildId(buildStoryKey(delivery.notification))
  return {
    'Message-ID': buildId(idOfMail(outgoing)),
    'In-Reply-To': thread,
    References: thread,
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
  }
}
