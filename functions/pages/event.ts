// The parts of an event that its own page and a list share: its state, and the two choices or the
// reason why the viewer has none. Element ids contain the event's place in the list.
import { html } from 'hono/html'
import type { EventRecord } from '../core/event/event.ts'
import { isAffected } from '../core/event/sight.ts'
import { chooseStep } from '../core/event/summary.ts'
import { lastingClock, remaining } from '../core/event/time.ts'
import { maxGivenNameLength, maxReasonLength } from '../core/limits.ts'
import { composeLinks } from '../core/message/links.ts'
import {
  affectedVms,
  capital,
  chooseVerb,
  describeDecider,
  describeSubject,
  leaveTo,
  plain,
} from '../core/message/phrases.ts'
import { approvesUnready } from '../core/message/readiness.ts'
import { hardwareAdvice } from '../core/message/step.ts'
import type { Permission } from '../core/rules/permission.ts'
import { describeSeen, describeState, isDecidable, isPreparable } from './state.ts'
import { whole } from './times.ts'

export type Html = ReturnType<typeof html> | string

/** How a listed approver can prove who they are. */
/** Messages with buttons in these channels of a service, or signing in here. */
export type Way = { service: string; channels: string[] } | 'sign_in'

export interface Viewer {
  permission: Permission
  /** The ways that listed approvers have. Empty if any holder of the link may decide. */
  ways: Way[]
  /** Leads to the host's sign-in and back. */
  signInUrl?: string
  /** The name of a signed-in person. */
  name?: string
  /** The viewer has a link or the admin key, so nothing proves who they are, and they may give a name. */
  isUnproved?: true
}

/** An event as a viewer sees it through a link. */
export interface Seen {
  record: EventRecord
  viewer: Viewer
  /** The token for the hidden field of the form. */
  form: string
  /** Names the event in a form of a list. Default: its place in the list. */
  name?: string
  /** The link is that of a message about several events, which has no buttons that decide. */
  listed: boolean
  /** The answer to what this person just tried, and whether that was done. */
  said?: string
  done?: boolean
}

export function saidPart({ said, done }: Seen): Html {
  if (said === undefined) return ''
  return html`<p class="said ${done ? 'good' : 'ask'}" role="status" tabindex="-1" data-said>${said}</p>`
}

/** `ways`: what the reader can do about it, below its sentences. */
export function statePart(seen: Seen, now: number, ways: Html = ''): Html {
  const { record } = seen
  const { tone, headline, first, lines, until } = describeState(record, now)
  const left = until === undefined ? '' : remaining(until - now)
  return html`${saidPart(seen)}
<div class="state ${tone}">
<p class="left" role="timer" data-timer ${until === undefined ? html`hidden` : ''}><b
 data-left="${until ?? ''}">${left}</b> <span>until ${describeStarts(record)}</span></p>
<p class="headline${record.decided === undefined && until !== undefined ? ' away' : ''}" data-headline>${headline}</p>${first === undefined ? '' : html`<p class="first">${whole(first)}</p>`}<p class="lines">${whole(lines.join('\n'))}</p>
${ways}${takenPart(record, now)}${stepsPart(record)}</div>`
}

/** How far an approval is. An open page shows each step as it comes. */
function stepsPart({ decided, azure, started, ended, drill }: EventRecord): Html {
  if (decided?.decision !== 'approved') return ''
  const isOver = ended !== undefined
  const steps: [words: string, isDone: boolean][] = [
    ...(drill ? [] : [['Azure told', azure.accepted !== undefined] as [string, boolean]]),
    ['Started', started !== undefined || ended?.outcome === 'completed'],
    [isOver && ended.outcome !== 'completed' ? capital(ended.outcome) : 'Completed', isOver],
  ]
  return html`<ol class="steps">${steps.map(([words, isDone]) => html`<li${isDone ? html` class="done"` : ''}><span aria-hidden="true">${isDone ? '✓' : '○'}</span> ${words}<span class="away">${isDone ? ', done' : ', not yet'}</span></li> `)}</ol>`
}

