// The answers that wait for a decision in this process. A place collects wake-ups from the time
// when it is taken, before the wait begins, so that none is lost in between.
import type { Hold, Holds } from '../use-cases/relay.ts'

/** Waits until `end` is called, at most `ms`. */
export type Wait = (ms: number, register: (end: () => void) => void) => Promise<void>

/** Each is an open connection. An event has at most four. */
const usualPlaces = { all: 1_000, ofFleet: 200 }

export interface HoldsHere extends Holds {
  /** Releases all answers, as if their time were over. */
  release(): void
}

export function createHolds({ places = usualPlaces, wait = inProcess } = {}): HoldsHere {
  const fleets = new Map<string, Map<string, Held>>()
  let taken = 0
  let isClosed = false
  let follower: Holds | undefined

  const hasRoom = (fleet: string, beacon: string) => {
    const own = fleets.get(fleet)
    if (isClosed || own?.has(beacon)) return !isClosed
    return taken < places.all && (own?.size ?? 0) < places.ofFleet
  }
  const leave = (fleet: string, beacon: string, held: Held) => {
    const own = fleets.get(fleet)
    if (own?.get(beacon) !== held) return
    taken -= 1
    own.delete(beacon)
    if (own.size === 0) fleets.delete(fleet)
  }
  const releaseAll = (why: Ended) => {
    for (const own of fleets.values()) for (const held of own.values()) held.end(why)
  }
  return {
    hasRoom,
    take(fleet, beacon, eventIds) {
      if (!hasRoom(fleet, beacon)) return undefined
      const own = fleets.get(fleet) ?? new Map<string, Held>()
      const before = own.get(beacon)
      before?.end('released')
      const held = new Held(eventIds, wait)
      fleets.set(fleet, own.set(beacon, held))
      if (before === undefined) taken += 1
      return { wait: (ms) => held.wait(ms), leave: () => leave(fleet, beacon, held) }
    },
    wake(event) {
      const { fleet, eventId } = event
      follower?.wake(event)
      for (const held of fleets.get(fleet)?.values() ?? []) if (held.sees(eventId)) held.end('over')
    },
    release: () => releaseAll('over'),
    close(next) {
      isClosed = true
      follower = next
      releaseAll('released')
    },
  }
}

type Ended = Awaited<ReturnType<Hold['wait']>>

class Held {
  readonly #eventIds: ReadonlySet<string>
  readonly #wait: Wait
  #ended: Ended | undefined
  #stop = () => {}

  constructor(eventIds: string[], wait: Wait) {
    this.#eventIds = new Set(eventIds)
    this.#wait = wait
  }

  sees(eventId: string): boolean {
    return this.#eventIds.has(eventId)
  }

  end(ended: Ended): void {
    this.#ended ??= ended
    this.#stop()
  }

  async wait(ms: number): Promise<Ended> {
    if (this.#ended === undefined) {
      await this.#wait(ms, (end) => {
        this.#stop = end
      })
    }
    return this.#ended ?? 'over'
  }
}

function inProcess(ms: number, register: (end: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    register(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
