// The page of mutes: those that count, and a form for another. "Now" has a line about them.
import { html } from 'hono/html'
import { maxReasonLength } from '../../core/limits.ts'
import { describeDecider, plain } from '../../core/message/phrases.ts'
import { markPart } from '../../pages/console/health.ts'
import { noticePart, select, sendForm } from '../../pages/console/parts.ts'
import type { Html } from '../../pages/event.ts'
import { utcOn, whole } from '../../pages/times.ts'
import type { Mute } from './rule.ts'

interface Mutes {
  base: string
  mutes: Mute[]
  /** The fleets that the visitor sees. */
  fleets: string[]
  /** The token of the forms. Absent: the visitor may not mute. */
  send?: string
  notice?: string
}

/** What a form has just done. */
const notices = {
  muted: 'People are not told of these events now.',
  not_muted: 'Nothing was muted: choose a fleet and a time. A fleet has at most 20 mutes.',
  unmuted: 'The mute has ended.',
  not_unmuted: 'This mute had ended already.',
}
export type MuteNotice = keyof typeof notices

/** The times that the form offers, in minutes. */
const muteTimes = [30, 60, 120, 240, 480, 1_440, 2_880, 10_080].map(String)

export function mutesBody({ base, mutes, fleets, send, notice }: Mutes, now: number): Html {
  return html`<p><a href="${base}">Now</a></p>
<h1>Mutes</h1>
${noticePart(notice, notices)}
<p>While a mute is active, chats, mail and incidents get no messages about its events. Webhooks and subscriptions do. If nobody decides, Azure starts an event at NotBefore. When the mute ends, channels that have heard nothing of an open event get its newest message.</p>
${mutes.length === 0 ? html`<p class="empty">Nothing is muted.</p>` : table(base, mutes, send, now)}
${send === undefined ? html`<p class="note">To mute events, you need the admin key or a token with the scope "manage".</p>` : formPart(base, fleets, send)}`
}

function table(base: string, mutes: Mute[], send: string | undefined, now: number): Html {
  return html`<div class="scroll" role="region" aria-label="Mutes" tabindex="0"><table class="stack">
<thead><tr><th scope="col">Events of</th><th scope="col">Time</th><th scope="col">Muted</th><th scope="col">Reason</th>${send === undefined ? '' : html`<th scope="col"><span class="away">Action</span></th>`}</tr></thead>
<tbody>${mutes.map(
    (mute) => html`<tr data-key="${mute.id}"><th scope="row">${plain(mutedVms(mute))}</th>
<td data-label="Time">${whole(describeTime(mute, now))}</td>
<td data-label="Muted">${plain(describeDecider(mute.by))}</td>
<td data-label="Reason">${plain(mute.reason ?? '')}</td>
${send === undefined ? '' : html`<td>${sendForm(`${base}/end-mute`, send, { id: mute.id, back: '/mutes' }, 'End mute')}</td>`}</tr>`,
  )}</tbody></table></div>`
}

/** `until 22:00 UTC`, or `from 20:00 UTC until 22:00 UTC` */
function describeTime({ from = 0, until }: Mute, now: number): string {
  const begins = from > now ? `from ${utcOn(from, now)} ` : ''
  return `${begins}until ${utcOn(until, now)}`
}

/** `prod, scale set web, tag role=db` */
function mutedVms({ fleet, scaleSet, tag }: Mute): string {
  const parts = [fleet, scaleSet && `scale set ${scaleSet}`, tag && `tag ${tag}`]
  return parts.filter(Boolean).join(', ')
}

function formPart(base: string, fleets: string[], send: string): Html {
  return html`<h2>Mute events</h2>
<form class="filter" method="post" action="${base}/mute"><input type="hidden" name="form" value="${send}"><input type="hidden" name="back" value="/mutes">
<label>Fleet ${select('fleet', fleets.length === 1 ? fleets[0]! : '', fleets, 'Choose a fleet')}</label>
<label>Scale set (optional) <input name="scaleSet" maxlength="256"></label>
<label>Tag (optional) <input name="tag" maxlength="256" placeholder="role=db"></label>
<label>From (UTC; empty: now) <input type="datetime-local" name="from"></label>
<label>For ${select('minutes', '60', muteTimes, 'Choose', durationWords)}</label>
<label>Reason (optional) <input name="reason" maxlength="${maxReasonLength}"></label>
<button class="slim">Mute</button></form>`
}

function durationWords(minutes: string): string {
  const count = Number(minutes)
  if (count < 120) return count === 60 ? '1 hour' : `${count} minutes`
  return count < 2_880 ? `${count / 60} hours` : `${count / 1_440} days`
}

/** A line of "Now". `asked`: how many of its events people would have to decide. */
export function mutedPart(base: string, mutes: Mute[], asked: number, now: number): Html {
  if (mutes.length === 0 && asked === 0) return ''
  const shown = mutes.map(
    (mute) => html`<b>${plain(mutedVms(mute))}</b> ${whole(describeTime(mute, now))}`,
  )
  const events = asked === 1 ? '1 muted event waits' : `${asked} muted events wait`
  const hidden =
    asked === 0 ? '' : html` <b>${events} for a decision. Decide here: people get no message.</b>`
  return html`<p class="state ${asked > 0 ? 'ask' : 'over'} trouble"><a href="${base}/mutes">Muted</a>: ${shown.map((one, i) => html`${i === 0 ? '' : '; '}${one}`)}${shown.length === 0 ? '' : '.'}${hidden}</p>`
}

export function muteBrief(count: number): Html {
  return count === 0 ? '' : markPart('over', count === 1 ? '1 mute' : `${count} mutes`)
}

export function muteLink(base: string): Html {
  return html`<a href="${base}/mutes">Mute events</a>`
}
