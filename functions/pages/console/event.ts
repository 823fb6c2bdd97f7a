// The page of one event: its state and the choices, everything that happened, and each message with
// its attempts.

import { html } from 'hono/html'
import { type EventRecord, listDecisions, type StartKind } from '../../core/event/event.ts'
import type { PublicSight, publicDelivery } from '../../core/event/public-view.ts'
import { publishers } from '../../core/event/published.ts'
import { chooseStep } from '../../core/event/summary.ts'
import { minuteUtc, utc } from '../../core/event/time.ts'
import { toView } from '../../core/event/view.ts'
import { stateWords } from '../../core/event/words.ts'
import { drillLine, drillMark } from '../../core/message/message.ts'
import {
  askedBy,
  describeDecided,
  describeDuration,
  describeImpact,
  describeInference,
  describeNodes,
  describeOthers,
  describeSubject,
  describeWorkloads,
  plain,
} from '../../core/message/phrases.ts'
import { findWait } from '../../core/message/step.ts'
import { choicePart, type Html, linksPart, liveAttributes, type Seen, statePart } from '../event.ts'
import { allNames, listKnownVms } from '../facts.ts'
import { placed } from '../timeline.ts'
import { utcOn, whole } from '../times.ts'
import { chip, deliveryTones, foldFailures, hasFailed, noticePart, sendForm } from './parts.ts'

/** The page shows the newest. The API has the others. */
const maxDeliveries = 1_000

interface Shown {
  base: string
  seen: Seen
  deliveries: ReturnType<typeof publicDelivery>[]
  seenBy: PublicSight[]
  /** Whether the visitor may decide some events. */
  decides: boolean
  /** The token of the forms that send again. Absent if the visitor may not. */
  replay?: string
  notice?: string
}

export function eventBody(shown: Shown, now: number): Html {
  const { base, seen, deliveries, seenBy, decides, notice } = shown
  const { record } = seen
  const view = toView(record)
  const failed = deliveries.filter(({ state }) => ['refused', 'given_up'].includes(state)).length
  const links = linksPart(record)
  const isInTrouble = record.unheard !== undefined || chooseStep(record) === 'stuck'
  return html`<p>${record.ended === undefined ? html`<a href="${base}">Now</a>` : html`<a href="${base}/events">All events</a>`}</p>
<article ${liveAttributes(seen)}>
<h1 id="h0">${drillMark(view)}${describeSubject(view)}</h1>
${record.drill ? html`<p class="drill">${drillLine}</p>` : ''}
<p class="lead">${chip(record.fleet)} ${describeImpact(view)}</p>
${noticePart(notice)}
<div class="columns"><div>
${statePart(seen, now, isInTrouble ? html`${unheardPart(base, record)}${links}` : '')}
${decides ? html`<div class="decide">${choicePart(seen, now, 0, 'console')}</div>` : ''}
<h2 id="timeline">Timeline</h2>
${groupDays(composeLines(record, deliveries)).map(
  ({ day, lines }) => html`<h3 id="d${day}">${day}</h3>
<ol class="record" reversed aria-labelledby="timeline d${day}">${lines.map(
    ({ at, shown }) => html`<li><time
 datetime="${new Date(at).toISOString()}"><span class="t" data-at="${utc(at)}">${formatTime(at)} UTC</span></time>: ${shown}</li>`,
  )}</ol>`,
)}
</div><div>
<h2>Details</h2>
<dl>${composeRows(record, now).map(([name, value]) => html`<dt>${name}</dt><dd>${name === affected ? vmLinks(base, record) : whole(plain(value))}</dd>`)}</dl>
${isInTrouble ? '' : links}
<h2 id="seen">Seen by</h2>
${seenBy.length === 0 ? html`<p>${record.drill ? 'No VM sees a drill.' : 'No beacon that saw this event has reported in the last 7 days.'}</p>` : ''}
<ul class="record" aria-labelledby="seen">${seenBy.map(
    (one) =>
      html`<li>${describeSeer(base, record.fleet, one.vm)} ${seerChips(record, one)}${describeSpan(one)}</li>`,
  )}</ul>
</div></div>
<h2 id="deliveries">Messages <span class="count">${deliveries.length}</span></h2>
${deliveries.length === 0 ? deliveryTable(shown, now) : html`<details id="messages"${failed > 0 ? html` open` : ''}><summary>${failed === 0 ? 'Each with its attempts' : `${failed} of ${deliveries.length} failed`}</summary>${deliveryTable(shown, now)}</details>`}
${deliveries.length > maxDeliveries ? html`<p>The events API also has the older messages.</p>` : ''}
</article>`
}

