// The page "Insights": small charts of the last months. Each bar has its numbers beside it as text.
import { html } from 'hono/html'
import { span } from '../../core/event/time.ts'
import { plain } from '../../core/message/phrases.ts'
import type { Html } from '../../pages/event.ts'
import type { Insights, Month } from './rule.ts'

interface View {
  base: string
  insights: Insights
  /** How many events were counted, if there were more. */
  cutAt?: number
}

const width = 1_000

interface Bar {
  label: Html
  /** Class of the color, and how much of it. */
  parts: [color: string, value: number][]
  text: string
}

export function insightsBody({ base, insights, cutAt }: View): Html {
  const { months, types, vms } = insights
  const isEmpty = months.every((one) => countTotal(one) === 0)
  const chooseColor = (type: string) => `c${types.indexOf(type)}`
  const legend = types.map(
    (type) => html`<li><i class="${chooseColor(type)}"></i>${plain(type)}</li>`,
  )
  const decisions = [
    ['c0', 'people'],
    ['c3', 'tokens'],
    ['c1', 'rules'],
    ['c4', 'nobody'],
  ].map(([color, words]) => html`<li><i class="${color!}"></i>${words}</li>`)
  const link = ({ month }: Month) => monthLink(base, month)
  if (isEmpty)
    return html`<h1>Insights</h1><p class="empty">No event of the last ${months.length} months is known.</p>`
  return html`<h1>Insights</h1>
<p class="note">The last ${months.length} months, without drills.${cutAt === undefined ? '' : ` Only the newest ${cutAt} events are counted.`}</p>
${describeBar(months)}
<div class="charts">
${chart(
  'Events by type',
  months.map((one) => typeBar(one, link(one), chooseColor)),
  legend,
)}
${chart(
  'Decided before the start, by',
  months.map((one) => decisionBar(one, link(one))),
  decisions,
)}
${chart(
  'Median notice',
  months.map((one) => timeBar(link(one), one.noticeMs)),
)}
${chart(
  'Median time until a person decided',
  months.map((one) => timeBar(link(one), one.decidedMs)),
)}
${chart(
  'VMs affected most often',
  vms.map(({ fleet, vm, count }): Bar => {
    const path = `${base}/events?${new URLSearchParams({ fleet, q: vm, step: 'all' })}`
    const label = html`<a href="${path}">${plain(vm)}</a> <span class="note">${plain(fleet)}</span>`
    return { label, parts: [['c6', count]], text: String(count) }
  }),
)}
</div>`
}

/** What a reader should take from the charts: `In 2026-11, 15 of 36 events started or ended undecided.` */
function describeBar(months: Month[]): Html {
  // the newest month is the first
  const last = months.find((one) => countTotal(one) > 0)!
  const all = last.people + last.tokens + last.rules + last.undecided
  if (all === 0) return ''
  const events = all === 1 ? '1 event' : `${all} events`
  const text =
    last.undecided === 0
      ? `In ${nameMonth(last.month)}, no event started undecided.`
      : `In ${nameMonth(last.month)}, ${last.undecided} of ${events} started or ended undecided.`
  return html`<p><b>${text}</b></p>`
}

/** `Nov 2026`: to the events of that month. */
function monthLink(base: string, month: string): Html {
  const [year, number] = month.split('-').map(Number) as [number, number]
  const last = new Date(Date.UTC(year, number, 0)).getUTCDate()
  const [since, until] = [`${month}-01`, `${month}-${last}`]
  const query = new URLSearchParams({ since, until, step: 'all' })
  return html`<a href="${base}/events?${query}">${nameMonth(month)}</a>`
}

function nameMonth(month: string): string {
  const options = { month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', options)
}

function typeBar(month: Month, label: Html, chooseColor: (type: string) => string): Bar {
  const parts = month.types.filter(([, count]) => count > 0)
  const words = parts.map(([type, count]) => `${type}\u00a0${count}`).join(', ')
  return {
    label,
    parts: parts.map(([type, count]) => [chooseColor(type), count]),
    text: words === '' ? 'none' : `${countTotal(month)}: ${plain(words)}`,
  }
}

function decisionBar({ people, tokens, rules, undecided }: Month, label: Html): Bar {
  const parts: Bar['parts'] = [
    ['c0', people],
    ['c3', tokens],
    ['c1', rules],
    ['c4', undecided],
  ]
  const named = Object.entries({ people, tokens, rules, nobody: undecided })
  const text = named.filter(([, count]) => count > 0).map(([who, count]) => `${who}\u00a0${count}`)
  return { label, parts, text: text.join(', ') || 'none' }
}

function timeBar(label: Html, ms: number | undefined): Bar {
  return { label, parts: [['c2', ms ?? 0]], text: ms === undefined ? 'none' : span(ms) }
}

function countTotal({ types }: Month): number {
  return types.reduce((sum, [, count]) => sum + count, 0)
}

function chart(title: string, bars: Bar[], legend: Html[] = []): Html {
  const addUp = ({ parts }: Bar) => parts.reduce((sum, [, value]) => sum + value, 0)
  const most = Math.max(1, ...bars.map(addUp))
  const rows = bars.map(
    (bar) => html`<li><span class="bar-label">${bar.label}</span>
<svg viewBox="0 0 ${width} 20" preserveAspectRatio="none" aria-hidden="true">${rects(bar, most)}</svg>
<span class="bar-text">${bar.text}</span></li>`,
  )
  return html`<section class="chart"><h2>${title}</h2>
${legend.length === 0 ? '' : html`<ul class="legend" aria-hidden="true">${legend}</ul>`}
<ol class="bars${legend.length === 0 ? '' : ' parted'}">${rows}</ol></section>`
}

function rects({ parts }: Bar, most: number): Html[] {
  let x = 0
  return parts.map(([color, value]) => {
    const wide = Math.round((value / most) * width)
    const rect = html`<rect class="${color}" x="${x}" y="0" width="${wide}" height="20"/>`
    x += wide
    return rect
  })
}
