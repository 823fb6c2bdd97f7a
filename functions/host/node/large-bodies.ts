// Hands few large bodies over in one turn of the event loop, so that others get theirs between two. Anybody may send
// hundreds at once, and to check who sent one takes half a millisecond.

import { usualBytes } from '../../http/beacons/request.ts'

const perTurn = 2

/** Calls `work` at once for a small body, else in its turn. */
export function createTurns(limits = { largeBytes: usualBytes, perTurn }) {
  const waiting: (() => void)[] = []
  const turn = () => {
    for (const work of waiting.splice(0, limits.perTurn)) work()
    if (waiting.length > 0) setImmediate(turn)
  }
  return (bytes: number, work: () => void): void => {
    if (bytes <= limits.largeBytes) work()
    else if (waiting.push(work) === 1) setImmediate(turn)
  }
}