/** To the beacons that must report before Azure is told. */
function unheardPart(base: string, { fleet, unheard }: EventRecord): Html {
  if (unheard === undefined) return ''
  return html`<p class="further">${unheard.vms.map((vm) => html`<a href="${base}/beacons?${new URLSearchParams({ fleet, q: vm })}">Show the beacon of ${plain(vm)}</a> `)}</p>`
}

/** The latest first. */
function deliveryTable({ base, seen, deliveries, replay }: Shown, now: number): Html {
  if (deliveries.length === 0) return html`<p class="empty">No channel was notified.</p>`
  const { fleet, eventId } = seen.record
  const back = `/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  const rows = foldFailures(deliveries.slice(-maxDeliveries).reverse())
  const again = (id: string, channel: string) =>
    replay === undefined
      ? ''
      : sendForm(
          `${base}/replay`,
          replay,
          { id, back },
          html`Send again<span class="away"> to ${channel}</span>`,
        )
  return html`<div class="scroll" role="region" aria-labelledby="deliveries" tabindex="0"><table class="stack">
<thead><tr><th scope="col">Channel</th><th scope="col">Message</th><th scope="col">State</th><th scope="col" class="number">Attempts</th><th scope="col">Planned</th><th scope="col">Result</th><th scope="col"><span class="away">Action</span></th></tr></thead>
<tbody>${rows.map(({ one, earlier }) => {
    const [tone, mark] = deliveryTones[one.state]
    const failed = hasFailed(one)
    const at = one.nextAttemptAt ?? one.settledAt
    const when =
      at === undefined ? '' : `${one.nextAttemptAt ? 'next ' : ''}${utcOn(Date.parse(at), now)}`
    return html`<tr><th scope="row">${plain(one.channel)}${one.insteadOf === undefined ? '' : html` <span class="note">instead of ${plain(one.insteadOf)}</span>`}</th>
<td data-label="Message">${one.moment.replaceAll('_', ' ')}${one.epoch > 1 ? html` <span class="note">epoch ${one.epoch}</span>` : ''}${earlier.length === 0 ? '' : html`<br><span class="note">and before it ${earlier.map(({ moment }) => moment.replaceAll('_', ' ')).join(', ')}</span>`}</td>
<td data-label="State"><span class="mark ${tone}" aria-hidden="true">${mark}</span> ${one.state.replaceAll('_', ' ')}</td>
<td data-label="Attempts" class="number">${one.attempts}</td>
<td data-label="Planned">${whole(utcOn(Date.parse(one.plannedAt), now))}</td>
<td data-label="Result">${whole(plain([when, one.note].filter((text) => text !== '').join(': ')))}</td>
<td data-label="">${failed ? again(one.id, one.channel) : ''}</td></tr>`
  })}</tbody></table></div>`
}

const affected = 'Affected VMs'
/** The events API has the others. */
const maxLinks = 20

/** The link to the beacon of the VM. */
function describeSeer(base: string, fleet: string, vm: string): Html {
  const isVm = !publishers.some((one) => one === vm)
  return isVm ? vmLink(base, fleet, vm) : html`<b>${vm}</b>`
}

function vmLink(base: string, fleet: string, vm: string): Html {
  return html`<a href="${base}/beacons?${new URLSearchParams({ fleet, q: vm })}">${plain(vm)}</a>`
}

function vmLinks(base: string, record: EventRecord): Html {
  const { resources } = record.facts
  if (resources.length === 0 || resources.length > maxLinks) return allNames(record) || 'unknown'
  return html`${resources.map((vm) => html`${vmLink(base, record.fleet, vm)} `)}`
}

function stateIn(record: EventRecord, now: number): string {
  const { inferred } = record.ended ?? {}
  const step = chooseStep(record)
  return (
    stateWords[step === 'open' ? findWait(toView(record), now) : step].word +
    (inferred === undefined ? '' : ` (${describeInference(inferred)})`)
  )
}

/** Why the event had started when it was first seen. */
const startKinds: Record<StartKind, string> = {
  none: 'Azure gave none',
  already_running: 'already running when first seen',
  reported_late: 'reported late; it had been scheduled',
}

function composeRows(record: EventRecord, now: number): [name: string, value: string][] {
  const { facts, policy, started, ended } = record
  const rows: [name: string, value: string | undefined][] = [
    ['Fleet', record.fleet],
    ['Event', record.eventId],
    ['State', stateIn(record, now)],
    ['Epoch', record.epoch > 1 ? String(record.epoch) : undefined],
    ['Rule', policy.rule === 'default' ? undefined : `"${policy.rule}": ${policy.decide}`],
    ['NotBefore', facts.notBeforeAt === undefined ? 'unknown' : minuteUtc(utc(facts.notBeforeAt))],
    ['Started', started && utc(started.at)],
    ['Ended', ended && utc(ended.at)],
    [
      'Expected duration',
      (facts.durationSeconds ?? -1) < 0 ? undefined : describeDuration(facts.durationSeconds),
    ],
    [affected, allNames(record) || 'unknown'],
    ['Only Azure names', describeOthers(record)],
    ['Nodes', describeNodes(listKnownVms(record))],
    ['Runs', describeWorkloads(listKnownVms(record))],
    ['Notice', started?.kind && startKinds[started.kind]],
    ['Requested by', askedBy(record)],
    ['Why', facts.description],
    ...composeDecisions(record),
  ].map(([name, value]) => [name, value || undefined] as [string, string | undefined])
  return rows.filter((row): row is [string, string] => row[1] !== undefined)
}

function composeDecisions(record: EventRecord): [string, string][] {
  const { accepted } = record.azure
  return [
    ...listDecisions(record).map((one): [string, string] => [
      'Decided',
      `${describeDecided(one)}, ${utc(one.at)}${one.expiredAt ? `; it expired ${utc(one.expiredAt)}` : ''}`,
    ]),
    ...(accepted
      ? [
          [
            'Azure accepted',
            `by ${accepted.through === undefined ? accepted.vm : 'the relay'}, ${utc(accepted.at)}`,
          ] as [string, string],
        ]
      : []),
  ]
}

interface Line {
  at: number
  place: number
  shown: Html
}

/** What happened and what was sent, the newest first. A moment has one line, at its planned time. */
function composeLines(record: EventRecord, deliveries: Shown['deliveries']): Line[] {
  const happened = folded(placed(record)).map(({ text, ...line }) => ({
    ...line,
    shown: whole(plain(text)),
  }))
  const messages = Map.groupBy(
    deliveries.slice(-maxDeliveries),
    ({ moment, epoch, plannedAt }) => `${plannedAt} ${epoch} ${moment}`,
  )
  const lines = [...messages.values()].map((all) => {
    const at = Date.parse(all[0]!.plannedAt)
    const moment = all[0]!.moment.replaceAll('_', ' ')
    const shown = html`Message <b>${moment}</b> → ${all.map((one) => describeFate(one))}`
    return { at, place: at, shown }
  })
  return [...happened, ...lines].sort((one, other) => one.place - other.place).reverse()
}

type Placed = ReturnType<typeof placed>

/** What repeats has one line, where it was last: `Asked … (12 times since 19:48:02)`. */
function folded(lines: Placed): Placed {
  return [...Map.groupBy(lines, ({ text }) => text).values()].flatMap((all) => {
    if (all.length < 3) return all
    const last = all.at(-1)!
    return [
      { ...last, text: `${last.text} (${all.length} times since ${formatTime(all[0]!.at)} UTC)` },
    ]
  })
}

function describeFate({ channel, state }: Delivered): Html {
  const [tone, mark] = deliveryTones[state]
  return html`<span class="reached ${tone}"><span aria-hidden="true">${mark}</span> ${plain(channel)}<span class="away"> ${state.replaceAll('_', ' ')}</span></span> `
}

type Delivered = Shown['deliveries'][number]

function groupDays(lines: Line[]): { day: string; lines: Line[] }[] {
  const days = Map.groupBy(lines, ({ at }) => utc(at).slice(0, 10))
  return [...days].map(([day, all]) => ({ day, lines: all }))
}

function formatTime(at: number): string {
  return utc(at).slice(11, 19)
}

/** `affected` `silent` */
function seerChips({ unheard }: EventRecord, { hit, vm }: PublicSight): Html {
  const silence = unheard?.isBlind ? 'blind' : 'silent'
  return html`${hit ? chip('affected', 'ask') : ''}${unheard?.vms.includes(vm) ? chip(silence, 'bad') : ''}`
}

/** `12:00:00 to 12:14:58, gone at 12:15:02` */
function describeSpan({ firstSeenAt, lastSeenAt, goneAt }: PublicSight): Html {
  const clock = (iso: string) => `${utc(Date.parse(iso)).slice(11)}`
  const gone = goneAt === undefined ? '' : `, gone at ${clock(goneAt)}`
  return whole(`${clock(firstSeenAt)} to ${clock(lastSeenAt)}${gone}`)
}
