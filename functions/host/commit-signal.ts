// Wakes the readers of moments in this process when a commit has written some. Only a hint: readers
// also look by themselves, as another process may have committed.
import type { CommitSignal } from '../use-cases/relay.ts'

export function createCommitSignal(): CommitSignal {
  let raised = 0
  let isClosed = false
  let follower: CommitSignal | undefined
  let waiting: (() => void)[] = []
  const wakeAll = () => {
    const all = waiting
    waiting = []
    for (const wake of all) wake()
  }
  return {
    get raised() {
      return raised
    },
    get isClosed() {
      return isClosed
    },
    raise() {
      raised += 1
      follower?.raise()
      wakeAll()
    },
    close(next) {
      isClosed = true
      follower = next
      wakeAll()
    },
    next(seen, ms) {
      if (isClosed || raised !== seen) return Promise.resolve()
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
