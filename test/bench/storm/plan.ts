// Which member reports what, and when: the same order for every target, shuffled as a real storm is.
import { randomUUID } from 'node:crypto'
import { createRandom } from '../../sim/random.ts'
import type { Post } from './load.ts'

export interface Shape {
  events: number
  /** VMs of the event's tenant, each of which sees it. */
  members: number
}

/** What every member sees of its event, one after the other. */
export const changes = ['scheduled', 'started', 'gone'] as const
export type Change = (typeof changes)[number]

/** The requests of one storm, ready to be sent. */
export interface Storm {
  /** By the `event` of a post. */
  eventIds: string[]
  /** One for each change. A member reports the next one only after the one before was answered. */
  waves: Post[][]
}

/** One member's report of one change, as the target takes it. */
export type Prepare = (
  eventId: string,
  event: number,
  member: number,
  change: Change,
) => Buffer | Promise<Buffer>

const seed = 20_261_121

export async function planStorm({ events, members }: Shape, prepare: Prepare): Promise<Storm> {
  const random = createRandom(seed)
  const eventIds = Array.from({ length: events }, () => randomUUID())
  const waves: Post[][] = []
  for (const change of changes) {
    const wave: Post[] = []
    for (const place of shuffled(events * members, random.int)) {
      const event = Math.floor(place / members)
      const bytes = await prepare(eventIds[event]!, event, place % members, change)
      wave.push({ bytes, event })
    }
    waves.push(wave)
  }
  return { eventIds, waves }
}

/** The numbers below `length`, by Fisher and Yates. */
function shuffled(length: number, int: (min: number, max: number) => number): number[] {
  const places = Array.from({ length }, (_, i) => i)
  for (let i = length - 1; i > 0; i--) {
    const j = int(0, i)
    const place = places[i]!
    places[i] = places[j]!
    places[j] = place
  }
  return places
}
