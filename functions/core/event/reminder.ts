// Reminders of undecided events, at the distances from NotBefore that routes set.

import { type Asking, type EventRecord, lastExpiry, type OpenRecord } from './event.ts'
import { addHistory } from './history.ts'
import { isUndecided } from './is-over.ts'
import { span } from './time.ts'

/**
 * The next reminder of an event that asks. `beforeSeconds`: the distances of all routes, farthest
 * first.
 */
export function nextReminder(
  record: EventRecord,
  beforeSeconds: number[],
): { at: number; beforeSeconds: number } | undefined {
  const { notBeforeAt } = record.facts
  if (!isUndecided(record) || notBeforeAt === undefined) return undefined
  const next = beforeSeconds.find((one) => !record.reminders.passed.includes(one))
  return next === undefined ? undefined : { at: notBeforeAt - next * 1_000, beforeSeconds: next }
}

/** The record with its due reminder, or undefined. If several are due, only the nearest is sent. */
export function remind(
  record: OpenRecord,
  beforeSeconds: number[],
  now: number,
): OpenRecord | undefined {
  const next = nextReminder(record, beforeSeconds)
  const { notBeforeAt = 0 } = record.facts
  if (next === undefined || next.at > now || notBeforeAt <= now) return undefined
  const { passed } = record.reminders
  const isDue = (seconds: number) =>
    notBeforeAt - seconds * 1_000 <= now && !passed.includes(seconds)
  const due = beforeSeconds.filter(isDue)
  const nearest = due.at(-1)!
  const asked = lastAsked(record)
  const late = notBeforeAt - nearest * 1_000 <= asked.at
  const last = { beforeSeconds: nearest, due, late, ...(late && { askedBy: asked.by }) }
  const reminded = { ...record, reminders: { passed: [...passed, ...due], last } }
  // a late reminder mostly reaches no channel, as those that were just asked do not get it
  if (late) return reminded
  const note = `${span(nearest * 1_000)} before NotBefore`
  return addHistory(reminded, { at: now, what: 'reminder', note })
}

/** When people were last asked, and by which moment. */
function lastAsked(record: EventRecord): { at: number; by: Asking } {
  const { changed, firstSeenAt, backAt = 0, wait } = record
  const isMoved = changed?.names.includes('notBeforeAt') === true
  const times: [Asking, number | undefined][] = [
    ['scheduled', Math.max(firstSeenAt, backAt)],
    ['changed', isMoved ? changed.at : undefined],
    ['changed', lastExpiry(record)],
    ['not_ready', wait.notReady?.at],
  ]
  return times
    .map(([by, at = Number.NEGATIVE_INFINITY]) => ({ by, at }))
    .reduce((last, one) => (one.at > last.at ? one : last))
}
