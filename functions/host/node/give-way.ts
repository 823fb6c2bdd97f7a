// Lets the process do other work between two events of a report. SQLite answers at once, so without
// this a report of hundreds of events would keep all other requests and timers waiting.

/** Long enough that giving way costs nothing. */
const workMs = 10

export function createGiveWay(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < workMs) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}
