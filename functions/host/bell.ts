// Wakes the readers of moments in this process when a commit has written some. Only a hint: readers
// also look by themselves, as another process may have committed.
import type { Bell } from '../use-cases/relay.ts'

export function createBell(): Bell {
  let rung = 0
  let isClosed = false
  let waiting: (() => void)[] = []
  const wakeAll = () => {
    const all = waiting
    waiting = []
    for (const wake of all) wake()
  }
  return {
    get rung() {
      return rung
    },
    get isClosed() {
      return isClosed
    },
    ring() {
      rung += 1
      wakeAll()
    },
    close() {
      isClosed = true
      wakeAll()
    },
    next(seen, ms) {
      if (isClosed || rung !== seen) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms)
        function done() {
          clearTimeout(timer)
          waiting = waiting.filter((one) => one !== done)
          resolve()
        }
        waiting.push(done)
      })
    },
  }
}
