// Lets the process do other work between two events of a report. SQLite answers at once, so without
// this a report of hundreds of events would keep all other requests and timers waiting.

/** So long that giving way costs little beside it. */
const workMs = 10

/** `now`: ms of a clock that never jumps. */
export function createGiveWay(now: () => number): () => Promise<void> | undefined {
  let since = now()
  return () => {
    if (now() - since < workMs) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = now()
        resolve()
      })
    })
  }
}
