// The texts around a button that decides: the question before a press counts, and the reply to the person.
import { cut } from '../../shared/text.ts'
import type { Decider, EventRecord } from '../core/event/event.ts'
import { clock } from '../core/event/time.ts'
import { type EventView, toView } from '../core/event/view.ts'
import {
  capital,
  chooseVerb,
  describeDecided,
  describeImpact,
  describeNames,
  describeSubject,
  isGuess,
  leaveTo,
  plain,
  whyUndecidable,
} from '../core/message/phrases.ts'
import type { DeadPress, PressOutcome } from './presses.ts'

/** Limits in characters: those of a dialog in Slack, which are the shortest. */
const limit = { title: 100, text: 300, names: 120, fewNames: 80, eventType: 24 }

export interface Question {
  title: string
  text: string
  /** The two buttons of the message. */
  approve: string
  leave: string
}

/** Protects against an accidental press: what an approval starts, and for which VMs. */
export function composeQuestion(event: EventView): Question {
  const { resources } = event.facts
  const unready = unreadyIn(event)
  const room = unready.length > 0 ? limit.fewNames : limit.names
  const names = cut(plain(describeNames(resources)), room)
  const count = resources.length > 1 ? `${resources.length} VMs: ${names}` : names
  const starts = event.drill ? 'This starts the drill and touches no VM' : 'Azure starts it now'
  const eventType = cut(plain(event.facts.eventType), limit.eventType)
  const lines = [`${starts}: ${eventType} of ${count}.`, ...unready, describeImpact(event)]
  return {
    approve: `${chooseVerb(event)} ${unready.length > 0 ? 'anyway' : 'now'}`,
    leave: leaveTo(event),
    title: cut(plain(`Approve ${describeSubject(event)}?`), limit.title),
    text: cut(plain([...lines, 'You cannot undo this.'].join(' ')), limit.text),
  }
}

/** Says how many VMs are not ready, from the event as the message shows it. The page has newer facts. */
function unreadyIn({ wait: { readiness }, facts: { resources } }: EventView): string[] {
  const count = resources.length - (readiness?.counts.ready ?? 0)
  if (readiness === undefined || count <= 0) return []
  if (resources.length === 1) return ['It is not ready.']
  return [`${count} of them ${count === 1 ? 'is' : 'are'} not ready.`]
}

/** Replaces the message that asked. The decision has its own message. */
export function decidedLine(record: EventRecord, now: number): string {
  const { decided, drill } = record
  const who = decided === undefined ? 'decided' : describeDecided(decided)
  const at = decided === undefined ? '' : `, at ${clock(decided.at, now)}`
  return plain(`${drill ? 'DRILL: ' : ''}${describeSubject(toView(record))}: ${who}${at}.`)
}

/** The reason, for the person who pressed. */
export function composeRefusal(
  outcome: PressOutcome,
  record: EventRecord,
  by: Decider,
  now: number,
): string {
  return plain(`${describeSubject(toView(record))}: ${composeReason(outcome, record, by, now)}`)
}

function composeReason(
  outcome: PressOutcome,
  record: EventRecord,
  { how, who }: Decider,
  now: number,
): string {
  // The owner can add this to the configuration.
  const you = `Your id, for "approvers": "${how}:${who}".`
  const { decided, started, ended } = record
  const decision =
    decided === undefined
      ? ''
      : ` ${capital(describeDecided(decided))}, at ${clock(decided.at, now)}.`
  switch (outcome) {
    case 'already_approved':
      return `nothing changed, because it was already decided.${decision}`
    case 'already_declined':
      return `nothing changed, because it was already decided.${decision} You can still approve it.`
    case 'started': {
      const since = started === undefined ? '' : ` at ${clock(started.at, now)}`
      return `too late: it started${since}.${decision}`
    }
    case 'ended': {
      const how =
        ended === undefined
          ? 'is over'
          : `${isGuess(ended) ? guesses[ended.outcome] : endings[ended.outcome]} at ${clock(ended.at, now)}`
      return `too late: it ${how}.${decision}`
    }
    case 'too_many_vms':
    case 'nothing_to_decide':
      return `nothing was decided. ${whyUndecidable[outcome]}`
    case 'identity_needed':
    case 'not_listed':
      return `nothing was decided, because you are not a listed approver. ${you}`
    case 'outsider':
      return `nothing was decided, because you are not from this ${how === 'slack' ? 'workspace' : 'tenant'}. ${you}`
    case 'not_here':
      return (
        'nothing was decided, because people in this channel may no longer decide this event. ' +
        'Open its page by the link in the message.'
      )
    case 'moved_on':
      return (
        `nothing was decided, because the event changed or was decided after this message.${decision} ` +
        'Use the buttons of its newest message, or open its page.'
      )
    case 'busy':
      return 'nothing was decided, because there were too many decisions at once. Press again.'
  }
}

const endings = { completed: 'was completed', cancelled: 'was cancelled', lost: 'was closed' }
const guesses = {
  completed: 'was probably completed',
  cancelled: 'was probably cancelled',
  lost: 'was closed',
}

/** Replies without an event. */
export const deadPresses: Record<DeadPress, string> = {
  forged:
    'Nothing was decided: another relay made this button, or the key that signed it was removed.',
  expired: 'Nothing was decided: this button has expired. The event ended long ago.',
  channel_gone:
    'Nothing was decided: the channel of this button is no longer in the configuration.',
  unknown: 'Nothing was decided: the relay has removed this event.',
  failed:
    'The relay failed. It may have stored your decision: open the page to see, then press again.',
}
