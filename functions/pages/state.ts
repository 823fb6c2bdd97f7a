// What stands at the top of an event's page, and what an open page asks for again: where the event is,
// in a few words and some sentences, and how long there is to decide. Pure, like all texts.
import { stampOf } from '../core/event/approval.ts'
import type { EventRecord } from '../core/event/event.ts'
import { lastingClock, relative } from '../core/event/time.ts'
import {
  aftermathOf,
  azureStarts,
  backLines,
  capital,
  describeDecision,
  describeFailure,
  describeInference,
  growthLines,
  isBack,
  isGuess,
  lapseLines,
  lostLines,
  plain,
  stuckLines,
} from '../core/message/message.ts'
import { type CourseEntry, courseOf } from './course.ts'
import { type Fact, factsOf } from './facts.ts'
import { utcOn } from './times.ts'

/** `ask`: somebody is wanted. `wait`: it goes on by itself. `bad`: it does not go on as it should. */
export type Tone = 'ask' | 'wait' | 'bad' | 'good' | 'over'

interface State {
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
  step: Step
  /** For who was told something on an earlier step: what has become of it. */
  since: string
  /** These two are left out where the page has them. */
  course?: CourseEntry[]
  facts?: Fact[]
}

/** What the relay answers to a page that stands open: null for an event that it no longer knows. */
export interface LiveAnswer {
  time: number
  events: (LiveState | null)[]
}

/** Where the event is; what a page says of somebody's press holds for one of them. */
export type Step =
  | 'open'
  | 'declined'
  | 'approved'
  | 'started'
  | NonNullable<EventRecord['ended']>['outcome']

export function stepOf(record: Pick<EventRecord, 'ended' | 'startedAt' | 'verdict'>): Step {
  const { ended, startedAt, verdict } = record
  if (ended !== undefined) return ended.outcome
  return startedAt === undefined ? (verdict?.decision ?? 'open') : 'started'
}

const since: Record<Step, string> = {
  open: 'It can be decided again.',
  declined: 'Since then "not now" was chosen.',
  approved: 'Since then it was approved.',
  started: 'It has started since.',
  completed: 'It is over by now.',
  cancelled: 'It was cancelled since.',
  lost: 'Foghorn lost sight of it since.',
}

function sinceOf(record: EventRecord): string {
  const { inferred } = record.ended ?? {}
  if (inferred === 'drill_overdue') return 'The drill was closed since.'
  const told = since[stepOf(record)]
  return inferred === 'gone_before_its_time' ? told.replace(/\.$/, ', it seems.') : told
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
  const step = stepOf(record)
  return {
    ...stateOf(record, now),
    seen: seenOf(record),
    decidable: isDecidable(record),
    over: record.ended !== undefined,
    sequence,
    step,
    since: sinceOf(record),
    ...(have === sequence ? {} : { course: courseOf(record), facts: factsOf(record) }),
  }
}

/** Names in the lines come from outside. */
export function stateOf(record: EventRecord, now: number): State {
  const state = rawStateOf(record, now)
  return { ...state, lines: state.lines.map(plain) }
}

function rawStateOf(record: EventRecord, now: number): State {
  const { ended, startedAt, verdict } = record
  if (ended !== undefined) return endedState(record, now)
  if (startedAt !== undefined) {
    const who = record.drill ? 'The drill' : 'Azure'
    const notice = record.startKind === 'none' && !isBack(record) ? [`${who} gave no notice.`] : []
    const when = relative(startedAt, now)
    const isFirstSight = record.startKind === 'already_running'
    const headline = isFirstSight ? `First seen ${when}, already running.` : `It started ${when}.`
    const told = [...verdictLines(record, now), ...growthLines(record, now)]
    return { tone: 'over', headline, lines: [...backLines(record), ...notice, ...told] }
  }
  if (verdict?.decision === 'approved') return approvedState(record, now)
  const { notBeforeAt } = record.facts
  const until = notBeforeAt !== undefined && notBeforeAt > now ? { until: notBeforeAt } : {}
  if (verdict === undefined) {
    const why = [...backLines(record), ...lapseLines(record, false)]
    return { tone: 'ask', headline: 'Not decided.', lines: [...why, dueOf(record, now)], ...until }
  }
  const due = `That does not stop it: ${startsOf(record, now)}.`
  const isPast = notBeforeAt !== undefined && notBeforeAt <= now
  const still = `Until ${isPast ? 'it starts' : 'then'} it can still be approved.`
  const lines = [byWhom(record, now), ...backLines(record), due, still]
  return { tone: 'wait', headline: 'Not now', lines, ...until }
}

