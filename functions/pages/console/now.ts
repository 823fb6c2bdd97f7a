// The page "Now": open events, those that people must decide first, a row each: the time left, which VMs,
// whether they are ready, which channels were told, and the choices if the viewer may decide.

import { html } from 'hono/html'
import type { EventRecord } from '../../core/event/event.ts'
import type { EventSummary } from '../../core/event/summary.ts'
import { remaining } from '../../core/event/time.ts'
import { nameState, stateWords, type Tone } from '../../core/event/words.ts'
import type { Html } from '../event.ts'
import { describeState } from '../state.ts'
import { whole } from '../times.ts'
import { describeLast, emptyPart, type Health, stripPart, type Trouble } from './health.ts'
import {
  type Card,
  chooseGroup,
  clusterPart,
  describeCluster,
  describeDuration,
  describeStuck,
  dueAt,
  type Group,
  groups,
  leftPart,
  listClusters,
  type Placed,
  rowPart,
  silencePart,
} from './now-rows.ts'
import { filterForm, isFiltered, type ShownFilter } from './open-filter.ts'
import { chip } from './parts.ts'
import { type WallLine, wallBody } from './wall.ts'

interface Now {
  /** The path of the console. */
  base: string
  cards: Card[]
  /** Events that the viewer just decided and that are not among them. */
  answered: Card[]
  /** What became of a group that the viewer just decided. */
  said?: string
  filter: ShownFilter
  /** The page is for a wall screen: nothing to press. */
  wall: boolean
  /** How many events people must decide, also if the page does not show them all. */
  asked: number
  /** More events are open than the page shows. */
  more: boolean
  health: Health
  /** Channels that get no messages, and why. */
  troubles: Trouble[]
  /** What features say, in some words and in full, and their links. */
  briefs: Html[]
  lines: Html[]
  links: Html[]
  /** Why the viewer decides nothing here. */
  readOnly?: string
  /** The newest event, while none is open. */
  last?: EventSummary
}

export function nowBody(
  {
    base,
    cards,
    answered,
    said,
    asked,
    more,
    health,
    troubles,
    briefs,
    lines,
    links,
    readOnly,
    filter,
    wall,
    last,
  }: Now,
  now: number,
): Html {
  const numbered = cards.map((card, place) => ({ ...card, place }))
  // what was just decided stays in its place, and counts as what it is now
  const real = Map.groupBy(cards, ({ seen }) => chooseGroup(seen.record, now))
  const count = (group: Group) => real.get(group)?.length ?? 0
  const next = numbered
    .filter(({ seen }) => chooseGroup(seen.record, now) === 'ask')
    .sort((a, b) => dueAt(a) - dueAt(b))[0]
  const placed = numbered.map((card): Placed => ({ ...card, isNext: card.place === next?.place }))
  const all = Map.groupBy(placed, ({ group }) => group)
  const clustersIn = (group: Group) => listClusters(all.get(group) ?? [])
  const nextCluster = groups.flatMap(clustersIn).find((cards) => cards.some(({ isNext }) => isNext))
  const usual: Group[] = ['ask', 'stuck', 'started', 'azure']
  const tiles = [...usual, ...groups.filter((one) => !usual.includes(one) && count(one) > 0)]
  const shownCount = (group: Group) => (group === 'ask' ? asked : count(group))
  // of those behind the page's end, nobody counts how many are stuck or running
  const shownCounts = tiles.filter((group) => group === 'ask' || shownCount(group) > 0 || !more)
  const shown = shownCounts.map((group) =>
    tilePart(group, shownCount(group), more && group !== 'ask'),
  )
  // the page has room for some of those to decide
  const countText = (group: Group) =>
    shownCount(group) > count(group)
      ? `${count(group)} of ${shownCount(group)}`
      : String(count(group))
  const isBusy = asked + count('stuck') > 0
  if (wall) {
    const counts = shownCounts.map((group): [Tone, string, string] => [
      stateWords[group].tone,
      `${shownCount(group)}${more && group !== 'ask' ? '+' : ''}`,
      nameState(group),
    ])
    const lines = groups.flatMap((group) =>
      clustersIn(group).map((cluster) => wallLine(cluster, now)),
    )
    const first = nextCluster && wallLine(nextCluster, now)
    return wallBody({ base, health, troubles, briefs, counts, next: first, lines, last }, now)
  }
  const look = isBusy ? 'folded' : 'open'
  return html`<div class="lead-in"><h1 class="tabbed">Now</h1>
${stripPart({ base, health, troubles, briefs, lines }, now, look)}</div>
${next === undefined || nextCluster === undefined || cards.length < 3 ? '' : html`<p class="next"><a href="#${nextCluster.length > 1 ? `c${nextCluster[0]!.place}` : `e${next.place}`}">Next in ${leftPart(next, now)}: ${whole(describeCluster(nextCluster, now))}</a></p>`}
<div class="bar"><ul class="tiles">${shown}</ul>
<div class="tools">${links}${filterForm(base, filter, cards.length)}</div></div>
${readOnly === undefined ? '' : html`<p class="note">${readOnly}</p>`}
${said === undefined ? '' : html`<p class="said good" role="status" data-said>${said}</p>`}
${answered.length === 0 ? '' : answeredPart(answered, cards.length, now)}
${cards.length > 0 ? '' : nonePart(base, filter, health, describeLast(last, now))}
${groups.map((group) => section(group, all.get(group) ?? [], countText(group), now))}
${more ? html`<p class="note">More events are open. <a href="${base}/events?step=not_over">Search all open events</a></p>` : ''}`
}

