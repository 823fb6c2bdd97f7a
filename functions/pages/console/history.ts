// The page "History": a search of all events, one line each.
import { html } from 'hono/html'
import { readProof } from '../../core/event/proof.ts'
import { type EventStep, type EventSummary, steps } from '../../core/event/summary.ts'
import { span, utc } from '../../core/event/time.ts'
import { stateWords } from '../../core/event/words.ts'
import { drillMark } from '../../core/message/message.ts'
import { describeSubject, plain } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'
import { whole } from '../times.ts'
import { badge, chip, fleetField, select, typeField } from './parts.ts'

/** The filter as the address has it. Empty: no filter, and of states, those that ended. */
export interface HistoryFilter {
  fleet: string
  q: string
  type: string
  step: string
  since: string
  until: string
}

interface History {
  base: string
  /** The fleets that the visitor sees. */
  fleets: string[]
  filter: HistoryFilter
  events: EventSummary[]
  /** The cursor of this page. Absent: the newest. */
  after?: string
  /** The cursor of the next page. */
  next?: string
  /** Too many names begin with the searched text, so some events are missing. */
  partial?: true
}

export function historyBody({ base, fleets, filter, events, after, next, partial }: History): Html {
  const address = (more: Record<string, string> = {}, kind = '') => {
    const own = Object.entries({ ...filter, ...more }).filter(([, value]) => value !== '')
    const query = new URLSearchParams(own).toString()
    return `${base}/events${kind}${query && '?'}${query}`
  }
  const own: Record<string, string> = after === undefined ? {} : { after }
  const { step, ...others } = filter
  const isFiltered =
    !['', 'all'].includes(step) || Object.values(others).some((value) => value !== '')
  const which = step === '' ? 'event that has ended' : 'event'
  const none = isFiltered
    ? `No ${which} matches. Try fewer filters, or a shorter name.`
    : `No ${which} is known yet.`
  const further =
    step === 'all' ? '' : html` <a href="${address({ step: 'all' })}">Search all states</a>`
  return html`<h1>History</h1>
${filterForm(base, fleets, filter)}
${partial ? html`<p class="note">Very many names begin with this text, so some events are missing. Type more of the name.</p>` : ''}
${events.length === 0 ? html`<p class="empty">${next === undefined ? none : 'No event on this page matches.'}${further}</p>` : table(base, events)}
<div class="pager">${after === undefined ? '' : html`<a href="${address()}">Newest</a>`}
${next === undefined ? '' : html`<a href="${address({ after: next })}" rel="next">Older</a>`}
${events.length === 0 ? '' : html`<span class="note">Download these ${events.length}:</span> <a href="${address(own, '.csv')}">CSV</a> <a href="${address(own, '.json')}">JSON</a>`}</div>`
}

function filterForm(base: string, fleets: string[], filter: HistoryFilter): Html {
  const { fleet, q, type, step, since, until } = filter
  const isFew = [fleet, type, step, since, until].every((value) => value === '')
  return html`<form class="filter" method="get" action="${base}/events" role="search">
<label>VM or event id <input name="q" value="${q}" placeholder="begins with …" maxlength="100"></label>
<label class="all"><input type="checkbox"${isFew ? '' : html` checked`}>All filters</label>
<div class="rest">${fleetField(fleet, fleets)}
${typeField(type)}
<label>State ${select('step', step, ['all', 'not_over', ...steps], 'Ended', labelStep)}</label>
<div class="pair"><label>First seen from <input type="date" name="since" value="${since}"></label>
<label>to <input type="date" name="until" value="${until}"></label></div></div>
<button class="slim go">Search</button>
</form>`
}

function labelStep(step: string): string {
  if (step === 'not_over') return 'Not over'
  return step === 'all' ? 'All states' : stateWords[step as EventStep].word
}

function table(base: string, events: EventSummary[]): Html {
  return html`<div class="scroll" role="region" aria-label="Events" tabindex="0"><table class="stack brief">
<thead><tr><th scope="col">Event</th><th scope="col">State</th><th scope="col">Fleet</th><th scope="col">Due or started</th><th scope="col">Took</th><th scope="col">Decided</th></tr></thead>
<tbody>${events.toSorted((a, b) => shownAt(b) - shownAt(a)).map((event) => row(base, event))}</tbody></table></div>`
}

function row(base: string, event: EventSummary): Html {
  const { fleet, eventId, startedAt, endedAt } = event
  const path = `${base}/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  return html`<tr data-key="${fleet}/${eventId}"><th scope="row"><a href="${path}">${composePageTitle(event)}</a></th>
<td data-label="State">${badge(event, event.step, event.inferred)}</td><td data-label="Fleet">${chip(fleet)}</td>
<td data-label="When">${time(shownAt(event))}</td>
<td data-label="Took">${startedAt === undefined || endedAt === undefined ? '' : span(Math.max(0, endedAt - startedAt))}</td><td data-label="${event.decidedHow === undefined ? 'Nobody' : 'Decided'}">${describeDecision(event)}</td></tr>`
}

function shownAt({ startedAt, notBeforeAt, firstSeenAt }: EventSummary): number {
  return startedAt ?? notBeforeAt ?? firstSeenAt
}

function composePageTitle(event: EventSummary): string {
  const { eventType, vms, vmCount, drill } = event
  const hidden = Array.from({ length: Math.max(0, vmCount - vms.length) }, () => '')
  const facts = { eventType, resources: [...vms, ...hidden] }
  return drillMark({ drill }) + describeSubject({ facts } as Parameters<typeof describeSubject>[0])
}

/** Writes a time to the minute. */
function time(at: number | undefined): Html {
  return at === undefined ? '' : whole(utc(at).replace(/:\d\d UTC$/, ' UTC'))
}

function describeDecision({ decidedAt, decidedHow, firstSeenAt }: EventSummary): Html {
  if (decidedAt === undefined || decidedHow === undefined) return 'nobody'
  const minutes = Math.max(0, Math.round((decidedAt - firstSeenAt) / 60_000))
  return plain(`${readProof(decidedHow).way}, ${minutes < 1 ? '< 1' : minutes} min`)
}
