// The text of each entry of an event's history, for its page and for the console. A text says which
// VM saw something, because that need not be an affected VM.
import { armName } from '../core/event/arm.ts'
import type { StepWords } from '../core/event/display.ts'
import { drillNote } from '../core/event/drill.ts'
import {
  type Decider,
  type EventRecord,
  type HistoryEntry,
  type Inference,
  inferences,
  type OwnStep,
} from '../core/event/event.ts'
import type { NotReady } from '../core/event/hook-state.ts'
import type { Proof } from '../core/event/proof.ts'
import { utc } from '../core/event/time.ts'
import { chooseTitle } from '../core/event/words.ts'
import { describeFailure, isFailure } from '../core/message/approval.ts'
import {
  capital,
  describeDecided,
  describeDecider,
  describeInference,
  isGuess,
  plain,
} from '../core/message/phrases.ts'
import { describeInVain } from '../core/message/readiness.ts'
import { stepWords } from '../features/rules.ts'

interface TimelineEntry {
  time: string
  text: string
}

export function composeTimeline(record: Pick<EventRecord, 'history'>): TimelineEntry[] {
  return placed(record)
    .toSorted((one, other) => one.place - other.place)
    .map(({ at, text }) => ({ time: utc(at), text }))
}

const ends: HistoryEntry['what'][] = ['completed', 'cancelled', 'lost']

/**
 * Each entry with its place in the timeline, epoch ms. An end has the time of the first document
 * without the event, which may become known late. Its place is behind everything known before.
 */
export function placed({ history }: Pick<EventRecord, 'history'>) {
  let goneAt = 0
  return history.map((entry) => {
    const { at, what } = entry
    if (what === 'gone') goneAt = Math.max(goneAt, at)
    return {
      at,
      text: describeEntry(entry),
      place: ends.includes(what) ? Math.max(at, goneAt) : at,
    }
  })
}

/** `First seen by web_0`, `Approved through the link sent to "chat"` */
function describeEntry({ what, note, reason }: HistoryEntry): string {
  const { bare: own, withNote: ownWith } = ofFeatures[what] ?? {}
  // a feature that is gone may have left its word
  const said = own ?? bare[what as OwnStep] ?? what.replaceAll('_', ' ')
  if (note === undefined) return said
  if (what === 'approved' || what === 'declined') {
    const decided = { decision: what, ...deciderIn(note), ...(reason && { reason }) }
    return capital(plain(describeDecided(decided)))
  }
  if (note === drillNote) return `${said}: a drill`
  const full = ownWith ?? withNote[what as OwnStep]
  return plain(full?.(note) ?? `${said}: ${note}`)
}

const ofFeatures: Partial<Record<string, StepWords>> = stepWords

const withNote: { [What in OwnStep]?: (note: string) => string } = {
  seen: (vm) => `First seen by ${vm}`,
  started: (vm) => `Started (seen by ${vm})`,
  changed: (values) => `Changed: ${values.replace(isoTime, (iso) => utc(Date.parse(iso)))}`,
  prepare_now: (by) => `Asked to prepare now, ${describeDecider(deciderIn(by))}`,
  taken: (by) => `Taken ${describeDecider(deciderIn(by))}`,
  given_back: (by) => `Given back ${describeDecider(deciderIn(by))}`,
  not_ready: (why) => `People are asked: ${describeInVain({ why: why as NotReady['why'] })}`,
  reminder: (distance) => `People were reminded, ${distance}`,
  directed: (vm) => `The beacon on ${vm} was asked to tell Azure`,
  azure_accepted: (vm) =>
    vm.startsWith(armName)
      ? `The relay told Azure, through Resource Manager${vm.slice(armName.length)}`
      : `The beacon on ${vm} told Azure`,
  start_failed: (note) => {
    if (note.startsWith(armName)) return `Not taken by ${note}`
    const [, vm = '', outcome = '', status] = failure.exec(note) ?? []
    if (!isFailure(outcome)) return `${bare.start_failed}: ${note}`
    const answer = status === undefined ? {} : { status: Number(status) }
    return capital(describeFailure({ vm, outcome, ...answer }))
  },
  gone: (vm) => `${vm} no longer sees the event`,
  seen_again: (vm) => `Seen again by ${vm}`,
  completed: (why) => concluded('Completed', why),
  cancelled: (why) => concluded(why === 'drill_overdue' ? 'Not run' : 'Cancelled', why),
  lost: (why) => `Outcome unknown: ${describeInference(why as Inference)}`,
  reopened: (vm) => `Reopened by a report from ${vm}`,
}

/** Reads what `decisionNote` writes. */
function deciderIn(note: string): Decider {
  const [how = '', ...rest] = note.split(': ')
  const by = { how: how as Proof, who: rest.join(': ') }
  // tokens and rules have no name, and what the others are has no space
  const [, who, name] = personNote.exec(by.who) ?? []
  const isNamed = by.how !== 'token' && by.how !== 'policy'
  return isNamed && who !== undefined ? { ...by, who, ...(name && { name }) } : by
}

const personNote = /^(\S+) \((.*?)\)?$/s

/** `why`: an inference, or who said so. */
function concluded(what: string, why: string): string {
  const inferred = inferences.find((one) => one === why)
  if (inferred === undefined) return `${what} (says ${why})`
  const shown = isGuess({ inferred }) ? `Probably ${what.toLowerCase()}` : what
  return `${shown}: ${describeInference(inferred)}`
}

/** The note that `withStartResult` writes. */
const failure = /^(.*): (\w+)(?: \(HTTP (\d+)\))?$/s

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

const bare: Record<OwnStep, string> = {
  seen: 'First seen',
  started: 'Started',
  changed: 'Changed',
  reminder: 'People were reminded',
  approved: 'Approved',
  declined: 'Left to Azure',
  directed: 'A beacon was asked to tell Azure',
  azure_accepted: 'Azure was told',
  start_failed: 'Azure could not be told',
  not_started: 'Azure was told, but has not started it',
  prepare_now: 'A person asked the VMs to prepare now',
  taken: 'Taken',
  given_back: 'Given back',
  not_ready: 'The rule could not approve in time, so people were asked',
  expired: 'The approval expired because the event changed',
  stuck: `${chooseTitle('stuck')}: people are notified`,
  gone: 'A VM no longer sees the event',
  seen_again: 'Seen again',
  completed: 'Completed',
  cancelled: 'Cancelled',
  lost: 'Outcome unknown',
  reopened: 'Reopened',
}
