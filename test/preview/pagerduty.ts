// An incident as PagerDuty shows it: what a phone says, how urgent it is, and what lies behind.
import { html } from 'hono/html'
import type { Json } from '../notify/kinds.ts'

const urgent = ['critical', 'error']

export function incident({ event_action: action, payload, links = [] }: Json) {
  const { summary, severity, source, custom_details: details = {} } = payload
  const state = { trigger: 'Triggered', acknowledge: 'Acknowledged', resolve: 'Resolved' }[
    action as string
  ]
  const urgency = action === 'trigger' ? (urgent.includes(severity) ? 'high' : 'low') : 'none'
  return html`<div class="pager">
<div><span class="tag ${action}">${state}</span> <span class="tag ${severity}">${severity}</span>
<span class="context">urgency by severity: ${urgency}</span></div>
<h4>${summary}</h4>
<div class="context">${source}</div>
<div class="buttons">${links.map(
    (link: Json) => html`<a class="button" href="${link.href}">${link.text}</a>`,
  )}</div>
<dl>${Object.entries(details).map(
    ([name, value]) => html`<dt>${name}</dt><dd>${String(value)}</dd>`,
  )}</dl>
</div>`
}
