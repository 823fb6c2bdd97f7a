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
  const known = Object.hasOwn(slackCodes, words) ? `${slackCodes[words]}: ${words}` : words
  return `${cut(known, maxReason)} (${status})`
}

/** Slack answers in codes: https://api.slack.com/messaging/webhooks#handling_errors */
const slackCodes: Record<string, string> = {
  no_service: 'Slack no longer knows this webhook',
  no_team: 'Slack no longer knows the workspace of this webhook',
  channel_not_found: 'Slack does not find the channel',
  channel_is_archived: 'the channel in Slack is archived',
  not_in_channel: 'the bot is not in the channel in Slack',
  action_prohibited: 'an administrator of Slack has restricted this webhook',
}

/** PagerDuty, Teams and most other services explain themselves in these fields. */
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
