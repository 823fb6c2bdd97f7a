// The maintenance of some fleets as a calendar. All who read the same fleets share one text, as calendars of
// many people read the same feed.
import { inSlices } from '../../../shared/slices.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { type Access, listFleets } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createShortCache } from '../../use-cases/short-cache.ts'
import { byBegin, calendarEntry, calendarText, isInCalendar } from './rule.ts'

/** Azure announces events at most 7 days ahead, and they run for a short time. */
const recentMs = 9 * dayMs
const pageSize = 200
/** The newest events of a fleet that the calendar is made from. */
const maxEvents = 500
/** How long one text is used. */
const sharedMs = 60_000

export function createCalendarReader(relay: Relay) {
  const texts = createShortCache(relay, sharedMs, (fleets) => compose(relay, fleets))
  return (access: Access) => texts.read(listFleets(access, Object.keys(relay.config.fleets)))
}

async function compose(relay: Relay, fleets: string[]): Promise<string> {
  const events: EventRecord[] = []
  for (const fleet of fleets) events.push(...(await recentIn(relay, fleet)))
  const now = relay.now()
  const shown = events.filter((one) => isInCalendar(one, now)).sort(byBegin)
  const { publicUrl } = relay.config
  const entries = await inSlices(shown, relay.host.pause, (some) =>
    some.map((one) => calendarEntry(one, publicUrl, now)),
  )
  return calendarText(entries)
}

async function recentIn({ store, now }: Relay, fleet: string): Promise<EventRecord[]> {
  const since = now() - recentMs
  const found: EventRecord[] = []
  for (let before: number | undefined; found.length < maxEvents; ) {
    const page = { fleets: [fleet], limit: pageSize, ...(before === undefined ? {} : { before }) }
    const events = await store.listEvents(page)
    found.push(...events.filter((one) => isInCalendar(one, now())))
    before = events.at(-1)?.firstSeenAt
    if (events.length < pageSize || before === undefined || before < since) break
  }
  return found
}
