// The pages of channels: whether they work, since when, what waits and what failed.
import { html } from 'hono/html'
import type { publicDelivery } from '../../core/event/public-view.ts'
import { minuteUtc, span, utc } from '../../core/event/time.ts'
import type { Tone } from '../../core/event/words.ts'
import { plain } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'
import { utcOn, whole } from '../times.ts'
import { chip, deliveryTones, foldFailures, hasFailed, noticePart, sendForm } from './parts.ts'

type Health = readonly [tone: Tone, words: string]

/** A channel, as the pages show it. */
export interface ShownChannel {
  name: string
  /** The label is shown instead of the name. */
  label?: string
  /** `Slack`, `webhook`, … Absent in a table of one kind. */
  kind?: string
  /** Path of its page. */
  path: string
  health: Health
  /** What is sent now probably fails. */
  fails?: boolean
  /** Why the relay sends nothing to it, and keeps its messages. */
  kept?: string
  /** Why the channel is in this state. */
  note?: string
  since?: number
  deliveredAt?: number
  /** The visitor may not see when others had a success. */
  hidesSuccess?: true
  pendingSince?: number
  pending: number
  failed: number
  failedAt?: number
  /** `fleet prod; fallback of on-call`. Absent for a stored channel. */
  gets?: string
  /** Only for a stored channel: its messages in the last 24 hours. */
  recent?: { planned: number; failed: number }
  rate: string
  fallback?: string
}

export const channelHealth = {
  ok: ['good', 'OK'],
  untried: ['over', 'Not tried yet'],
  failing: ['ask', 'Failing'],
  refusing: ['bad', 'Refusing'],
  unreachable: ['bad', 'Unreachable'],
} as const satisfies Record<string, Health>

/** `sections`: what features show below. */
export function channelsBody(channels: ShownChannel[], sections: Html[], shown: InTable): Html {
  return html`<h1>Channels</h1>
${channelTable('Channels', channels, shown)}
${sections}`
}

/** `tests`: the token of the forms that send, and the address that they are below. */
interface InTable {
  now: number
  tests?: { base: string; form: string }
}

