// Limits how often each relay process answers links. All invalid tokens share one budget, and each
// valid link has its own, so guesses never keep a person from deciding. Each use of a link also has
// its own budget, because all people in a channel have the same link.

import type { Fields } from '../../shared/log.ts'
import { afterSlots, freeAt, type Rate, slotsAt, unlimited } from '../core/delivery/rate.ts'
import { setNewest } from '../core/newest.ts'

/** The rate of all requests with an invalid token together. Beyond it they get 429. */
export const wrongRate: Rate = { ...unlimited, everyMs: 50, burst: 20 }
/** The rate for each use, and each link or signed-in person. */
export const rightRate: Rate = { ...unlimited, everyMs: 100, burst: 60 }
/** Beyond this, the budget that was unused longest is dropped: it is full again by then. */
const maxKnown = 2_000

/** `junk`: a body for a valid link that is not a form of its page. */
export type Use = 'look' | 'watch' | 'decide' | 'junk'

/** `waitSeconds`: for Retry-After. */
export type Admission = { outcome: 'granted' } | { outcome: 'busy'; waitSeconds: number }

export interface LinkGuard {
  /** A request has an invalid token. */
  wrong(): Admission
  /** A request has a valid token. `who` names the link, or the person if signed in. */
  right(who: string, use: Use): Admission
  /** A valid link was opened with a sign-in that does not count. Open pages repeat this. */
  unproven(reason: 'malformed' | 'other_tenant'): void
}

/** Counts refused requests for the log. */
interface Refusals {
  note(name: string, fields?: Fields, kind?: string): void
}

export function createLinkGuard(parts: { now(): number; refusals: Refusals }): LinkGuard {
  const { now, refusals } = parts
  const spentUntil = new Map<string, number>()
  let wrongSpentUntil = 0
  return {
    wrong() {
      refusals.note('links_refused')
      const admission = take(wrongRate, wrongSpentUntil, now())
      wrongSpentUntil = admission.spentUntil
      return admission.answer
    },
    right(who, use) {
      if (use === 'junk') refusals.note('forms_refused')
      const name = `${use} ${who}`
      const admission = take(rightRate, spentUntil.get(name) ?? 0, now())
      setNewest(spentUntil, name, admission.spentUntil, maxKnown)
      return admission.answer
    },
    unproven(reason) {
      refusals.note('principal_ignored', { reason }, reason)
    },
  }
}

function take(
  rate: Rate,
  spentUntil: number,
  at: number,
): { answer: Admission; spentUntil: number } {
  if (slotsAt(rate, spentUntil, at) > 0) {
    return { answer: { outcome: 'granted' }, spentUntil: afterSlots(rate, spentUntil, at, 1) }
  }
  const waitSeconds = Math.max(1, Math.ceil((freeAt(rate, spentUntil, at) - at) / 1_000))
  return { answer: { outcome: 'busy', waitSeconds }, spentUntil }
}
