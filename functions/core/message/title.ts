// The title of each message: what, which VMs, and when.
import { isAdvice } from '../../../shared/document.ts'
import type { Notification } from '../delivery/delivery.ts'
import { undecidable } from '../event/facts.ts'
import type { NotReady } from '../event/hook-state.ts'
import { clock, lastingClock, relative } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { chooseTitle } from '../event/words.ts'
import { listUnapproved, unheardLines } from './approval.ts'
import { describeSubject, isGuess, isReopened, vmsIn } from './phrases.ts'
import { waitLines } from './readiness.ts'

export function composeTitle(notification: Notification, now: number): string {
  return titleWith(notification, describeDue(notification.event, now), clock, now)
}

/** A title that is read long after, as in a list of incidents. It has absolute times only. */
export function composeLastingTitle(notification: Notification, now: number): string {
  const { notBeforeAt } = notification.event.facts
  const due = notBeforeAt === undefined ? '' : ` at ${lastingClock(notBeforeAt, now)}`
  return titleWith(notification, due, lastingClock, now)
}

/** What is announced of which VMs. */
export function whatIn(event: EventView): string {
  if (isAdvice(event.facts)) return `Azure may reclaim ${vmsIn(event)} soon`
  return describeSubject(event)
}

/** Times come before the names, which may be long and cut. */
function titleWith(
  { moment, event }: Notification,
  due: string,
  timeOf: (at: number, now: number) => string,
  now: number,
): string {
  const { started, ended, decided } = event
  const subject = describeSubject(event)
  const on = (at: number | undefined) => (at === undefined ? '' : ` at ${timeOf(at, now)}`)
  // no time: Azure may never do it
  if (isAdvice(event.facts)) return whatIn(event)
  switch (moment) {
    case 'scheduled':
      return `${isReopened(event) ? 'Back: ' : ''}${subject}${isAtOnce(event) ? ' may start at any moment' : due}`
    case 'changed':
      // Azure was told about the others
      return listUnapproved(event).length > 0
        ? `May start at any moment: ${subject}`
        : `Changed: ${subject}${due}`
    case 'not_ready':
      return `${inVain[event.wait.notReady?.why ?? 'cannot_be_ready']}: ${subject}${due}`
    case 'reminder':
      return `Still undecided: ${subject}${due}`
    case 'approved':
      return `${chooseTitle(moment)}${on(decided?.at)}${whyNotYet(event, now)}: ${subject}`
    case 'declined':
    case 'stuck':
      return `${chooseTitle(moment)}: ${subject}${due}`
    case 'started':
      if (started?.kind === 'already_running' && !isReopened(event))
        return `Already running: ${subject}`
      return `${describeStart(event)}${on(started?.at)}: ${subject}`
    case 'completed':
      return `${surely(chooseTitle(moment), ended)}${on(ended?.at)}: ${subject}`
    case 'cancelled':
      if (ended?.inferred === 'drill_overdue') return `Not run: ${subject}`
      return `${surely(chooseTitle(moment), ended)}${on(ended?.at)}: ${subject}`
    case 'lost':
      return `${chooseTitle(moment)}: ${subject}`
  }
}

/** A push shows nothing but the title. */
function whyNotYet(event: EventView, now: number): string {
  return unheardLines(event, now).length === 0 ? '' : ', but nobody can tell Azure'
}

/** A rule approves it as soon as it can. */
function isAtOnce(event: EventView): boolean {
  const { policy, decided, phase } = event
  const isRuled = policy.decide === 'approve' && decided === undefined && phase === 'scheduled'
  return isRuled && undecidable(event.facts) === undefined && waitLines(event).length === 0
}

function surely(word: string, ended: EventView['ended']): string {
  return isGuess(ended) ? `Probably ${word.toLowerCase()}` : word
}

function describeStart(event: EventView): string {
  if (isReopened(event)) return 'Back, started'
  return event.started?.kind === 'none' ? 'Started without notice' : 'Started'
}

/** Titles by the reason why the rule waited in vain. */
const inVain: Record<NotReady['why'], string> = {
  cannot_be_ready: 'Not ready',
  not_ready_in_time: 'Not ready',
  no_turn_in_time: 'No turn in time',
  group_unknown: 'Not decided by a rule',
  too_many_vms: 'Not decided by a rule',
  vms_disagree: 'VMs disagree',
  time_over: 'Not in time',
}

/** ` at 12:15 UTC, in 14 min`, or when it was due: who reads it later needs the time. */
function describeDue({ facts: { notBeforeAt } }: EventView, now: number): string {
  if (notBeforeAt === undefined) return ', time unknown'
  const due = `at ${clock(notBeforeAt, now)}, ${relative(notBeforeAt, now)}`
  return notBeforeAt > now ? ` ${due}` : ` was due ${due}`
}
