// What a page says after a person pressed one of its buttons.
import type { Wish } from '../core/event/decide-by-person.ts'
import type { Decided } from '../use-cases/decide-event.ts'

/** By the value of the form field `decision`. */
export const decisions = new Map<string, Wish['decision']>([
  ['approve', 'approved'],
  ['not_now', 'declined'],
  ['prepare', 'prepare'],
])

export const stored: Record<Wish['decision'], string> = {
  approved: 'Your approval was stored.',
  declined: 'Your "not now" was stored.',
  prepare: 'Your request to prepare was stored. The event is not decided.',
}

type Undecided = Exclude<Decided['outcome'], 'decided'> | 'too_quick'

export const answers: Record<Undecided, { said: string; status?: number }> = {
  too_quick: {
    said: 'Nothing was decided: that looked like a double tap. Press again.',
    status: 409,
  },
  already_approved: { said: 'Nothing changed: the event was already approved.' },
  already_declined: { said: 'Nothing changed: "not now" was already chosen.' },
  started: { said: 'Too late to decide: the event has started.' },
  ended: { said: 'Too late to decide: the event is over.' },
  identity_needed: {
    said: 'Nothing was decided: the link alone does not prove who you are.',
    status: 403,
  },
  not_listed: { said: 'Nothing was decided: you are not a listed approver.', status: 403 },
  moved_on: {
    said: 'Nothing was decided: the event changed after you opened this page. Check it and decide again.',
    status: 409,
  },
  busy: { said: 'Nothing was decided: too many decisions at once. Try again.', status: 503 },
}
