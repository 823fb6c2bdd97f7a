// Why a channel does not accept messages, in words.
import { cut } from '../../../shared/text.ts'

const maxReason = 160

/**
 * `note` is that of an attempt, such as `HTTP 400: {"errors":["Invalid routing key"]}`. A reader wants the
 * words in it: `Invalid routing key (HTTP 400)`.
 */
export function reasonIn(note: string): string {
  const [, status, answer = ''] = /^(HTTP \d+): (.*)$/s.exec(note) ?? []
  if (status === undefined) return cut(note, maxReason)
  const words = wordsIn(answer) ?? answer
  return `${cut(words, maxReason)} (${status})`
}

/** Most services explain themselves in these fields. */
function wordsIn(answer: string): string | undefined {
  try {
    const { errors, error, message } = JSON.parse(answer) as Record<string, unknown>
    const first = Array.isArray(errors) ? errors[0] : undefined
    return [first, nestedIn(error), error, message].find(
      (one): one is string => typeof one === 'string' && one !== '',
    )
  } catch {
    return undefined
  }
}

function nestedIn(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { message?: unknown }).message : ''
}
