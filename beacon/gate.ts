// When a request to IMDS may go out. Azure grants a VM 5 requests a second, shared with other
// agents. So the beacon sends at most 4, and none while IMDS asks it to wait.
import type { Clock } from './clock.ts'

/** Requests in any `windowMs`. */
const requestsPerWindow = 4
/** One second, and a margin: two requests may arrive closer together than they were sent. */
const windowMs = 1_050

export interface Gate {
  /**
   * Resolves when the request may go out (then send it at once), or when `signal` aborts. The first
   * poll in a window goes before all others, and its place is kept free. Otherwise requests go out
   * in order of arrival.
   */
  pass(kind: 'poll' | 'other', signal: AbortSignal): Promise<void>
  /** No request goes out for `ms`. */
  pause(ms: number): void
}

interface Waiting {
  kind: 'poll' | 'other'
  go(): void
}

export function createGate(clock: Pick<Clock, 'monotonic' | 'sleep'>): Gate {
  /** The requests of the last window, oldest first. */
  let sent: { at: number; kind: Waiting['kind'] }[] = []
  let pausedUntil = Number.NEGATIVE_INFINITY
  const queue: Waiting[] = []
  let timer: AbortController | undefined

  const nextOf = (now: number): Waiting | undefined => {
    if (now < pausedUntil || sent.length >= requestsPerWindow) return undefined
    if (sent.some(({ kind }) => kind === 'poll')) return queue[0]
    const poll = queue.find(({ kind }) => kind === 'poll')
    return poll ?? (sent.length < requestsPerWindow - 1 ? queue[0] : undefined)
  }

  const serve = (): void => {
    const now = clock.monotonic()
    sent = sent.filter(({ at }) => now - at < windowMs)
    for (let next = nextOf(now); next !== undefined; next = nextOf(now)) {
      queue.splice(queue.indexOf(next), 1)
      sent.push({ at: now, kind: next.kind })
      next.go()
    }
    timer?.abort()
    timer = undefined
    if (queue.length === 0) return
    const freeAt = Math.max(pausedUntil, sent[0] === undefined ? now : sent[0].at + windowMs)
    const waiting = new AbortController()
    timer = waiting
    void clock.sleep(freeAt - now, waiting.signal).then(() => {
      if (!waiting.signal.aborted) serve()
    })
  }

  return {
    pass: (kind, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const leave = () => {
          queue.splice(queue.indexOf(waiting), 1)
          resolve()
          serve()
        }
        const go = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const waiting = { kind, go }
        signal.addEventListener('abort', leave, { once: true })
        queue.push(waiting)
        serve()
      }),
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms)
    },
  }
}
