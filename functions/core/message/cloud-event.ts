// A moment for other systems, as a CloudEvent 1.0 in structured JSON: webhooks and streams send it.
import { cut } from '../../../shared/document.ts'
import type { AlertTelling, Telling } from '../delivery/delivery.ts'
import type { Readiness } from '../event/hook-state.ts'
import { publicView } from '../event/public-view.ts'

/** Standard Webhooks advises to stay below 20 kB, as receivers may refuse more. */
const maxBodyBytes = 19_999

/**
 * The same bytes at every attempt: nothing depends on the time of sending. If the body is too long,
 * the list of VMs is cut first (`resourcesTotal` has their number), then the lists in `readiness`
 * (`counts` stay), then the description (ends in `…`).
 */
export function cloudEventBody(id: string, telling: Telling | AlertTelling): string {
  const { event } = telling
  const { resources, description = '' } = event.facts
  const written = (names: number, listed: number, length: number) => {
    const kept = { resources: resources.slice(0, names), description: cut(description, length) }
    return JSON.stringify(cloudEvent(id, telling, { ...kept, listed }), wholeCharacters)
  }
  let [names, length] = [resources.length, description.length]
  let listed = listsIn(event)
  let body = written(names, listed, length)
  while (isTooLong(body) && (names > 0 || listed > 0 || length > 1)) {
    if (names > 0) names = Math.floor(names * 0.9)
    else if (listed > 0) listed = Math.floor(listed / 2)
    else length = Math.max(1, Math.floor(length * 0.9))
    body = written(names, listed, length)
  }
  return body
}

function isTooLong(body: string): boolean {
  return new TextEncoder().encode(body).length > maxBodyBytes
}

/** The length of the longest list in `readiness`. */
function listsIn({ readiness }: Telling['event']): number {
  return Math.max(readiness?.unready.length ?? 0, readiness?.restore?.failed.length ?? 0)
}

function cutLists(readiness: Readiness, listed: number): Readiness {
  const { unready, restore } = readiness
  return {
    ...readiness,
    unready: unready.slice(0, listed),
    ...(restore && { restore: { ...restore, failed: restore.failed.slice(0, listed) } }),
  }
}

/** Many receivers cannot read JSON with half a character. */
export function wholeCharacters(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}

function cloudEvent(
  id: string,
  telling: Telling | AlertTelling,
  kept: { resources: string[]; description: string; listed: number },
) {
  const { resources, description, listed } = kept
  const { readiness, ...event } = telling.event
  const shown = readiness && { readiness: cutLists(readiness, listed) }
  const view = publicView({ ...event, ...shown })
  const all = view.resources.length
  return {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(event.fleet)}`,
    type: `foghorn.event.${telling.moment}`,
    time: new Date(telling.at).toISOString(),
    subject: event.eventId,
    datacontenttype: 'application/json',
    data: {
      ...view,
      resources,
      ...(resources.length < all ? { resourcesTotal: all } : {}),
      ...(view.description === undefined ? {} : { description }),
      moment: telling.moment,
      ...(telling.moment === 'alert' ? { about: telling.about } : {}),
    },
  }
}
