// Judges what the relay answered, and how long to wait before the page asks again. Pure.

/** The page asks for the state this often while the relay answers. */
export const askEveryMs = 5_000
const longestWaitMs = 60_000

/** `failures`: how many requests failed since the last answer. */
export function waitMs(failures: number): number {
  return Math.min(longestWaitMs, askEveryMs * 2 ** failures)
}

/** `gone`: the link no longer works, so the page stops asking. */
export function readStatus(status: number): 'state' | 'gone' | 'failed' {
  if (status >= 200 && status < 300) return 'state'
  return [403, 404, 410].includes(status) ? 'gone' : 'failed'
}

/** The page that answered a form. A proxy in front of the relay can also answer with a page. */
interface AnswerPage {
  status: number
  isOurs: boolean
  hasEvent: boolean
}

/** `shown`: the answer replaces the page. */
export function readAnswer({
  status,
  isOurs,
  hasEvent,
}: AnswerPage): 'shown' | 'busy' | 'not_sent' {
  if (isOurs && hasEvent) return 'shown'
  if (status === 429) return 'busy'
  return status >= 500 || !isOurs ? 'not_sent' : 'shown'
}