function describeStarts({ drill }: EventRecord): string {
  return drill ? 'the drill starts' : 'Azure starts it'
}

/** The program in the browser reads these attributes. */
export function liveAttributes({ record }: Seen): Html {
  return html`data-event data-key="${record.fleet}/${record.eventId}" data-seen="${describeSeen(record)}"
 data-step="${chooseStep(record)}"`
}

/** Where the choices are. In the console, approving takes a second step: a page has many buttons. */
type Where = 'page' | 'list' | 'console' | 'row' | 'next_row'

/** In a list and in the console, the form names the event, and its answer scrolls there. */
export function choicePart(seen: Seen, now: number, place: number, at: Where = 'page'): Html {
  const { record, viewer } = seen
  const where = at === 'next_row' ? 'row' : at
  const shown = isDecidable(record)
    ? viewer.permission === 'allowed'
      ? choices(seen, now, place, where, at === 'row' ? 'plain' : 'go')
      : refusal(seen)
    : ''
  const advised = where === 'row' ? '' : advice(record)
  return html`${isDecidable(record) ? advised : ''}${shown}<p class="moved" role="alert" data-failed hidden></p>`
}

function advice(record: EventRecord): Html {
  return html`${hardwareAdvice(record).map((line) => html`<p>${line}</p>`)}`
}

/**
 * After it was left to Azure, approving takes one more step and has no colour: a second tap at the place
 * of the first button must not be final.
 */
function choices(
  seen: Seen,
  now: number,
  place: number,
  where: Where,
  color: 'go' | 'plain',
): Html {
  const { record, form, name = place } = seen
  const target = where === 'page' ? '' : html` action="#e${place}"`
  const which = where === 'page' ? '' : html`<input type="hidden" name="event" value="${name}">`
  const fields = html`<input type="hidden" name="form" value="${form}">${which}`
  const isFirst = record.decided === undefined
  const inSteps = !isFirst || where === 'console' || where === 'row'
  const approve = inSteps
    ? secondStep(record, place, isFirst, where, color)
    : html`${unreadyPart(record, place)}\n${approveButton(record, place, 'go')}\n${hintPart(record, place, where)}`
  const leave = isFirst ? leavePart(record, now, place, where) : ''
  const prepare = isPreparable(record) ? preparePart(place, where) : ''
  const take = where === 'list' ? '' : takePart(record, place, where)
  const all =
    where === 'row'
      ? [take, prepare, leave, approve]
      : [where === 'list' ? '' : foldedReason(seen, place), approve, leave, prepare, take]
  return html`<form method="post"${target} data-choices>${where === 'list' ? '' : noDefault}${fields}\n${all.map((part) => html`${part}\n`)}</form>`
}

function secondStep(
  record: EventRecord,
  place: number,
  isFirst: boolean,
  where: Where,
  color: 'go' | 'plain',
): Html {
  const label = isFirst ? chooseLabel(record) : `${chooseVerb(record)} it after all`
  // of many rows, only the most urgent one has a coloured button; the second step has it always
  const look = color === 'plain' ? color : isFirst ? chooseLook(record, 'go') : 'quiet'
  const warning = where === 'console' ? approvesUnready(record) : ''
  return html`${warning === '' ? '' : html`<p class="unready">${warning}</p>`}<details class="after" id="${stepId(record)}"><summary class="button ${look}">${label}…${awayPart(record)}</summary>
<div>${where === 'row' || where === 'console' ? html`<p><b>${plain(`${chooseVerb(record)} ${affectedVms(record)} (${record.fleet})?`)}</b></p>` : ''}
${unreadyPart(record, place)}
${hintPart(record, place, where)}
${where === 'row' ? reasonPart(place) : ''}
${approveButton(record, place, isFirst ? 'go' : 'quiet')}${cancelPart}</div></details>`
}

/** Folds the second step. Without a script, it loads the page again. */
export const cancelPart = html`<a class="cancel" href="" data-cancel>Cancel</a>`

