// What stands at the top of an event's page, and what an open page asks for again: where the event is,
// in a few words and some sentences, and how long there is to decide. Pure, like all texts.
import { stampOf } from '../core/approval.ts'
import type { EventRecord, HistoryEntry } from '../core/event.ts'
import { describeInference, describeVerdict, plain } from '../core/message.ts'
import { relative, span, utc, when } from '../core/time.ts'

/** `ask`: somebody is wanted. `wait`: it goes on by itself. `bad`: it does not go on as it should. */
export type Tone = 'ask' | 'wait' | 'bad' | 'good' | 'over'

export interface State {
  tone: Tone
  headline: string
  lines: string[]
  /** There while people can still decide and Azure has not started it: when it may, epoch ms. */
  until?: number
}

/** What a page that stands open is told again and again. */
export interface LiveState extends State {
  /** Other VMs, another epoch or another time: not what the page shows. */
  seen: string
  decidable: boolean
  /** Nothing will change any more. */
  over: boolean
  sequence: number
  /** Left out where the page has it. */
  course?: CourseEntry[]
}

export interface CourseEntry {
  time: string
  text: string
}

export function isDecidable(record: EventRecord): boolean {
  return (
    record.ended === undefined &&
    record.phase === 'scheduled' &&
    record.verdict?.decision !== 'approved'
  )
}

/** What somebody who looks at the page takes for granted. */
export function seenOf(record: EventRecord): string {
  return `${stampOf(record)} ${record.facts.notBeforeAt ?? ''}`
}

/** `have`: the sequence that the page shows. */
export function liveOf(record: EventRecord, now: number, have?: number): LiveState {
  const { sequence } = record
  return {
    ...stateOf(record, now),
    seen: seenOf(record),
    decidable: isDecidable(record),
    over: record.ended !== undefined,
    sequence,
    ...(have === sequence ? {} : { course: courseOf(record) }),
  }
}

export function stateOf(record: EventRecord, now: number): State {
  const { ended, startedAt, verdict } = record
  if (ended !== undefined) return endedState(record, now)
  if (startedAt !== undefined) {
    const notice = record.notice === 'none' ? ['Azure gave no notice.'] : []
    const headline = `It started ${relative(startedAt, now)}.`
    return { tone: 'over', headline, lines: [...notice, ...verdictLines(record, now)] }
  }
  if (verdict?.decision === 'approved') return approvedState(record, now)
  const { notBeforeAt } = record.facts
  const until = notBeforeAt !== undefined && notBeforeAt > now ? { until: notBeforeAt } : {}
  if (verdict === undefined) {
    return { tone: 'ask', headline: 'Not decided.', lines: [dueOf(record, now)], ...until }
  }
  const due = dueOf(record, now, ' all the same')
  const lines = [byWhom(verdict, now), due, 'Until then it can still be approved.']
  return { tone: 'wait', headline: 'Not now', lines, ...until }
}

function approvedState(record: EventRecord, now: number): State {
  const { verdict, passedOn, stuckAt, drill } = record
  const headline = 'Approved'
  const who = byWhom(verdict!, now)
  if (drill) return { tone: 'good', headline, lines: [who, 'The drill starts in a moment.'] }
  if (passedOn !== undefined) {
    const told = `${plain(passedOn.vm)} told Azure ${relative(passedOn.at, now)}.`
    return { tone: 'good', headline, lines: [who, told, 'It may start at any moment.'] }
  }
  if (stuckAt === undefined) {
    return { tone: 'good', headline, lines: [who, 'A VM is about to tell Azure.'] }
  }
  const lines = [
    who,
    `For ${span(now - verdict!.at)} no VM has been able to tell Azure. Foghorn keeps trying.`,
    'Check that the beacons run: any VM that sees the event can do it.',
    dueOf(record, now, ' by itself'),
  ]
  return { tone: 'bad', headline: 'Approved, but stuck', lines }
}

function endedState(record: EventRecord, now: number): State {
  const { outcome, at, inferred } = record.ended!
  const why = inferred === undefined ? [] : [`${capital(describeInference(inferred))}.`]
  const headline = `${endings[outcome]} ${relative(at, now)}.`
  const tone = outcome === 'lost' ? 'bad' : 'over'
  return { tone, headline, lines: [...why, ...verdictLines(record, now)] }
}

const endings = {
  completed: 'It was completed',
  cancelled: 'It was cancelled',
  lost: 'Foghorn lost sight of it',
}

function verdictLines({ verdict }: EventRecord, now: number): string[] {
  return verdict === undefined ? ['Nobody had decided.'] : [said(verdict, now)]
}

function said(verdict: NonNullable<EventRecord['verdict']>, now: number): string {
  return capital(plain(`${describeVerdict(verdict)}, ${when(verdict.at, now)}.`))
}

/** Goes on where the headline ends. */
function byWhom(verdict: NonNullable<EventRecord['verdict']>, now: number): string {
  return said(verdict, now).replace(/^(Approved|Not now,) /, '')
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** NotBefore is the earliest instant, not an appointment. */
function dueOf({ facts: { notBeforeAt }, drill }: EventRecord, now: number, how = ''): string {
  const starts = drill ? 'The drill starts' : 'Azure starts it'
  if (notBeforeAt === undefined) return `${starts}${how} at a time that it has not said.`
  if (notBeforeAt > now) return `${starts}${how} ${when(notBeforeAt, now)}.`
  const since = `since ${when(notBeforeAt, now)}`
  return `${drill ? 'The drill' : 'Azure'} may start${drill ? '' : ' it'}${how} at any moment, ${since}.`
}

/** How we know who decided; nothing while nobody has. */
export function proofOf(record: EventRecord): string | undefined {
  return record.verdict && proofs[record.verdict.how]
}

const proofs = {
  link: 'by the link alone, which proves no more than that somebody held it',
  slack: 'Slack signed who pressed the button',
  entra: 'they had signed in with Microsoft Entra',
  admin: 'they had the admin key',
  policy: 'the owner wrote the rule',
} as const

/** What was decided first, where a later approval replaced it. */
export function overruledOf({ overruled }: EventRecord, now: number): string | undefined {
  return overruled && said(overruled, now)
}

export function courseOf({ history }: Pick<EventRecord, 'history'>): CourseEntry[] {
  return history.map(({ at, what, note }) => {
    const text = note === undefined ? steps[what] : `${steps[what]}: ${plain(note)}`
    return { time: utc(at), text: capital(text) }
  })
}

/** What each entry of the record says. */
export const steps: Record<HistoryEntry['what'], string> = {
  seen: 'first seen',
  started: 'started',
  changed: 'changed',
  reminder: 'people were reminded',
  approved: 'approved',
  declined: 'not now',
  directed: 'a VM was asked to tell Azure',
  passed_on: 'Azure was told',
  start_failed: 'Azure could not be told',
  not_started: 'Azure was told, and has not started it',
  lapsed: 'what was approved is less than what is hit now',
  stuck: 'no VM could tell Azure yet',
  gone: 'gone from the document',
  seen_again: 'seen again',
  completed: 'completed',
  cancelled: 'cancelled',
  lost: 'lost sight of',
  reopened: 'alive after all',
}
