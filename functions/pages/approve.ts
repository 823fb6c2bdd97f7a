// The page behind every link: what will happen, how long there is to decide, what was decided and how
// we know; and the pages of links that lead nowhere.
import { html } from 'hono/html'
import { viewOf } from '../core/delivery.ts'
import type { EventRecord } from '../core/event.ts'
import { compose, drillLine, drillMark, impactOf, plain, subjectOf } from '../core/message.ts'
import { choicePart, type Html, liveAttributes, type Seen, statePart } from './event.ts'
import { layout } from './layout.ts'
import { courseOf, overruledOf, proofOf } from './state.ts'

/** More names than this are folded away. */
const namesShown = 20

/** The event, its state, and the two choices while there is something to decide. */
export function eventPage(seen: Seen, now: number) {
  const { record, said } = seen
  const view = viewOf(record)
  const title = drillMark(view) + subjectOf(view)
  const body = html`<article ${liveAttributes(seen)}>
<h1 id="h0">${title}</h1>
<p class="lead">${impactOf(view)}</p>
${record.drill ? html`<p class="drill">${drillLine}</p>` : ''}
${statePart(seen, now, 0)}
${choicePart(seen, now, 0)}
<h2>The event</h2>
<dl>${rowsOf(record, now).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<h2>Its course</h2>
<ol class="course" data-course>${courseOf(record).map(
    ({ time, text }) => html`<li><time>${time}</time> <span>${text}</span></li>`,
  )}</ol>
</article>`
  return layout(said === undefined ? title : `${said} ${title}`, body, now)
}

function rowsOf(record: EventRecord, now: number): [string, Html][] {
  const view = viewOf(record)
  const { facts, reference } = compose({ moment: 'scheduled', at: now, event: view }, now)
  const told = facts
    .filter(({ name }) => name !== 'Decision')
    // a message names as many as somebody reads, the page all
    .map(({ name, value }): [string, Html] => [name, name === 'VMs hit' ? namesOf(record) : value])
    .map(([name, value]): [string, Html] => [name, times.includes(name) ? fixed(value) : value])
  const proof = proofOf(record)
  const overruled = overruledOf(record, now)
  const decision: [string, Html | undefined][] = [
    ['How we know who', proof],
    ['Before', overruled],
  ]
  return [
    ...decision.flatMap(([name, value]): [string, Html][] => (value ? [[name, value]] : [])),
    ...told,
    ['Reference', reference],
  ]
}

const times = ['When', 'Started', 'Ended', 'Gone since', 'Closed']

/** A page may stand open: "in 14 min" would soon be wrong, and only the top is kept up to date. */
function fixed(value: Html): Html {
  return String(value).replace(/ \([^()]*\)$/, '')
}

function namesOf({ facts: { resources } }: EventRecord): Html {
  const all = plain(resources.join(', ')) || 'not named'
  if (resources.length <= namesShown) return all
  return html`<details><summary>${resources.length} VMs</summary>${all}</details>`
}

/** A page without an event: the link is forged, expired, or for an event that is not known. */
export function messagePage(title: string, text: string, signInUrl?: string) {
  return layout(
    title,
    html`<h1>${title}</h1><p class="lead">${text}</p>
${signInUrl === undefined ? '' : html`<p><a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a></p>`}`,
  )
}
