// A relay that dies at a given write to its store or call to a channel, before it or right after it took
// effect; everything that it calls from then on fails. To die at a read is to die after the write before it.
import type { Relay } from '../../functions/relay.ts'
import type { Store } from '../../functions/store/store.ts'

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
