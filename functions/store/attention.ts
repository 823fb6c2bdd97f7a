// Which events somebody has just looked at, so that beacons are near when the click comes. It is a hint, and
// losing it costs time, never an approval. One process keeps it in memory; many share it in their store.
import type { EventKey } from './store.ts'

/** A person who opened the page decides within this time, or opens it again. */
export const attentionMs = 15 * 60_000
const maxEvents = 1_000

export interface Attention {
  /** Somebody opened the event's page at `now`, epoch ms. */
  note(key: EventKey, now: number): Promise<void>
  /** Whether its page was opened lately. */
  isOn(key: EventKey, now: number): Promise<boolean>
}

export function createAttention(): Attention {
  const openedAt = new Map<string, number>()
  const nameOf = ({ fleet, eventId }: EventKey) => JSON.stringify([fleet, eventId])
  return {
    async note(key, now) {
      openedAt.delete(nameOf(key))
      openedAt.set(nameOf(key), now)
      const oldest = openedAt.keys().next().value
      if (openedAt.size > maxEvents && oldest !== undefined) openedAt.delete(oldest)
    },
    async isOn(key, now) {
      return now - (openedAt.get(nameOf(key)) ?? Number.NEGATIVE_INFINITY) < attentionMs
    },
  }
}
