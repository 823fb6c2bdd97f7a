// The page behind every link: what will happen, how long there is to decide, what was decided and how
// we know; and the pages of links that lead nowhere.
import { html } from 'hono/html'
import { viewOf } from '../core/delivery/delivery.ts'
import { drillLine, drillMark, impactOf, subjectOf } from '../core/message/message.ts'
import { courseOf } from './course.ts'
import { choicePart, type Html, liveAttributes, type Seen, statePart } from './event.ts'
import { factsOf } from './facts.ts'
import { layout } from './layout.ts'
import { whole } from './times.ts'

/** More names than this are folded away. */
const namesShown = 20

/** The event, its state, and the two choices while there is something to decide. */
export function eventPage(seen: Seen, now: number) {
  const { record, said } = seen
  const view = viewOf(record)
  const title = drillMark(view) + subjectOf(view)
  const body = html`<article ${liveAttributes(seen)}>
<h1 id="h0">${title}</h1>
${record.drill ? html`<p class="drill">${drillLine}</p>` : ''}
<p class="lead">${impactOf(view)}</p>
${statePart(seen, now, 0)}
${choicePart(seen, now, 0)}
<h2>The event</h2>
<dl data-facts>${factsOf(record).map(
    ([name, value]) =>
      html`<dt>${name}</dt><dd>${shownOf(name, value, record.facts.resources.length)}</dd>`,
  )}</dl>
<h2>Its course</h2>
<ol class="course" data-course>${courseOf(record).map(
    ({ time, text }) =>
      html`<li><time><span class="t">${time}</span></time> <span>${whole(text)}</span></li>`,
  )}</ol>
</article>`
  return layout(said === undefined ? title : `${said} ${title}`, body, now)
}

/** Many names are folded away. */
function shownOf(name: string, value: string, count: number): Html {
  if (name === 'Reference') return reference(value)
  if (name !== 'Affected VMs' || count <= namesShown) return whole(value)
  return html`<details><summary>${count} VMs</summary>${value}</details>`
}

/** The id of an event on a line of its own, where it has room. */
function reference(value: string): Html {
  const [words, id] = value.split(/(?<=, event )/)
  return html`${words}<span class="t id">${id}</span>`
}

/** A page without an event: the link is forged, expired, or for an event that is not known. */
export function messagePage(title: string, text: string, signInUrl?: string) {
  return layout(
    title,
    html`<h1>${title}</h1><p class="lead">${text}</p>
${signInUrl === undefined ? '' : html`<p><a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a></p>`}`,
  )
}
