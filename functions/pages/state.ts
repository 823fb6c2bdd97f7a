// The state of an event at the top of its page: a headline, some sentences, and the time left to
// decide. Pure.

import { makeStamp } from '../core/event/approval.ts'
import type { EventRecord } from '../core/event/event.ts'
import { undecidable } from '../core/event/facts.ts'
import { canPrepareNow } from '../core/event/preparation.ts'
import { chooseStep } from '../core/event/summary.ts'
import { lastingClock, relative } from '../core/event/time.ts'
import { chooseTitle, stateWords, type Tone } from '../core/event/words.ts'
import {
  armLines,
  describeDecision,
  describeFailure,
  expiryLines,
  growthLines,
  listUnapproved,
  stuckLines,
  tellerIn,
  unheardLines,
} from '../core/message/approval.ts'
import { lostLines } from '../core/message/ending.ts'
import {
  askedBy,
  azureStarts,
  backLines,
  capital,
  describeAftermath,
  describeInference,
  inSentence,
  isGuess,
  isReopened,
  plain,
  whyUndecidable,
} from '../core/message/phrases.ts'
import {
  approvesUnready,
  inVainLines,
  readinessLines,
  restoreLines,
  waitLines,
} from '../core/message/readiness.ts'
import { listFacts } from './facts.ts'
import { composeTimeline } from './timeline.ts'
import { utcOn } from './times.ts'

interface State {
  tone: Tone
  headline: string
  /** What must be read before the other lines. */
  first?: string
  lines: string[]
  /** While it is not certain that Azure starts it before: when Azure may start it, epoch ms. */
  until?: number
}

export function isDecidable(record: EventRecord): boolean {
  return (
    record.ended === undefined &&
    record.phase === 'scheduled' &&
    record.decided?.decision !== 'approved' &&
    undecidable(record.facts) === undefined
  )
}

export function isPreparable(record: EventRecord): boolean {
  return isDecidable(record) && canPrepareNow(record)
}

/** What a viewer decides about. If it changes, an open page does not replace the buttons by itself. */
export function describeSeen({ epoch, facts }: EventRecord): string {
  // after a decision the open page shows it, and its buttons ask once more
  return `${makeStamp({ epoch, facts })} ${facts.notBeforeAt ?? ''}`
}

/** All that a page shows of the event, but for the time left. */
export function composeContent(record: EventRecord, now: number): unknown[] {
  const hooks = [approvesUnready(record), isPreparable(record)]
  const parts = [
    isDecidable(record),
    hooks,
    composeTimeline(record),
    listFacts(record),
    record.taken,
  ]
  return [describeState(record, now), ...parts]
}

/** The lines contain names from outside. */
export function describeState(record: EventRecord, now: number): State {
  const state = chooseState(record, now)
  const silence = record.ended === undefined ? unheardLines(record, now) : []
  const first = silence.length === 0 ? {} : { first: plain(silence.join(' ')) }
  const lines = state.lines.filter((line) => !silence.includes(line))
  return { ...state, ...first, lines: lines.map(plain) }
}

function chooseState(record: EventRecord, now: number): State {
  const { ended, started, decided } = record
  if (ended !== undefined) return endedState(record, now)
  if (started !== undefined) {
    const who = record.drill ? 'The drill' : 'Azure'
    const notice = started.kind === 'none' && !isReopened(record) ? [`${who} gave no notice.`] : []
    const when = ago(started.at, now)
    const isFirstSight = started.kind === 'already_running'
    const headline = isFirstSight ? `First seen ${when}, already running.` : `It started ${when}.`
    const decision = [...decidedLines(record, now), ...growthLines(record, now)]
    const ready = readinessLines(record)
    return {
      tone: 'wait',
      headline,
      lines: [...backLines(record), ...notice, ...decision, ...ready],
    }
  }
  if (decided?.decision === 'approved') return approvedState(record, now)
  const until = untilDue(record, now)
  const why = undecidable(record.facts)
  if (why === 'nothing_to_decide') {
    return { tone: 'wait', headline: 'Nothing to decide', lines: [whyUndecidable[why]] }
  }
  if (why !== undefined) {
    const lines = [...backLines(record), whyUndecidable[why], describeDue(record, now)]
    return { tone: 'wait', headline: 'Azure decides.', lines, ...until }
  }
  if (decided === undefined) {
    const why = [...backLines(record), ...expiryLines(record, false), ...inVainLines(record)]
    const hooks = [...readinessLines(record), ...waitLines(record)]
    const lines = [...why, ...hooks, describeDue(record, now)]
    return { tone: 'ask', headline: `${stateWords.open.word}.`, lines, ...until }
  }
  const still = 'You can still start it until then.'
  const ready = readinessLines(record)
  const lines = [said(record, now), ...backLines(record), ...ready, describeDue(record, now), still]
  return { tone: 'over', headline: stateWords.declined.word, lines, ...until }
}

function untilDue({ facts: { notBeforeAt } }: EventRecord, now: number): Pick<State, 'until'> {
  return notBeforeAt !== undefined && notBeforeAt > now ? { until: notBeforeAt } : {}
}