/** Stays that of the event when others come or go, so that an open page opens no other's step. */
function stepId({ fleet, eventId }: EventRecord): string {
  return `step-${encodeURIComponent(`${fleet}/${eventId}`)}`
}

function approveButton(record: EventRecord, place: number, look: string): Html {
  return html`<button class="${chooseLook(record, look)}" name="decision" value="approve"
 aria-describedby="u${place} g${place}">${chooseLabel(record)}${awayPart(record)}</button>`
}

function chooseLabel(record: EventRecord): string {
  const isUsual = approvesUnready(record) === '' && record.unheard === undefined
  return `${chooseVerb(record)} ${isUsual ? 'now' : 'anyway'}`
}

/** What Azure does not wait for has the colour of what is wrong. What nobody can pass on has none. */
function chooseLook(record: EventRecord, look: string): string {
  if (approvesUnready(record) !== '') return 'risky'
  return record.unheard === undefined ? look : 'quiet'
}

/** Names the event, so that a list of all buttons tells them apart. */
function awayPart(record: EventRecord): Html {
  return html`<span class="away">: ${describeSubject(record)}</span>`
}

function unreadyPart(record: EventRecord, place: number): Html {
  const text = approvesUnready(record)
  return html`<p class="unready" id="u${place}" ${text === '' ? html`hidden` : ''}>${text}</p>`
}

function hintPart(record: EventRecord, place: number, where: Where): Html {
  return html`<p class="hint" id="g${place}">${describeHint(record, where === 'page')}</p>`
}

function describeHint(record: EventRecord, isLong: boolean): string {
  if (record.drill) return 'This starts the drill. Azure is not involved.'
  if (record.unheard !== undefined)
    return 'Azure is told as soon as a VM that sees the event reports. You cannot undo this.'
  const soon = isLong ? ', usually within seconds' : ''
  return `Azure starts it for ${describeCount(record)}${soon}. You cannot undo this.`
}

function preparePart(place: number, where: Where): Html {
  const hint = html`<p class="hint prepare" id="p${place}">Within a minute, the affected VMs run their hook "prepare".
Azure does not start the event.</p>`
  return html`<button class="prepare" name="decision" value="prepare"
 aria-describedby="h${place}${where === 'row' ? '' : ` p${place}`}">Prepare now</button>
${where === 'row' ? '' : hint}`
}

function leavePart(record: EventRecord, now: number, place: number, where: Where): Html {
  const { notBeforeAt } = record.facts
  const isAhead = where !== 'row' && notBeforeAt !== undefined && notBeforeAt > now
  const at = isAhead ? ` at ${lastingClock(notBeforeAt, now)}` : ''
  const away = where === 'row' ? awayPart(record) : ''
  const starter = record.drill ? 'the drill starts' : 'Azure starts it'
  const hint = html`<p class="hint" id="n${place}">“${leaveTo(record)}”: no more reminders come. You can still start it until ${starter}.</p>`
  return html`<button name="decision" value="not_now"
 aria-describedby="h${place}${where === 'row' ? '' : ` n${place}`}">${leaveTo(record)}${whole(at)}${away}</button>
${where === 'row' ? '' : hint}`
}

/** Says to others who looks at it. */
function takePart(record: EventRecord, place: number, where: Where): Html {
  const isTaken = record.taken !== undefined
  const [value, label] = isTaken ? ['give_back', 'Give it back'] : ['take', html`I'm on it`]
  const hint = html`<p class="hint" id="t${place}">${isTaken ? '“Give it back”: nobody is shown as looking at it.' : "“I'm on it”: others see that you are looking at it. That decides nothing."}</p>`
  return html`<button class="take" name="decision" value="${value}"
 aria-describedby="h${place}${where === 'row' ? '' : ` t${place}`}">${label}${awayPart(record)}</button>
${where === 'row' ? '' : hint}`
}

/** Enter in a text field presses the first button of its form, and no key may decide. */
export const noDefault = html`<button disabled hidden></button>`

