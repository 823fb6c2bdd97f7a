// A relay that dies at a given write of rows or call to a channel, before it or right after it took
// effect. Everything that it calls from then on fails. To die at a read is to die after the write
// before it.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from './folder.ts'
import { storeOver } from './stores.ts'
import { isWhole } from './whole.ts'
import type { World } from './world.ts'

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

export function withFuse({ relay, store }: Pick<World, 'relay' | 'store'>, fuse: Fuse): void {
  const { rows } = store
  relay.store = storeOver({
    lagMs: rows.lagMs,
    positions: rows.positions,
    read: burning(fuse, rows.read.bind(rows), false),
    list: burning(fuse, rows.list.bind(rows), false),
    find: burning(fuse, rows.find.bind(rows), false),
    change: burning(fuse, rows.change.bind(rows)),
    tidy: (...unnamed) => rows.tidy(...unnamed),
  })
  relay.sending.send = burning(fuse, relay.sending.send)
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
  // each call in `test:all`
  const stride = (inTurn ? 2 : 1) * (isWhole ? 1 : 3)
  let crashes = 0
  for (const after of [false, true]) {
    for (let calls = inTurn && after ? 2 : 1; ; calls += stride) {
      const folder = newFolder('fuse')
      try {
        const played = await play({ left: calls, after }, join(folder, 'foghorn.sqlite'))
        check(played, `dead at call ${calls}, ${after ? 'after' : 'before'} its effect`)
        crashes += played.deaths
        if (played.deaths === 0) break
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  }
  return crashes
}
