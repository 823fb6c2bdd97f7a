// A relay that dies at a given call to its store or to a channel, before the call or right after it took
// effect; everything that it calls from then on fails.
import type { Relay } from '../../functions/relay.ts'
import type { Store } from '../../functions/store/store.ts'

/** Thrown at every call of a relay that is dead. */
class Dead extends Error {}

export interface Fuse {
  /** Calls until death; the call that reaches 0 dies, after its effect where `after` is set. */
  left: number
  after: boolean
}

function burning<Args extends unknown[], Result>(
  fuse: Fuse,
  call: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    if (fuse.left <= 0) throw new Dead()
    fuse.left -= 1
    if (fuse.left > 0) return call(...args)
    if (fuse.after) await call(...args)
    throw new Dead()
  }
}

export function withFuse(relay: Relay, fuse: Fuse): void {
  const store = relay.store
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store)) as (keyof Store)[]
  const fused = Object.create(store)
  for (const name of names) {
    const method = store[name] as (...args: unknown[]) => unknown
    if (method.constructor.name !== 'AsyncFunction') continue
    fused[name] = burning(fuse, (...args) => method.apply(store, args) as Promise<unknown>)
  }
  relay.store = fused
  relay.send = burning(fuse, relay.send)
}
