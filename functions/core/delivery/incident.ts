// What a message does to an incident, in services that have incidents. Which incident it is:
// `notify/incidents.ts`.
import { isEnd, traits } from '../event/moment.ts'
import type { Notification } from './delivery.ts'

export type Action = 'trigger' | 'acknowledge' | 'resolve'

const actions = { opens: 'trigger', acknowledges: 'acknowledge', resolves: 'resolve' } as const

/**
 * After a decision, a start only acknowledges: a second trigger would page again. If the event is
 * back after a *not now*, nobody expects it to start.
 */
export function chooseAction({ moment, event: { decided, epoch } }: Notification): Action {
  const isExpected = decided?.decision === 'approved' || (decided !== undefined && epoch === 1)
  return moment === 'started' && isExpected ? 'acknowledge' : actions[traits[moment].incident]
}

/** Whether the moment ends the separate incident of a stuck approval. */
export function unsticks({ moment }: Notification): boolean {
  return moment === 'started' || isEnd(moment)
}

/** An acknowledgement does not overtake a trigger. *Stuck* matters until the start or the end. */
export function overtakesInIncident(later: Notification, earlier: Notification): boolean {
  if (earlier.moment === 'stuck') return unsticks(later)
  if (later.moment === 'stuck') return false
  return chooseAction(later) !== 'acknowledge' || chooseAction(earlier) === 'acknowledge'
}
