// Events that this process fails to store. For a minute, their beacons send them again with all that
// changed. After that, such an event no longer keeps back the rest of what its beacons report.
import { setNewest } from '../core/newest.ts'
import type { EventKey } from '../store/store.ts'

const patienceMs = 60_000
/** A failure this long after the last one is a new one. */
const pauseMs = 10 * 60_000
const maxKept = 1_000

export class FailingEvents {
  readonly #spans = new Map<string, { since: number; lastAt: number }>()

  /** Notes a failure. Returns whether the event has failed for so long that nothing waits for it. */
  failed(event: EventKey, now: number): boolean {
    const name = nameOf(event)
    const known = this.#spans.get(name)
    const goesOn = known !== undefined && Math.abs(now - known.lastAt) < pauseMs
    const since = goesOn ? known.since : now
    setNewest(this.#spans, name, { since, lastAt: now }, maxKept)
    return now - since >= patienceMs
  }

  stored(event: EventKey): void {
    if (this.#spans.size > 0) this.#spans.delete(nameOf(event))
  }
}

function nameOf({ fleet, eventId }: EventKey): string {
  return JSON.stringify([fleet, eventId])
}
