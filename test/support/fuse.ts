// A relay that dies at a given write to its store or call to a channel, before it or right after it took
// effect; everything that it calls from then on fails. To die at a read is to die after the write before it.

import type { Store } from '../../functions/store/store.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import { createTables } from './tables.ts'

/** Thrown at every call of a relay that is dead. */
class Dead extends Error {}

export interface Fuse {
  /** Writes until death; the one that reaches 0 dies, after its effect where `after` is set. */
  left: number
  after: boolean
}

function burning<Args extends unknown[], Result>(
  fuse: Fuse,
  call: (...args: Args) => Promise<Result>,
  writes = true,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    if (fuse.left <= 0) throw new Dead()
    if (!writes) return call(...args)
    fuse.left -= 1
    if (fuse.left > 0) return call(...args)
    if (fuse.after) await call(...args)
    throw new Dead()
  }
}

const reads = /^(read|list|due|next)/

export function withFuse(relay: Relay, fuse: Fuse): void {
  const store = relay.store
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store)) as (keyof Store)[]
  const fused = Object.create(store)
  for (const name of names) {
    const method = store[name] as (...args: unknown[]) => unknown
    if (method.constructor.name !== 'AsyncFunction') continue
    const call = (...args: unknown[]) => method.apply(store, args) as Promise<unknown>
    fused[name] = burning(fuse, call, !reads.test(name))
  }
  relay.store = fused
  relay.send = burning(fuse, relay.send)
}

interface Played {
  deaths: number
}

/**
 * Plays a course once for each call at which a relay can die, each time on a file of its own, until it
 * outlives the course. Returns how often it died.
 */
export async function dieAtEveryCall<Result extends Played>(
  play: (fuse: Fuse, path: string) => Promise<Result>,
  check: (played: Result, when: string) => void,
  /** Whether each call is tried only before its effect or only after it, in turn. */
  inTurn = false,
): Promise<number> {
  let crashes = 0
  for (const after of [false, true]) {
    for (let calls = inTurn && after ? 2 : 1; ; calls += inTurn ? 2 : 1) {
      const tables = createTables()
      try {
        const played = await play({ left: calls, after }, tables.path)
        check(played, `dead at call ${calls}, ${after ? 'after' : 'before'} its effect`)
        crashes += played.deaths
        if (played.deaths === 0) break
      } finally {
        tables.remove()
      }
    }
  }
  return crashes
}
