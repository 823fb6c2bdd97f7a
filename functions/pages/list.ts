// The page of a message that told several events: one decision for each. A form names its event by its
// place in the list, so that the page shows no link of any event.
import { html } from 'hono/html'
import { viewOf } from '../core/delivery.ts'
import { drillMark, impactOf, subjectOf } from '../core/message.ts'
import { choicePart, type Html, liveAttributes, type Seen, statePart } from './event.ts'
import { layout } from './layout.ts'
import { isDecidable } from './state.ts'

/** Undefined: an event that is not known any more, or long over. */
export type Listed = Seen | undefined

export function listPage(events: Listed[], now: number) {
  const open = events.filter((seen) => seen !== undefined && isDecidable(seen.record)).length
  const count = `${events.length} events`
  const title = open === 0 ? `${count}, nothing to decide` : `${count}, ${open} to decide`
  const said = events.find((seen) => seen?.said !== undefined)?.said
  const body = html`<h1>${title}</h1>
<p class="lead">One message told them all. Each is decided for itself.</p>
${events.map((seen, place) => (seen === undefined ? gone(place) : item(seen, now, place)))}`
  return layout(said === undefined ? title : `${said} ${title}`, body, now)
}

function item(seen: Seen, now: number, place: number): Html {
  const view = viewOf(seen.record)
  return html`<article class="item" id="e${place}" ${liveAttributes(seen)}>
<h2 id="h${place}">${drillMark(view)}${subjectOf(view)}</h2>
<p class="lead">${impactOf(view)}</p>
${statePart(seen, now, place)}
${choicePart(seen, now, place, true)}
<p><a href="?event=${place}" aria-describedby="h${place}">All about this event</a></p>
</article>`
}

function gone(place: number): Html {
  return html`<article class="item" id="e${place}" data-event><h2 id="h${place}">An event that is long over</h2>
<p class="lead">The relay has no page of it any more.</p></article>`
}