function approvedState(record: EventRecord, now: number): State {
  const { passedOn, stuckAt, startFailure, drill } = record
  const headline = 'Approved'
  const who = byWhom(record, now)
  const good = (...lines: string[]): State => {
    return { tone: 'good', headline, lines: [who, ...backLines(record), ...lines] }
  }
  if (drill) return good('The drill starts in a moment.')
  if (stuckAt !== undefined) {
    const isAhead = (record.facts.notBeforeAt ?? 0) > now
    const stuck = stuckLines(record, now, now)
    const lines = [said(record, now), ...stuck, ...(isAhead ? [] : [dueOf(record, now)])]
    return { tone: 'bad', headline: 'Approved, but stuck', lines }
  }
  if (passedOn !== undefined) {
    const grown = growthLines(record, now)
    const told = `${passedOn.vm} told Azure ${relative(passedOn.at, now)}.`
    return good(...(grown.length > 0 ? grown : [told]), 'It may start at any moment.')
  }
  if (startFailure !== undefined) {
    return good(`${capital(describeFailure(startFailure))}.`, 'Foghorn keeps trying.')
  }
  return good('A VM is about to tell Azure.')
}

function endedState(record: EventRecord, now: number): State {
  const { outcome, at, inferred } = record.ended!
  const what = inferred === 'drill_overdue' ? 'The drill was not run, and closed' : endings[outcome]
  const doubt = outcome !== 'lost' && isGuess(record.ended) ? ', it seems,' : ''
  const headline = `${what}${doubt} ${relative(at, now)}.`
  const tone = outcome === 'lost' ? 'bad' : 'over'
  return { tone, headline, lines: [...whyEnded(record, now), ...verdictLines(record, now)] }
}

/** As the message says it. */
function whyEnded(record: EventRecord, now: number): string[] {
  const { outcome, inferred } = record.ended!
  if (outcome === 'lost') return lostLines(record, now)
  if (inferred === undefined) return []
  const after = inferred === 'gone_before_its_time' ? [aftermathOf(record)] : []
  return [`${capital(describeInference(inferred))}.`, ...after]
}

const endings = {
  completed: 'It was completed',
  cancelled: 'It was cancelled',
  lost: 'Foghorn lost sight of it',
}

function verdictLines(record: EventRecord, now: number): string[] {
  if (record.verdict !== undefined) return [said(record, now)]
  const hasLapsed = record.overruled?.lapsedAt !== undefined
  return [hasLapsed ? 'The approval no longer applied.' : 'Nobody had decided.']
}

function said(record: EventRecord, now: number): string {
  const at = record.verdict?.at ?? now
  return capital(plain(`${describeDecision(record)}, ${utcOn(at, now)}.`))
}

/** Goes on where the headline ends. */
function byWhom(record: EventRecord, now: number): string {
  return said(record, now).replace(/^(Approved|Not now,) /, '')
}

function dueOf(record: EventRecord, now: number): string {
  return `${capital(startsOf(record, now))}.`
}

/** How long that is, the countdown says; and since when, nobody else does. */
function startsOf(record: EventRecord, now: number): string {
  return azureStarts(record, now, `, since ${lastingClock(record.facts.notBeforeAt ?? now, now)}`)
}
