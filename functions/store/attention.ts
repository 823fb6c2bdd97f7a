// Which event pages were opened lately: beacons of these events report often, as a decision is
// near. A lost entry costs time, never an approval. Hosts with many workers keep it in the store
// instead.
import { setNewest } from '../core/newest.ts'
import type { EventKey } from './store.ts'

/** A person who opened the page decides within this time, or opens it again. */
export const attentionMs = 15 * 60_000
const maxEvents = 1_000

export interface Attention {
  /** A person opened the event's page at `now`, epoch ms. */
  note(key: EventKey, now: number): Promise<void>
  /** Whether its page was opened lately. */
  isOn(key: EventKey, now: number): Promise<boolean>
}

export function createAttention(): Attention {
  const openedAt = new Map<string, number>()
  const nameOf = ({ fleet, eventId }: EventKey) => JSON.stringify([fleet, eventId])
  return {
    async note(key, now) {
      setNewest(openedAt, nameOf(key), now, maxEvents)
    },
    async isOn(key, now) {
      return now - (openedAt.get(nameOf(key)) ?? Number.NEGATIVE_INFINITY) < attentionMs
    },
  }
}
