// The filter of pages that show open events: by fleet, type, and a part of a name.
import { html } from 'hono/html'
import type { Html } from '../event.ts'
import { fleetField, typeField } from './parts.ts'

/** The filter as the address has it. Empty: all events. */
export interface ShownFilter {
  fleet: string
  type: string
  q: string
  /** The fleets that the visitor sees. */
  fleets: string[]
}

/** With fewer events, everything is in sight. */
const filterFrom = 5

export function isFiltered({ fleet, type, q }: ShownFilter): boolean {
  return fleet !== '' || type !== '' || q !== ''
}

/** `count`: how many events the page shows. `kept`: of the address, beside the filter. */
export function filterForm(
  action: string,
  filter: ShownFilter,
  count: number,
  kept: Record<string, string> = {},
): Html {
  if (count < filterFrom && !isFiltered(filter)) return ''
  const { fleet, fleets, type, q } = filter
  const hidden = Object.entries(kept).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return html`<details class="fold" id="filter"${isFiltered(filter) ? html` open` : ''}><summary>Filter</summary>
<form class="filter" method="get" action="${action}" role="search">${hidden}
<label>VM, scale set or event id <input name="q" value="${q}" maxlength="100" data-search></label>
${fleetField(fleet, fleets)}
${typeField(type)}
<button class="slim">Filter</button>${isFiltered(filter) ? html`<a href="${action}">Show all</a>` : ''}
</form></details>`
}
