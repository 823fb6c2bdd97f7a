// The maintenance of some fleets as a calendar. All who read the same fleets share one text, as calendars of
// many people read the same feed.
import { inSlices } from '../../../shared/slices.ts'
import { type Access, listFleets } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createShortCache } from '../../use-cases/short-cache.ts'
import { byBegin, type CalendarEntry, calendarEntry, calendarText, isInCalendar } from './rule.ts'

/** Azure announces events at most 7 days ahead, and they run for a short time. */
const recentMs = 9 * dayMs
const pageSize = 40
/** The newest events of a fleet that the calendar is made from. */
const maxEvents = 500
/** How long one text is used. */
const sharedMs = 60_000

export function createCalendarReader(relay: Relay) {
  const texts = createShortCache(relay, sharedMs, (fleets) => compose(relay, fleets))
  return (access: Access) => texts.read(listFleets(access, Object.keys(relay.config.fleets)))
}

async function compose(relay: Relay, fleets: string[]): Promise<string> {
  const entries: CalendarEntry[] = []
  for (const fleet of fleets) entries.push(...(await recentIn(relay, fleet)))
  return calendarText(entries.sort(byBegin).map(({ text }) => text))
}

/** The newest ones, page by page: 500 records of large events would need all memory. */
async function recentIn(relay: Relay, fleet: string): Promise<CalendarEntry[]> {
  const { store, now, config } = relay
  const since = now() - recentMs
  const found: CalendarEntry[] = []
  for (let before: number | undefined; found.length < maxEvents; ) {
    const page = { fleets: [fleet], limit: pageSize, ...(before === undefined ? {} : { before }) }
    const events = await store.listEvents(page)
    const shown = events.filter((one) => isInCalendar(one, now()))
    const entries = await inSlices(shown, relay.host.pause, (some) =>
      some.map((one) => calendarEntry(one, config.publicUrl, now())),
    )
    found.push(...entries)
    before = events.at(-1)?.firstSeenAt
    // a page has fewer if an event is damaged
    if (before === undefined || before < since) break
  }
  return found
}
