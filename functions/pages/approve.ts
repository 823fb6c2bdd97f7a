// The page behind every link: what will happen, how much time is left, what was decided and by
// whom. Also the page of a link that leads nowhere.

import { html } from 'hono/html'
import type { EventRecord } from '../core/event/event.ts'
import { countVms } from '../core/event/facts.ts'
import { toView } from '../core/event/view.ts'
import { drillLine, drillMark } from '../core/message/message.ts'
import { describeImpact, describeSubject, plain } from '../core/message/phrases.ts'
import { choicePart, type Html, linksPart, liveAttributes, type Seen, statePart } from './event.ts'
import { allNames, listFacts } from './facts.ts'
import { type Live, layout } from './layout.ts'
import { composeTimeline } from './timeline.ts'
import { whole } from './times.ts'

/** More names than this are folded away. */
const namesShown = 20

/** The event, its state and timeline, and the two choices until it is decided. */
export function eventPage(seen: Seen, live: Live) {
  const { now } = live
  const { record, said } = seen
  const view = toView(record)
  const title = drillMark(view) + describeSubject(view)
  const body = html`<article ${liveAttributes(seen)}>
<p class="fleet"><span class="chip">${plain(record.fleet)}</span></p>
<h1 id="h0">${title}</h1>
${record.drill ? html`<p class="drill">${drillLine}</p>` : ''}
<p class="lead">${describeImpact(view)}</p>
${statePart(seen, now)}
${choicePart(seen, now, 0)}
${linksPart(record)}
<h2>Details</h2>
<dl>${listFacts(record).map(
    ([name, value]) => html`<dt>${name}</dt><dd>${chooseShown(name, value, record)}</dd>`,
  )}</dl>
<h2 id="timeline">Timeline</h2>
<ol class="timeline">${composeTimeline(record).map(
    ({ time, text }) =>
      html`<li><time><span class="t">${time}</span></time> <span>${whole(text)}</span></li>`,
  )}</ol>
</article>`
  const named = `${plain(record.fleet)}: ${title}`
  return layout(said === undefined ? named : `${said} ${named}`, body, live)
}

function chooseShown(name: string, value: string, record: EventRecord): Html {
  if (name === 'Reference') return reference(value)
  const count = countVms(record.facts)
  if (value !== allNames(record) || count <= namesShown) return whole(value)
  return html`<details id="vms"><summary>${count} VMs</summary>${value}</details>`
}

/** Marks the event's id, to be copied without a dot. It gets a line of its own if it does not fit. */
function reference(value: string): Html {
  const [words, id] = value.replace(/\.$/, '').split(/(?<=, event )/)
  return html`${words}<span class="t id">${id}</span>`
}

/** Where a reader goes from a page that leads nowhere. */
interface Next {
  href: string
  label: string
}

/** A page without an event, such as that of an expired link. */
export function messagePage(title: string, text: string, signInUrl?: string, next?: Next) {
  return layout(
    title,
    html`<h1>${title}</h1><p class="lead">${text}</p>
${signInUrl === undefined ? '' : html`<p><a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a></p>`}
${next === undefined ? '' : html`<p><a class="button quiet" href="${next.href}">${next.label}</a></p>`}`,
  )
}
