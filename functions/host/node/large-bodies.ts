// Lets few large bodies be read at a time, so that others get their turn between two parts. Anybody may send hundreds
// at once, and a part takes 64 KB of the thread's time before anyone knows who sends it.
import type { IncomingMessage } from 'node:http'

/** A report of an event or two is smaller. */
const largeBytes = 32 * 1024

const usualLimits = {
  atOnce: 4,
  /** After this time, a body waits again while others do. */
  turnMs: 250,
}

interface Waiting {
  request: IncomingMessage
  timer?: NodeJS.Timeout
}

/** Makes a request wait for its turns, if its body is large or of unknown length. */
export function fewLargeAtOnce(limits = usualLimits): (request: IncomingMessage) => void {
  const waiting: Waiting[] = []
  let reading = 0
  const next = () => {
    while (reading < limits.atOnce && waiting.length > 0) begin(waiting.shift()!)
  }
  const begin = (one: Waiting) => {
    reading += 1
    one.timer = setTimeout(() => rest(one), limits.turnMs)
    one.request.resume()
  }
  const leave = (one: Waiting) => {
    clearTimeout(one.timer)
    if (one.timer === undefined) return
    delete one.timer
    reading -= 1
    // others go first
    setImmediate(next)
  }
  const rest = (one: Waiting) => {
    if (waiting.length > 0) {
      one.request.pause()
      waiting.push(one)
      leave(one)
    } else one.timer = setTimeout(() => rest(one), limits.turnMs)
  }
  return (request) => {
    const { headers } = request
    const isChunked = headers['transfer-encoding'] !== undefined
    if (!isChunked && Number(headers['content-length']) <= largeBytes) return
    const one: Waiting = { request }
    request.pause()
    waiting.push(one)
    const end = () => {
      const place = waiting.indexOf(one)
      if (place !== -1) waiting.splice(place, 1)
      leave(one)
    }
    request.once('end', end).once('close', end)
    next()
  }
}
