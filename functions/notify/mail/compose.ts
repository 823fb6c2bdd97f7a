// The text of a mail: plain, and as simple HTML. Mail programs turn text into links, so names get none.
import { linkless } from '../../../shared/presentable.ts'
import { hash } from '../../core/hash.ts'
import { listedLines } from '../../core/message/list.ts'
import {
  byUrgency,
  chooseTopic,
  composeButton,
  composeList,
  composeListButton,
} from '../../core/message/message.ts'
import { buildStoryKey } from '../incidents.ts'
import type { Outgoing, Part } from '../notifier.ts'

interface Mail {
  subject: string
  text: string
  html: string
  headers: Record<string, string>
}

const maxSubject = 200

export function composeMail(outgoing: Outgoing): Mail {
  const { also, listUrl, ...first } = outgoing
  const parts = byUrgency([first, ...also], ({ message }) => message)
  const messages = parts.map(({ message }) => message)
  const subject = messages.length === 1 ? topicIn(parts[0]!) : composeList(messages).title
  const all = listUrl === undefined ? [] : [{ label: composeListButton(messages), url: listUrl }]
  const bodies = [...Map.groupBy(parts, nameSet)].flatMap(([set, own], _, sets) => [
    ...(sets.length > 1 ? [composeHeading(set)] : []),
    ...own.map((part) => composeBody(part, parts.length > 1)),
  ])
  const text = [
    ...bodies.map((one) => one.text),
    ...all.map(({ label, url }) => `${label}: ${url}`),
  ]
  const html = [...bodies.map((one) => one.html), ...all.map(linkIn)]
  return {
    subject: linkless([...subject].slice(0, maxSubject).join('')),
    text: text.join('\n\n---\n\n'),
    html: `<div style="font-family: sans-serif; max-width: 40em">${html.join('<hr>')}</div>`,
    headers: composeHeaders(outgoing),
  }
}

/** The topic as the first mail said it: the event may have changed since then. */
function topicIn({ mayHaveHeard, delivery, message }: Part): string {
  const told = [...mayHaveHeard, delivery.notification].find((one) => one.moment !== 'alert')
  return told === undefined ? message.title : chooseTopic(told)
}

/** The scale set of an event's VMs. Empty if none is known. */
function nameSet({ delivery }: Part): string {
  const { vms = [] } = delivery.notification.event
  return vms.find(({ scaleSet }) => scaleSet)?.scaleSet ?? ''
}

function composeHeading(set: string): Pick<Mail, 'text' | 'html'> {
  const text = set === '' ? 'Other VMs' : `Scale set ${linkless(set)}`
  return { text, html: `<h3>${escapeHtml(text)}</h3>` }
}

/** The first line is the news: a subject does not change. Of several events, each has no facts. */
function composeBody({ message, pageUrl }: Part, isListed: boolean): Pick<Mail, 'text' | 'html'> {
  const { sign, title, reference } = message
  const said = isListed ? listedLines(message) : message.lines
  const lines = [`${sign} ${title}`, ...said].map(linkless)
  const facts = isListed ? [] : message.facts.map(({ name, value }) => [name, linkless(value)])
  const page = pageUrl === undefined ? [] : [{ label: composeButton(message), url: pageUrl }]
  const links = [...page, ...(isListed ? [] : (message.links ?? []))]
  const text = [
    lines.join('\n'),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    links.map(({ label, url }) => `${label}: ${url}`).join('\n'),
    linkless(reference),
  ]
  const rows = facts.map(([name, value]) => {
    return `<tr><td><b>${escapeHtml(name!)}</b></td><td>${escapeHtml(value!)}</td></tr>`
  })
  const html = [
    ...lines.map((line) => `<p>${escapeHtml(line)}</p>`),
    ...(rows.length === 0 ? [] : [`<table cellpadding="4">${rows.join('')}</table>`]),
    ...links.map(linkIn),
    `<p><small>${escapeHtml(linkless(reference))}</small></p>`,
  ]
  return { text: text.filter(Boolean).join('\n\n'), html: html.join('') }
}

function linkIn({ label, url }: { label: string; url: string }): string {
  return `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`
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

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
