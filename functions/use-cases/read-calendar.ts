// The maintenance of some fleets as a calendar. All readers of a fleet share what the store
// returned, as calendars of many people read the same feed.
import type { EventRecord } from '../core/event/event.ts'
import { calendarText, isInCalendar } from '../core/message/calendar.ts'
import { type Access, fleetsOf } from '../core/rules/access.ts'
import type { Relay } from './relay.ts'

/** Azure announces events at most 7 days ahead, and they run for a short time. */
const recentMs = 9 * 86_400_000
const pageSize = 200
/** The newest events of a fleet that the calendar is made from. */
const maxEvents = 500
/** How long one read of the store is used. */
const sharedMs = 60_000

export function createCalendarReader(relay: Relay) {
  const shared = new Map<string, { at: number; events: Promise<EventRecord[]> }>()
  const read = (fleet: string): Promise<EventRecord[]> => {
    const now = relay.now()
    const known = shared.get(fleet)
    if (known !== undefined && now >= known.at && now - known.at < sharedMs) return known.events
    const events = recentIn(relay, fleet)
    shared.set(fleet, { at: now, events })
    events.catch(() => {
      if (shared.get(fleet)?.events === events) shared.delete(fleet)
    })
    return events
  }
  return async (access: Access): Promise<string> => {
    const { config } = relay
    const events: EventRecord[] = []
    for (const fleet of fleetsOf(access, Object.keys(config.fleets))) {
      events.push(...(await read(fleet)))
    }
    const now = relay.now()
    const shown = events.filter((one) => isInCalendar(one, now))
    return calendarText(shown, config.publicUrl, now)
  }
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
