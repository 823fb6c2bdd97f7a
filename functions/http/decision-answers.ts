// A person pressed a button of a page: what that does, and what the page says then.
import { cut } from '../../shared/text.ts'

import type { Wish } from '../core/event/decide-by-person.ts'
import type { Decider, EventRecord } from '../core/event/event.ts'
import { maxGivenNameLength, maxReasonLength } from '../core/limits.ts'
import { whyUndecidable } from '../core/message/phrases.ts'
import type { FormToken } from '../links/link.ts'
import type { Seen } from '../pages/event.ts'
import { type Decided, decideEvent } from '../use-cases/decide-event.ts'
import type { Relay } from '../use-cases/relay.ts'

/** Decisions by the value of the form field `decision`. */
export const decisions = new Map<string, Wish['decision']>([
  ['approve', 'approved'],
  ['not_now', 'declined'],
  ['prepare', 'prepare'],
  ['take', 'take'],
  ['give_back', 'give_back'],
])

/** What a person wrote beside the buttons. A link and the admin key do not prove a name, so their holder may give one. */
export function readWritten(by: Decider, fields: URLSearchParams): Pick<Wish, 'by' | 'reason'> {
  const reason = readLine(fields, 'reason', maxReasonLength)
  const name = readLine(fields, 'name', maxGivenNameLength)
  const isUnproved = by.how === 'link' || by.how === 'admin'
  return { by: isUnproved && name !== '' ? { ...by, name } : by, ...(reason !== '' && { reason }) }
}

function readLine(fields: URLSearchParams, name: string, length: number): string {
  return cut((fields.get(name) ?? '').replaceAll(/\s+/g, ' ').trim(), length)
}

export interface Pressed {
  /** The event as it was before the press. */
  before: EventRecord
  record: EventRecord
  status: number
  /** The answer for the page of the event. */
  answer: Pick<Seen, 'said' | 'done'>
}

/** `seen`: what the form was made for. */
export async function decideByPress(
  relay: Relay,
  before: EventRecord,
  { seen, ...wish }: Omit<Wish, 'seen'> & { seen: FormToken },
): Promise<Pressed> {
  const { outcome, record } =
    relay.now() < seen.countsAt
      ? { outcome: 'too_quick' as const, record: before }
      : await decideEvent(relay, before, { ...wish, seen: seen.stamp })
  if (outcome !== 'decided') {
    const { said, status = 200 } = answers[outcome]
    return { before, record, status, answer: { said } }
  }
  return { before, record, status: 200, answer: { said: stored[wish.decision], done: true } }
}

const stored: Record<Wish['decision'], string> = {
  approved: 'You approved it.',
  declined: 'You left it to Azure. No more reminders come.',
  take: 'Others see that you are looking at it. It is still to decide.',
  give_back: 'Others see that nobody looks at it any more. The event is not decided.',
  prepare: 'Your request to prepare was stored. The event is not decided.',
}

type Undecided = Exclude<Decided['outcome'], 'decided'> | 'too_quick'

const answers: Record<Undecided, { said: string; status?: number }> = {
  too_quick: {
    said: 'Nothing was decided: the page had just changed. Check it and press again.',
    status: 409,
  },
  already_approved: { said: 'Nothing changed: the event was already approved.' },
  already_declined: { said: 'Nothing changed: it was already left to Azure.' },
  too_many_vms: { said: `Nothing was decided: ${whyUndecidable.too_many_vms}` },
  nothing_to_decide: { said: whyUndecidable.nothing_to_decide },
  started: { said: 'Too late to decide: the event has started.' },
  ended: { said: 'Too late to decide: the event is over.' },
  identity_needed: {
    said: 'Nothing was decided: the link alone does not prove who you are.',
    status: 403,
  },
  not_listed: { said: 'Nothing was decided: you are not a listed approver.', status: 403 },
  moved_on: {
    said: 'Nothing was decided: after you opened this page, the event changed or somebody decided it. Check it and decide again.',
    status: 409,
  },
  busy: { said: 'Nothing was decided: too many decisions at once. Try again.', status: 503 },
}
