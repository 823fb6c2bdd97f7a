// What a button that decides asks before it does, and what the person who pressed one reads.
import { cut } from '../../../shared/document.ts'
import { type EventView, viewOf } from '../../core/delivery/delivery.ts'
import type { Decider, EventRecord } from '../../core/event/event.ts'
import { clock } from '../../core/event/time.ts'
import {
  capital,
  describeNames,
  describeVerdict,
  impactOf,
  isGuess,
  plain,
  subjectOf,
} from '../../core/message/phrases.ts'
import type { DeadPress, PressOutcome } from '../desk.ts'

/** What Slack takes in the dialog of a button, in characters. */
const limit = { title: 100, text: 300, names: 120, eventType: 24 }

export interface Question {
  title: string
  text: string
}

/** Against an accidental press: what an approval starts, and for which VMs. */
export function questionOf(event: EventView): Question {
  const { resources } = event.facts
  const names = cut(plain(describeNames(resources)), limit.names)
  const count = resources.length > 1 ? `${resources.length} VMs: ${names}` : names
  const starts = event.drill
    ? 'The drill starts; no VM is touched'
    : 'Azure is told to start it now'
  const eventType = cut(plain(event.facts.eventType), limit.eventType)
  const lines = [`${starts}: ${eventType} of ${count}.`, impactOf(event)]
  return {
    title: cut(plain(`Approve ${subjectOf(event)}?`), limit.title),
    text: cut(plain([...lines, 'An approval is final.'].join(' ')), limit.text),
  }
}

/** Who decided, where the message that asked stood; the decision's own message says the rest. */
export function decidedLine(record: EventRecord, now: number): string {
  const { verdict, drill } = record
  const who = verdict === undefined ? 'decided' : describeVerdict(verdict)
  const at = verdict === undefined ? '' : `, at ${clock(verdict.at, now)}`
  return plain(`${drill ? 'DRILL: ' : ''}${subjectOf(viewOf(record))}: ${who}${at}.`)
}

/** The reason, for the person who pressed; one or two sentences. */
export function refusalOf(
  outcome: PressOutcome,
  record: EventRecord,
  by: Decider,
  now: number,
): string {
  return plain(`${subjectOf(viewOf(record))}: ${reasonOf(outcome, record, by, now)}`)
}

function reasonOf(
  outcome: PressOutcome,
  record: EventRecord,
  { how, who }: Decider,
  now: number,
): string {
  // what somebody has to write where they were meant to be listed
  const you = `Your id, for "approvers": "${how}:${who}".`
  const { verdict, startedAt, ended } = record
  const decided =
    verdict === undefined
      ? ''
      : ` ${capital(describeVerdict(verdict))}, at ${clock(verdict.at, now)}.`
  switch (outcome) {
    case 'already_approved':
      return `it had been decided before, and nothing changed.${decided}`
    case 'already_declined':
      return `it had been decided before, and nothing changed.${decided} It can still be approved.`
    case 'started': {
      const since = startedAt === undefined ? '' : ` at ${clock(startedAt, now)}`
      return `too late, it started${since}.${decided}`
    }
    case 'ended': {
      const how =
        ended === undefined
          ? 'is over'
          : `${endings[ended.outcome]}${isGuess(ended) ? ', it seems,' : ''} at ${clock(ended.at, now)}`
      return `too late, it ${how}.${decided}`
    }
    case 'identity_needed':
    case 'not_listed':
      return `nothing was decided, as you are not among those who may: the approvers of its routes. ${you}`
    case 'outsider':
      return `nothing was decided, as you are not from this workspace. ${you}`
    case 'not_here':
      return 'nothing was decided, as it is not decided in this channel any more. Open its page by the link in the message.'
    case 'moved_on':
      return 'nothing was decided, as the event is no longer what this message says. Its newest message has buttons of its own; the page says how it stands.'
    case 'busy':
      return 'nothing was decided, as too many did so at once. Press again.'
  }
}

const endings = { completed: 'was completed', cancelled: 'was cancelled', lost: 'was closed' }

/** Where there is no event to speak of. */
export const deadPresses: Record<DeadPress, string> = {
  forged:
    'Nothing was decided: this button was not made by this relay, or with a key that it has no more.',
  expired: 'Nothing was decided: this button has expired. The event is long over.',
  channel_gone:
    'Nothing was decided: the channel that this button was sent to is not in the configuration any more.',
  unknown: 'Nothing was decided: the relay has no record of this event any more.',
  failed: 'The relay failed, so your press may or may not count. Press again, or open the page.',
}
