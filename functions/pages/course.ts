// What each entry of an event's record says: on its page, and in the record that admins read. A VM that only saw
// something is named as the one that saw it, since it need not be one that is hit.
import { drillNote } from '../core/drill.ts'
import type { EventRecord, HistoryEntry, Inference, Proof } from '../core/event.ts'
import { describeInference, describeVerdict, isGuess, plain } from '../core/message.ts'
import { utc } from '../core/time.ts'

export interface CourseEntry {
  time: string
  text: string
}

export function courseOf({ history }: Pick<EventRecord, 'history'>): CourseEntry[] {
  return history.map((entry) => ({ time: utc(entry.at), text: describeEntry(entry) }))
}

/** `First seen by web_0`, `Approved through the link sent to "chat"` */
export function describeEntry({ at, what, note }: HistoryEntry): string {
  if (note === undefined) return bare[what]
  if (what === 'approved' || what === 'declined') {
    const [how = '', ...who] = note.split(': ')
    const verdict = { decision: what, how: how as Proof, who: who.join(': '), at }
    return capital(plain(describeVerdict(verdict)))
  }
  if (note === drillNote) return `${bare[what]}: a drill`
  return plain(withNote[what]?.(note) ?? `${bare[what]}: ${note}`)
}

const withNote: { [What in HistoryEntry['what']]?: (note: string) => string } = {
  seen: (vm) => `First seen by ${vm}`,
  started: (vm) => `Started (seen by ${vm})`,
  changed: (values) => `Changed: ${values.replace(isoTime, (iso) => utc(Date.parse(iso)))}`,
  reminder: (distance) => `People were reminded, ${distance}`,
  directed: (vm) => `${vm} was asked to tell Azure`,
  passed_on: (vm) => `${vm} told Azure`,
  start_failed: (note) => {
    const [vm = '', ...why] = note.split(': ')
    return `${vm} could not tell Azure: ${why.join(': ')}`
  },
  gone: (vm) => `Gone from ${vm}'s document`,
  seen_again: (vm) => `Seen again by ${vm}`,
  completed: (why) => concluded('Completed', why as Inference),
  cancelled: (why) =>
    concluded(why === 'drill_overdue' ? 'Not run' : 'Cancelled', why as Inference),
  lost: (why) => `Lost sight of: ${describeInference(why as Inference)}`,
  reopened: (vm) => `Alive after all: seen by ${vm}`,
}

function concluded(what: string, inferred: Inference): string {
  return `${what}${isGuess({ inferred }) ? ', it seems' : ''}: ${describeInference(inferred)}`
}

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

const bare: Record<HistoryEntry['what'], string> = {
  seen: 'First seen',
  started: 'Started',
  changed: 'Changed',
  reminder: 'People were reminded',
  approved: 'Approved',
  declined: 'Not now',
  directed: 'A VM was asked to tell Azure',
  passed_on: 'Azure was told',
  start_failed: 'Azure could not be told',
  not_started: 'Azure was told, and has not started it',
  lapsed: 'The approval lapsed: more is hit than was approved',
  stuck: 'No VM could tell Azure yet',
  gone: 'Gone from the document',
  seen_again: 'Seen again',
  completed: 'Completed',
  cancelled: 'Cancelled',
  lost: 'Lost sight of',
  reopened: 'Alive after all',
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
