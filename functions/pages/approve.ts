// The page behind every link: what will happen, how long there is to decide, and what was decided.
import { html } from 'hono/html'
import { viewOf } from '../core/delivery.ts'
import type { EventRecord, HistoryEntry } from '../core/event.ts'
import {
  compose,
  describeInference,
  describeVerdict,
  drillLine,
  drillMark,
  impactOf,
  plain,
  subjectOf,
} from '../core/message.ts'
import type { Permission } from '../core/permission.ts'
import { relative, utc, when } from '../core/time.ts'
import { layout } from './layout.ts'

/** Whoever looks at it, as far as the page says something else to them. */
export interface Viewer {
  permission: Permission
  /** Where to say who one is. */
  signInUrl?: string
  /** As whom one is signed in. */
  name?: string
}

/** The event, its state in a sentence, and the two choices while there is something to decide. */
export function eventPage(record: EventRecord, now: number, viewer: Viewer, tried?: string) {
  const view = viewOf(record)
  const telling = { moment: 'scheduled' as const, at: now, event: view }
  const { facts: all, reference } = compose(telling, now)
  const facts = all
    .filter(({ name }) => name !== 'Decision')
    // a message names as many as somebody reads, the page all
    .map((fact) => (fact.name === 'VMs hit' ? { ...fact, value: namesOf(record) } : fact))
  const decided = tried === undefined ? '' : html`<p class="state" role="status">${tried}</p>`
  const title = drillMark(view) + subjectOf(view)
  return layout(
    title,
    html`<h1>${title}</h1>
${record.drill ? html`<p class="state"><strong>${drillLine}</strong></p>` : ''}
${decided}
<p class="state">${stateOf(record, now)}</p>
${isDecidable(record) ? (viewer.permission === 'allowed' ? choices(record, now) : whyNot(viewer)) : ''}
<p>${impactOf(view)}</p>
<dl>${facts.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<p class="hint">${reference}</p>
<h2 id="course">Course</h2>
<ol>${record.history.map((entry) => html`<li>${describeEntry(entry, now)}</li>`)}</ol>`,
  )
}

function namesOf({ facts: { resources } }: EventRecord): string {
  return plain(resources.join(', ')) || 'not named'
}

/** A page without an event: the link is forged, expired, or for an event that is not known. */
export function messagePage(title: string, text: string) {
  return layout(title, html`<h1>${title}</h1><p>${text}</p>`)
}

export function isDecidable(record: EventRecord): boolean {
  return (
    record.ended === undefined &&
    record.phase === 'scheduled' &&
    record.verdict?.decision !== 'approved'
  )
}

function choices(record: EventRecord, now: number) {
  const { notBeforeAt } = record.facts
  const due = notBeforeAt === undefined ? 'when it decides' : when(notBeforeAt, now)
  const decline =
    record.verdict === undefined
      ? html`<button name="decision" value="not_now">Not now</button>
<p class="hint">Azure starts it ${due} all the same. You can still approve later.</p>`
      : ''
  const hint = record.drill
    ? 'The drill goes on as if Azure had been told, which it is not.'
    : "It starts for all VMs it hits, usually within seconds. This can't be taken back."
  return html`<form method="post">
<button class="go" name="decision" value="approve">Approve: start it now</button>
<p class="hint">${hint}</p>
${decline}
</form>`
}

/** What stands in the place of the choices for somebody who may not decide. */
function whyNot({ permission, signInUrl, name }: Viewer) {
  const somebody =
    name === undefined ? 'You are signed in, but' : `You are signed in as ${plain(name)}, but`
  const text =
    permission === 'identity_needed'
      ? 'Only people on a list may decide this event, and a link does not say who you are.'
      : `${somebody} not on the list of those who may decide this event.`
  const link = signInUrl === undefined ? '' : html` <a href="${signInUrl}">Sign in</a>`
  return html`<p>${text}${link}</p>`
}

function stateOf(record: EventRecord, now: number): string {
  const { ended, startedAt, verdict, facts, passedOn } = record
  if (ended !== undefined) {
    const why = ended.inferred === undefined ? '' : ` (${describeInference(ended.inferred)})`
    return `${endings[ended.outcome]} ${relative(ended.at, now)}${why}.`
  }
  if (startedAt !== undefined) return `It started ${relative(startedAt, now)}.`
  const due = facts.notBeforeAt === undefined ? 'soon' : when(facts.notBeforeAt, now)
  if (verdict === undefined) return `Not decided. Azure starts it ${due}.`
  const said = `${describeVerdict(verdict)}, ${when(verdict.at, now)}`
  const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}.`
  if (verdict.decision === 'declined') return `${sentence} Azure starts it ${due} all the same.`
  if (record.drill) return `${sentence} The drill starts in a moment.`
  return passedOn === undefined
    ? `${sentence} A VM is about to tell Azure.`
    : `${sentence} ${passedOn.vm} told Azure ${relative(passedOn.at, now)}.`
}

const endings = {
  completed: 'It was completed',
  cancelled: 'It was cancelled',
  lost: 'It was lost sight of',
}

/** What each entry of the record says. */
export const steps: Record<HistoryEntry['what'], string> = {
  seen: 'first seen',
  started: 'started',
  changed: 'changed',
  reminder: 'people were reminded',
  approved: 'approved',
  declined: 'not now',
  directed: 'a VM was asked to tell Azure',
  passed_on: 'Azure was told',
  start_failed: 'Azure could not be told',
  stuck: 'no VM could tell Azure yet',
  gone: 'gone from the document',
  seen_again: 'seen again',
  completed: 'completed',
  cancelled: 'cancelled',
  lost: 'lost sight of',
  reopened: 'alive after all',
}

function describeEntry({ at, what, note }: HistoryEntry, now: number): string {
  return `${utc(at)} (${relative(at, now)}): ${steps[what]}${note === undefined ? '' : ` — ${note}`}`
}
