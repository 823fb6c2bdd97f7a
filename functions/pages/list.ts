// The page of a message about several events, with one decision for each. A form names its event by
// its place in the list, so the page contains no link that decides.
import { html } from 'hono/html'
import { toView } from '../core/event/view.ts'
import { drillLine, drillMark } from '../core/message/message.ts'
import { describeImpact, describeSubject, plain } from '../core/message/phrases.ts'
import { choicePart, type Html, liveAttributes, type Seen, statePart } from './event.ts'
import { type Live, layout } from './layout.ts'
import { isDecidable } from './state.ts'

/** Undefined: the relay has removed the event, or it ended long ago. */
export type Listed = Seen | undefined

export function listPage(events: Listed[], live: Live) {
  const title = `${events.length} events, ${describeOpen(events)}`
  const said = events.find((seen) => seen?.said !== undefined)?.said
  const names = joinNames(events)
  const body = html`<h1>${title}</h1>
<p class="lead">These events came in one message. Decide each of them separately.</p>
${inOrder(events).map(({ seen, place }) =>
  seen === undefined ? gone(place) : item(seen, names[place]!, live.now, place),
)}`
  return layout(said === undefined ? title : `${said} ${title}`, body, live)
}

/** `2 for you to decide, 1 for its approvers, 1 left to Azure` */
function describeOpen(events: Listed[]): string {
  const open = events.flatMap((seen) => (seen && isDecidable(seen.record) ? seen : []))
  const left = open.filter(({ record }) => record.decided !== undefined)
  const others = open.filter((seen) => !left.includes(seen))
  const own = others.filter(({ viewer }) => viewer.permission === 'allowed')
  const parts: [number, string][] = [
    [own.length, own.length === others.length ? 'to decide' : 'for you to decide'],
    [others.length - own.length, 'for approvers to decide'],
    [left.length, 'left to Azure'],
  ]
  const some = parts.filter(([count]) => count > 0)
  if (some.length === 0) return 'nothing to decide'
  return some.map(([count, what]) => `${count} ${what}`).join(', ')
}

/**
 * What is still to come first, by time. A decision moves nothing, as a finger may still be there. Each keeps
 * its place, which its form and its link name.
 */
function inOrder(events: Listed[]): { seen: Listed; place: number }[] {
  const rankEvent = (seen: Listed): [number, number] => {
    if (seen === undefined) return [2, 0]
    const { ended, started, facts } = seen.record
    const isAhead = ended === undefined && started === undefined
    return [isAhead ? 0 : 1, facts.notBeforeAt ?? Number.MAX_VALUE]
  }
  return events
    .map((seen, place) => ({ seen, place, rank: rankEvent(seen) }))
    .toSorted((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1])
}

interface Name {
  text: string
  /** Present if another event has the same text. */
  id?: string
}

function joinNames(events: Listed[]): Name[] {
  const texts = events.map((seen) => {
    const view = seen && toView(seen.record)
    return view ? drillMark(view) + describeSubject(view) : ''
  })
  const ids = events.map((seen) => plain(seen?.record.eventId ?? ''))
  const alike = (text: string) => ids.filter((_, i) => texts[i] === text)
  return texts.map((text, i) => {
    const all = alike(text)
    return all.length < 2 ? { text } : { text, id: shortId(ids[i]!, all) }
  })
}

const shortLength = 8

/** The beginning of an id, its end or all of it: the first that differs from all others. */
function shortId(id: string, all: string[]): string {
  const short = [id.slice(0, shortLength), `…${id.slice(-shortLength)}`]
  const [first, last] = [
    new Set(all.map((one) => one.slice(0, shortLength))),
    new Set(all.map((one) => one.slice(-shortLength))),
  ]
  if (first.size === all.length) return short[0]!
  return last.size === all.length ? short[1]! : id
}

function item(seen: Seen, { text, id }: Name, now: number, place: number): Html {
  const short = id === undefined ? '' : html` <small class="t">${id}</small>`
  return html`<article class="item" id="e${place}" ${liveAttributes(seen)}>
<h2 id="h${place}"><span class="chip">${plain(seen.record.fleet)}</span> ${text}${short}</h2>
${seen.record.drill ? html`<p class="drill">${drillLine}</p>` : ''}
<p class="lead">${describeImpact(toView(seen.record))}</p>
${statePart(seen, now)}
${choicePart(seen, now, place, 'list')}
<p><a href="?event=${place}" aria-describedby="h${place}">Show event</a></p>
</article>`
}

function gone(place: number): Html {
  return html`<article class="item" id="e${place}" data-event><h2 id="h${place}">This event ended long ago</h2>
<p class="lead">Its page is no longer available.</p></article>`
}