export function channelTable(label: string, channels: ShownChannel[], shown: InTable): Html {
  const action = shown.tests ? html`<th scope="col"><span class="away">Action</span></th>` : ''
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table class="stack channels">
<thead><tr><th scope="col">Name</th><th scope="col">Health</th><th scope="col">Last success</th><th scope="col" class="number">Pending</th><th scope="col" class="number">Failed</th>${action}</tr></thead>
<tbody>${channels.toSorted(byTrouble).map((one) => row(one, shown))}</tbody></table></div>`
}

/** Channels that send nothing come first. */
function byTrouble(one: ShownChannel, other: ShownChannel): number {
  const rank = ({ health: [tone] }: ShownChannel) => ['bad', 'ask'].indexOf(tone) + 1 || 3
  return rank(one) - rank(other)
}

function row(one: ShownChannel, { now, tests }: InTable): Html {
  const { name, label = name, kind, path, gets, note, pending, pendingSince } = one
  return html`<tr data-key="${name}"><th scope="row"><a href="${path}">${plain(label)}</a> ${kind === undefined ? '' : chip(kind)}${gets === undefined ? '' : html`<br><span class="note">${gets}</span>`}</th>
<td data-label="Health">${describeState(one)}${note === undefined ? '' : html`<br><span class="note">${whole(plain(note))}</span>`}</td>
<td data-label="Last success">${describeSuccess(one, now)}</td>
<td data-label="Pending" class="number">${describeCount(pending)}${pendingSince === undefined ? '' : html`<br><span class="note">oldest ${span(Math.max(0, now - pendingSince))}</span>`}</td>
<td data-label="Failed" class="number">${describeFailed(one, now)}</td>${tests === undefined ? '' : html`<td data-label="">${testButton(tests, one)}</td>`}</tr>`
}

/** Leads to the channel's page, which says what became of the test. */
function testButton(
  { base, form }: NonNullable<InTable['tests']>,
  { name, path }: ShownChannel,
): Html {
  const fields = { name, back: path.slice(base.length) }
  return sendForm(`${base}/test`, form, fields, html`Test<span class="away"> ${name}</span>`)
}

/** Failures of months may be listed, so the newest says whether it still fails. */
function describeFailed({ path, failed, failedAt }: ShownChannel, now: number): Html {
  if (failed === 0) return html`0`
  const ago = failedAt === undefined ? '' : span(Math.max(0, now - failedAt))
  return html`<a href="${path}#failed">${describeCount(failed)}</a>${ago === '' ? '' : html`<br><span class="note">newest ${ago} ago</span>`}`
}

function describeState({ health: [tone, words] }: ShownChannel): Html {
  return html`<span class="badge ${tone}">${words}</span>`
}

/** Counting stops there. */
const most = 1_000

function describeCount(count: number): string {
  return count >= most ? `${most} or more` : String(count)
}

function describeSuccess({ deliveredAt: at, hidesSuccess }: ShownChannel, now: number): Html {
  if (at === undefined)
    return html`<span class="note">${hidesSuccess ? 'unknown' : 'none yet'}</span>`
  return html`${whole(utcOn(at, now))} <span class="note">${span(Math.max(0, now - at))} ago</span>`
}

/** Messages that failed in a channel. */
interface Failed {
  count: number
  /** Epoch ms. */
  oldestAt?: number
  newestAt?: number
  /** Ids of those about events that are still open. */
  open: string[]
}

type Shown = ReturnType<typeof publicDelivery> & {
  fleet: string
  eventId: string
  /** `Reboot of web_3` */
  subject: string
}

interface OneChannel {
  base: string
  /** Below this address are the forms that send. */
  forms: string
  channel: ShownChannel
  /** What the configuration or its maker says of it. */
  facts: [name: string, value: string][]
  deliveries: Shown[]
  /** All deliveries of a stored channel, or the failed ones of a configured one. */
  lists: 'all' | 'failed'
  next?: string
  after?: string
  /** The token of the forms that send. Absent if the visitor may not. */
  send?: string
  /** Whether a test message can be sent. */
  tests: boolean
  /** What a replay would send, if the visitor asks for one. */
  resend?: Failed
  /** The last test of a channel, if it was today. */
  tested?: ReturnType<typeof publicDelivery>
  notice?: string
}

export function channelBody(one: OneChannel, now: number): Html {
  const { base, channel, deliveries, lists, next, after, notice } = one
  const back = channel.path.slice(base.length)
  const isKept = channel.kept !== undefined
  const { send: _, ...readOnly } = one
  return html`<p><a href="${base}/channels">All channels</a></p>
<h1>${plain(channel.label ?? channel.name)} ${channel.kind === undefined ? '' : chip(channel.kind)}</h1>
${noticePart(notice)}
<dl>${composeRows(one, now).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${composeButtons(one, isKept, back, now)}
${isKept ? html`<p class="note">${channel.kept}</p>` : ''}
<h2 id="failed">${lists === 'all' ? 'Messages' : 'Failed messages'}</h2>
${deliveries.length === 0 ? html`<p class="empty">${lists === 'all' ? 'No messages yet.' : 'No message failed.'}</p>` : failures(isKept ? readOnly : one, back, now)}
<div class="pager">${after === undefined ? '' : html`<a href="${channel.path}">Newest</a>`}
${next === undefined ? '' : html`<a href="${channel.path}?${new URLSearchParams({ after: next }).toString()}" rel="next">Older</a>`}</div>`
}

function composeButtons(one: OneChannel, isKept: boolean, back: string, now: number): Html {
  const { forms, channel, send, tests, resend } = one
  if (send === undefined) return ''
  const fields = { name: channel.name, back }
  return html`<div class="pager">${tests ? sendForm(`${forms}/test`, send, fields, 'Send a test message') : ''}
${channel.failed === 0 || isKept || resend ? '' : html`<a class="button quiet slim" href="${channel.path}?resend=1">Resend ${describeCount(channel.failed)} failed…</a>`}</div>
${resend === undefined || isKept ? '' : resendPart(one, send, resend, now)}`
}

/** Messages of half a year may have failed, so a person chooses which to send. */
function resendPart(
  { base, forms, channel }: OneChannel,
  form: string,
  failed: Failed,
  now: number,
): Html {
  const { count, oldestAt, newestAt, open } = failed
  if (oldestAt === undefined || newestAt === undefined) return ''
  const back = channel.path.slice(base.length)
  const fields = { name: channel.name, back }
  const [from, to] = [composeDay(oldestAt, now), composeDay(newestAt, now)]
  const when = from !== to ? `from ${from} to ${to}` : from === 'today' ? from : `on ${from}`
  const messages = `${describeCount(count)} message${count === 1 ? '' : 's'}`
  return html`<div class="moved" data-said><p>${messages} failed ${when}. ${open.length === 0 ? 'None' : open.length} of them ${open.length > 1 ? 'concern events' : 'concerns an event'} that ${open.length > 1 ? 'are' : 'is'} still open.</p>
${channel.fails ? html`<p>${plain(channel.label ?? channel.name)} fails now, so they may fail again. Send a test message first.</p>` : ''}
<div class="pager">${open.length === 0 || open.length === count ? '' : sendForm(`${forms}/replay-all`, form, { ...fields, which: 'open' }, `Resend the ${open.length}`)}
${sendForm(`${forms}/replay-all`, form, fields, open.length === 0 ? `Resend ${messages}` : `Resend all ${describeCount(count)}`)}
<a href="${channel.path}">Cancel</a></div></div>`
}

function composeDay(at: number, now: number): string {
  const [day, today] = [utc(at).slice(0, 10), utc(now).slice(0, 10)]
  return day === today ? 'today' : day
}

function composeRows({ channel, facts, tested }: OneChannel, now: number): [string, Html][] {
  const { note, since, pendingSince, recent } = channel
  const rows: [string, Html | undefined][] = [
    ['Health', describeState(channel)],
    ['Answer', note],
    ['Since', since === undefined ? since : whole(minuteUtc(utc(since)))],
    ['Last success', describeSuccess(channel, now)],
    ['Pending', describeCount(channel.pending)],
    ['Oldest pending', pendingSince === undefined ? pendingSince : whole(utcOn(pendingSince, now))],
    ['Failed', describeCount(channel.failed)],
    ['Last test', tested && describeFate(tested, now)],
    ['Last 24 hours', recent && composeRecent(recent)],
    ['Rate', channel.rate],
    ...facts.map(([name, value]): [string, Html] => [name, whole(plain(value))]),
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

function composeRecent({ planned, failed }: NonNullable<ShownChannel['recent']>): string {
  const messages = planned === 1 ? 'message' : 'messages'
  return `${describeCount(planned)} ${messages}, ${failed === 0 ? 'none' : describeCount(failed)} failed`
}

function describeFate(
  { state, plannedAt, note }: NonNullable<OneChannel['tested']>,
  now: number,
): Html {
  const [tone, mark] = deliveryTones[state]
  const at = Date.parse(plannedAt!)
  return html`<span class="mark ${tone}" aria-hidden="true">${mark}</span> ${state.replaceAll('_', ' ')}, sent at ${whole(utcOn(at, now))}${note === '' ? '' : html` <span class="note">${whole(plain(note))}</span>`}`
}

function failures({ base, forms, deliveries, send }: OneChannel, back: string, now: number): Html {
  const again = (one: Shown) =>
    hasFailed(one) && send !== undefined
      ? sendForm(
          `${forms}/replay`,
          send,
          { id: one.id, back },
          html`Send again<span class="away"> ${one.moment}</span>`,
        )
      : ''
  return html`<div class="scroll" role="region" aria-labelledby="failed" tabindex="0"><table class="stack">
<thead><tr><th scope="col">Message</th><th scope="col">State</th><th scope="col" class="number">Attempts</th><th scope="col">Planned</th><th scope="col">Result</th><th scope="col"><span class="away">Action</span></th></tr></thead>
<tbody>${foldFailures(deliveries).map(({ one, earlier }) => {
    const [tone, mark] = deliveryTones[one.state]
    const others = earlier.map(
      (each) => html`<li>${describeMessage(base, each)}${again(each)}</li>`,
    )
    return html`<tr><th scope="row">${describeMessage(base, one)}${others.length === 0 ? '' : html`<details class="fold" id="like-${one.id}"><summary>and ${others.length} with the same answer</summary><ul>${others}</ul></details>`}</th>
<td data-label="State"><span class="mark ${tone}" aria-hidden="true">${mark}</span> ${one.state.replaceAll('_', ' ')}</td>
<td data-label="Attempts" class="number">${one.attempts}</td>
<td data-label="Planned">${whole(utcOn(Date.parse(one.plannedAt), now))}</td>
<td data-label="Result">${whole(plain(one.note))}</td>
<td data-label="">${again(one)}</td></tr>`
  })}</tbody></table></div>`
}

function describeMessage(base: string, { fleet, eventId, moment, subject }: Shown): Html {
  if (moment === 'alert') return 'Test or alert'
  const path = `${base}/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  return html`<a href="${path}">${plain(subject)}</a> <span class="note">${moment.replaceAll('_', ' ')}</span> ${chip(fleet)}`
}