/** Before the buttons, as a press ends the chance to write it. */
function foldedReason({ viewer }: Seen, place: number): Html {
  const { isUnproved } = viewer
  return html`<details class="reason" id="reason-${place}"><summary>${isUnproved ? 'Add a reason or your name' : 'Add a reason'}</summary>${reasonPart(place)}${isUnproved ? namePart(place) : ''}</details>`
}

function namePart(place: number): Html {
  return html`<label class="why" for="w${place}">Your name, if others should know it
<input id="w${place}" name="name" maxlength="${maxGivenNameLength}" autocomplete="name"></label>`
}

function reasonPart(place: number): Html {
  return html`<label class="why" for="r${place}">Reason, if others should know it
<input id="r${place}" name="reason" maxlength="${maxReasonLength}" autocomplete="off"></label>`
}

/** `Taken by Slack user U0ADA, 12:03 UTC`, while the event is open. */
export function takenPart({ taken, ended }: EventRecord, now: number): Html {
  if (taken === undefined || ended !== undefined) return ''
  const text = `Taken ${describeDecider(taken)}, ${lastingClock(taken.at, now)}`
  return html`<p class="taken">${whole(plain(text))}</p>`
}

/** Links to the VM in Azure's portal, and to the runbook of the rule. */
export function linksPart({ facts, sights, policy }: EventRecord): Html {
  const affected = sights.filter((sight) => isAffected(facts, sight))
  const vms = affected.map(({ vm, ...known }) => ({ ...known, name: vm }))
  const links = composeLinks({ vms, facts, policy })
  return links.length === 0
    ? ''
    : html`<p class="further">${links.map(({ label, url }) => html`<a href="${url}">${label}</a> `)}</p>`
}

function describeCount({ facts: { resources } }: EventRecord): string {
  if (resources.length === 0) return 'all affected VMs'
  if (resources.length === 1) return 'the affected VM'
  return resources.length === 2 ? 'both affected VMs' : `all ${resources.length} affected VMs`
}

function refusal({ viewer, listed }: Seen): Html {
  const { permission, signInUrl, name } = viewer
  const reason =
    permission === 'identity_needed'
      ? 'Only listed approvers can decide for these VMs. The link alone does not prove who you are.'
      : `${name === undefined ? 'You are' : `You are signed in as ${plain(name)}, who is`} not a listed approver for these VMs.`
  const sign =
    signInUrl === undefined
      ? ''
      : html`<a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a>`
  const way =
    permission === 'identity_needed'
      ? html`<p>${whole(describeWay(viewer, listed))}</p>${sign === '' ? html`<a class="button quiet" href="../console">Open the console</a>` : sign}`
      : ''
  return html`<section class="refusal"><h2>You can view this event, but not decide</h2>
<p>${reason}</p>${way}</section>`
}

/** Where listed approvers can decide, and where they cannot. */
function describeWay({ ways, signInUrl }: Viewer, listed: boolean): string {
  if (ways.length === 0) return 'Ask the owner of this relay who can decide.'
  const services = ways.filter((way) => way !== 'sign_in')
  const sign = ways.includes('sign_in')
  const open = [
    ...services.filter(({ channels }) => channels.length > 0).map((way) => buttonWay(way, listed)),
    ...(sign && signInUrl !== undefined ? ['here, after signing in'] : []),
  ]
  const without = services.filter(({ channels }) => channels.length === 0)
  const closed = [
    ...without.map(({ service }) => `no message about this event has buttons in ${service}`),
    ...(sign && signInUrl === undefined ? ['this relay has no sign-in'] : []),
  ]
  const not = capital(closed.join(', and '))
  if (open.length === 0)
    return `${not}, so only the admin key or a token can decide: an owner signs in to the console.`
  return `Approvers decide ${open.join(', or ')}.${not && ` ${not}.`}`
}

function buttonWay({ service, channels }: Exclude<Way, 'sign_in'>, listed: boolean): string {
  const where = channels.map((name) => `"${name}"`).join(' or ')
  return listed
    ? `in ${service}, with the buttons of the event's own message in ${where} (a message about several events has none), or with the admin key`
    : `in ${service}, with the buttons of the message in ${where}`
}
