// Judges what the relay answered, and how long to wait before the page asks again. Pure.

const longestWaitMs = 60_000

/** `failures`: how many requests failed since the last answer. */
export function waitMs(everyMs: number, failures: number): number {
  return Math.min(Math.max(longestWaitMs, everyMs), everyMs * 2 ** failures)
}

/** What an answer has. A proxy in front of the relay can also answer with a page. */
interface AnswerPage {
  status: number
  isOurs: boolean
  /** It shows what the open page is about: an event, or a page of the console. */
  isLive: boolean
}

/**
 * An answer to the question for news. `gone`: the link no longer works, or the visitor was signed
 * out, so the page stops asking.
 */
export function readNews({
  status,
  isOurs,
  isLive,
}: AnswerPage): 'same' | 'new' | 'gone' | 'failed' {
  if (status === 304) return 'same'
  if (!isOurs) return 'failed'
  if ([403, 404, 410].includes(status)) return 'gone'
  if (status !== 200) return 'failed'
  return isLive ? 'new' : 'gone'
}

/** An answer to a form. `shown`: it replaces the page. */
export function readAnswer({ status, isOurs, isLive }: AnswerPage): 'shown' | 'busy' | 'not_sent' {
  if (isOurs && isLive) return 'shown'
  if (status === 429) return 'busy'
  return status >= 500 || !isOurs ? 'not_sent' : 'shown'
}