/** No event is open, or none that the filter lets through. */
function nonePart(base: string, filter: ShownFilter, health: Health, last: string): Html {
  if (!isFiltered(filter)) return emptyPart(health, base, last)
  return html`<p class="empty">No open event matches. <a href="${base}">Show all</a></p>`
}

/** One event, or several of one scale set, as a screen on a wall shows them. */
function wallLine(cards: Placed[], now: number): WallLine {
  const [{ seen, group }] = cards as [Placed]
  const { record } = seen
  const { until } = describeState(record, now)
  return {
    tone: stateWords[group].tone,
    until,
    time: until === undefined ? wallDuration(record, group, now) : remaining(until - now),
    what: html`${whole(describeCluster(cards, now))} ${chip(record.fleet)}${group === 'stuck' && until !== undefined ? chip(`stuck ${describeStuck(record, now)}`, 'bad') : ''}${silencePart(cards, now)}`,
  }
}

/** On a wall, no small print says whether a time is left or has passed. */
function wallDuration(record: EventRecord, group: Group, now: number): string {
  const text = describeDuration(record, now)
  const word = group === 'stuck' || group === 'started' ? nameState(group) : 'for'
  return /^\d/.test(text) ? `${word} ${text}` : text
}

/** A tile leads to its group. */
function tilePart(group: Group, value: number, isMore: boolean): Html {
  const words = html`<b>${value}${isMore ? '+' : ''}</b> ${nameState(group)}`
  return value === 0
    ? html`<li><span>${words}</span></li>`
    : html`<li class="${stateWords[group].tone}"><a href="#g-${group}">${words}</a></li>`
}

function answeredPart(cards: Card[], from: number, now: number): Html {
  const rows = cards.map((card, i) => rowPart({ ...card, place: from + i }, now))
  return html`<section aria-labelledby="g-own"><h2 id="g-own">Your decision</h2>
<div class="rows">${rows}</div></section>`
}

function section(group: Group, cards: Placed[], count: string, now: number): Html {
  if (cards.length === 0) return ''
  return html`<section aria-labelledby="g-${group}">
<h2 id="g-${group}">${stateWords[group].word} <span class="count">${count}</span></h2>
<div class="rows ${stateWords[group].tone}">${listClusters(cards).map((cluster) =>
    cluster.length > 1 ? clusterPart(cluster, now) : cluster.map((card) => rowPart(card, now)),
  )}</div></section>`
}