/** The one sentence that a row has room for. Empty if there is nothing unusual. */
export function describeBriefly(record: EventRecord, now: number): string {
  const { decided, facts } = record
  const isStuck = chooseStep(record) === 'stuck'
  // beside it, the row says which VM is silent
  if (isStuck && record.unheard === undefined) return plain(stuckLines(record, now, now)[0]!)
  const nobody = undecidable(facts)
  if (nobody !== undefined) return nobody === 'too_many_vms' ? 'Azure decides' : 'nothing to decide'
  const why = [...backLines(record), ...expiryLines(record, false), ...inVainLines(record)][0]
  const asker =
    facts.source === 'Platform' ? '' : `requested by ${askedBy(record) ?? 'nobody known'}`
  if (decided === undefined) return plain(why ?? asker)
  return plain(`${describeDecision(record)}, ${utcOn(decided.at, now)}`)
}

function approvedState(record: EventRecord, now: number): State {
  const { drill, azure } = record
  const { accepted, failure } = azure
  const headline = stateWords.approved.word
  const decision = said(record, now)
  const good = (...lines: string[]): State => {
    const ready = readinessLines(record)
    return { tone: 'good', headline, lines: [decision, ...backLines(record), ...ready, ...lines] }
  }
  if (drill) return good('The drill starts in a moment.')
  if (chooseStep(record) === 'stuck') {
    const isAhead = (record.facts.notBeforeAt ?? 0) > now
    const stuck = stuckLines(record, now, now)
    const lines = [decision, ...stuck, ...(isAhead ? [] : [describeDue(record, now)])]
    return { tone: 'bad', headline: chooseTitle('stuck'), lines, ...untilDue(record, now) }
  }
  if (accepted !== undefined) {
    const grown = growthLines(record, now)
    const state = good(...acceptedLines(accepted, grown, now))
    if (grown.length === 0) return state
    return {
      ...state,
      tone: 'ask',
      headline: `Not approved for ${inSentence(listUnapproved(record))}`,
    }
  }
  if (failure !== undefined || azure.arm?.failure !== undefined) {
    const why = failure === undefined ? [] : [`${capital(describeFailure(failure))}.`]
    const state = good(...why, ...armLines(azure.arm), 'Foghorn keeps trying.')
    const headline = 'Approved, but Azure has not taken it yet'
    return { ...state, tone: 'ask', headline, ...untilDue(record, now) }
  }
  if (record.unheard !== undefined)
    return { ...good(), tone: 'ask', headline: 'Approved, and it waits', ...untilDue(record, now) }
  return good('Foghorn is sending the approval to Azure.')
}

type Accepted = NonNullable<EventRecord['azure']['accepted']>

/** `grown`: Azure has added VMs since, which nobody approved. */
function acceptedLines(accepted: Accepted, grown: string[], now: number): string[] {
  const by = accepted.through === undefined ? `The beacon on ${accepted.vm}` : tellerIn(accepted)
  const told = grown.length > 0 ? grown : [`${by} told Azure ${relative(accepted.at, now)}.`]
  return [...told, 'It may start at any moment.']
}

function endedState(record: EventRecord, now: number): State {
  const { outcome, at, inferred } = record.ended!
  const isNotRun = inferred === 'drill_overdue'
  const what = isNotRun ? 'The drill did not run and was closed' : endings[outcome]
  const isDoubtful = outcome !== 'lost' && isGuess(record.ended)
  const said = isDoubtful ? what.replace('It was', 'It was probably') : what
  const headline =
    outcome === 'lost'
      ? `${stateWords.lost.word} since ${lastingClock(at, now)}.`
      : `${said} ${ago(at, now)}.`
  const tone = outcome === 'lost' ? 'bad' : 'over'
  const decision = [...whyEnded(record), ...decidedLines(record, now)]
  return { tone, headline, lines: [...decision, ...restoreLines(record)] }
}

function whyEnded(record: EventRecord): string[] {
  const { outcome, inferred } = record.ended!
  if (outcome === 'lost') return lostLines(record)
  if (inferred === undefined) return []
  const after = inferred === 'gone_before_its_time' ? [describeAftermath(record)] : []
  return [`${capital(describeInference(inferred))}.`, ...after]
}

const endings = {
  completed: 'It was completed',
  cancelled: 'It was cancelled',
  lost: stateWords.lost.word,
}

/** `relative`, but for what has just been. */
function ago(at: number, now: number): string {
  const text = relative(at, now)
  return text === 'now' ? 'just now' : text
}

function decidedLines(record: EventRecord, now: number): string[] {
  if (record.decided !== undefined) return [said(record, now)]
  const hasExpired = record.overruled.at(-1)?.expiredAt !== undefined
  return [hasExpired ? 'The approval no longer applied.' : 'Nobody had decided.']
}

function said(record: EventRecord, now: number): string {
  const at = record.decided?.at ?? now
  return capital(plain(`${describeDecision(record)}, ${utcOn(at, now)}.`))
}

function describeDue(record: EventRecord, now: number): string {
  return `${capital(describeStarts(record, now))}.`
}

/** The countdown shows the time left. After NotBefore, only this text says when that was. */
function describeStarts(record: EventRecord, now: number): string {
  return azureStarts(record, now, `, since ${lastingClock(record.facts.notBeforeAt ?? now, now)}`)
}
