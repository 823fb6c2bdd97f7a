// What each step of an event's life says: title, sentences, facts, tone.
import type { EventView, Telling } from '../delivery.ts'
import { clock, lastingClock, relative, span, when } from '../time.ts'
import {
  type Askers,
  azureStarts,
  capital,
  describeChange,
  describeDuration,
  describeInference,
  describeNames,
  describeSource,
  describeVerdict,
  impactOf,
  reachOf,
  subjectOf,
  whoDecides,
} from './phrases.ts'
import type { Message, Tone } from './shape.ts'

/** Failing hardware alone is announced longer ahead than this; facts of Microsoft's documentation. */
const longNoticeMs = 24 * 3_600_000

/** Whether a decision can still matter: Azure starts it by itself once NotBefore has passed. */
export function asksFor(event: EventView, now: number): boolean {
  const { notBeforeAt } = event.facts
  return (
    (notBeforeAt === undefined || notBeforeAt > now) &&
    event.policy.decide === 'ask' &&
    event.phase === 'scheduled' &&
    event.ended === undefined &&
    event.verdict?.decision !== 'approved'
  )
}

export function titleOf(telling: Telling, now: number): string {
  return titleWith(telling, dueOf(telling.event, now), now)
}

/** What stands in an incident's list long after: absolute times only, and nothing that may yet be known. */
export function lastingTitleOf(telling: Telling, now: number): string {
  const { notBeforeAt } = telling.event.facts
  const due = notBeforeAt === undefined ? '' : ` at ${lastingClock(notBeforeAt, now)}`
  return titleWith(telling, due, now)
}

function titleWith({ moment, event }: Telling, due: string, now: number): string {
  const subject = subjectOf(event)
  const ahead = (event.facts.notBeforeAt ?? now) > now
  const seems = event.ended?.inferred === undefined ? '' : ', it seems'
  switch (moment) {
    case 'scheduled':
      return `${subject}${due}`
    case 'changed':
      return `Changed: ${subject}${due}`
    case 'reminder':
      return `Still undecided: ${subject}${due}`
    case 'approved':
      return `Approved: ${subject} can start now`
    case 'declined':
      return `Not now: ${subject}${ahead ? ' still comes' : ''}${due}`
    case 'stuck':
      return `Approval stuck: ${subject}${due}`
    case 'started':
      return event.notice === 'none' ? `Started without notice: ${subject}` : `Started: ${subject}`
    case 'completed':
      return `Completed${seems}: ${subject}`
    case 'cancelled':
      return `Cancelled${seems}: ${subject}`
    case 'lost':
      return `Lost sight of: ${subject}`
  }
}

/** ` in 14 min, at 12:15 UTC`, or how long ago it could have begun; begins with what joins it to the subject. */
function dueOf({ facts: { notBeforeAt } }: EventView, now: number): string {
  if (notBeforeAt === undefined) return ', time not known'
  const due = `${relative(notBeforeAt, now)}, at ${clock(notBeforeAt, now)}`
  return notBeforeAt > now ? ` ${due}` : ` was due ${due}`
}

export function linesOf({ moment, event }: Telling, now: number, askers: Askers): string[] {
  switch (moment) {
    case 'scheduled':
    case 'reminder':
      return ahead(event, now, askers)
    case 'changed':
      return [...describeChange(event), ...describeLapse(event), ...ahead(event, now, askers)]
    case 'approved': {
      const who = event.verdict === undefined ? 'approved' : describeVerdict(event.verdict)
      const next = event.drill ? 'The drill starts in a moment.' : 'Azure is told to start it now.'
      return [`${capital(who)}.`, next, impactOf(event)]
    }
    case 'declined': {
      const who = event.verdict === undefined ? 'not now' : describeVerdict(event.verdict)
      return [
        `${capital(who)}.`,
        `That does not stop it: ${azureStarts(event, now)}.`,
        stillApproved(askers),
      ]
    }
    case 'stuck':
      if (event.passedOn !== undefined) {
        return [
          `${event.passedOn.vm} told Azure ${relative(event.passedOn.at, now)}, and it has not started.`,
          'Foghorn tells Azure again every minute. Look at the VM, and at Azure in the portal.',
        ]
      }
      return [
        'It is approved, but no VM has been able to tell Azure so yet. Foghorn keeps trying.',
        'Check that the beacons run: any VM that sees the event can do it.',
        `Otherwise ${azureStarts(event, now)}.`,
      ]
    case 'started':
      return [impactOf(event), ...reachOf(event), ...noticeLines(event)]
    case 'completed':
      return completedLines(event)
    case 'cancelled':
      return cancelledLines(event)
    case 'lost':
      return [
        'Every VM that saw it has fallen silent, so how it ended is not known.',
        `Check ${event.facts.source === 'User' ? 'with whoever asked for it' : 'the VMs that it hits'}.`,
      ]
  }
}

/** An approval that no longer holds: whoever gave it saw less. */
function describeLapse({ overruled, verdict }: EventView): string[] {
  if (overruled?.lapsedAt === undefined || verdict !== undefined) return []
  const names = describeNames(overruled.agreed?.resources ?? [])
  return [`It had been approved for ${names} as it was then; that is not enough any more.`]
}

/** What is to come, and what to do about it. */
function ahead(event: EventView, now: number, askers: Askers): string[] {
  const advice = hardwareAdvice(event)
  const next = whatNext(event, advice.length > 0, now, askers)
  return [impactOf(event), ...reachOf(event), ...advice, next]
}

function stillApproved(askers: Askers): string {
  const can = 'Until then it can still be approved'
  return askers === 'readers' ? `${can}.` : `${can}. ${whoDecides[askers]}`
}

function whatNext(event: EventView, isAdvised: boolean, now: number, askers: Askers): string {
  const { notBeforeAt } = event.facts
  if (notBeforeAt !== undefined && notBeforeAt <= now) {
    return `${capital(azureStarts(event, now))}.`
  }
  if (asksFor(event, now)) {
    // beside the advice to redeploy it oneself, it is the other way
    const approve = isAdvised ? 'Or approve to start the event now.' : 'Approve to start it now.'
    return `${askers === 'readers' ? approve : whoDecides[askers]} If nobody acts, ${azureStarts(event, now)}.`
  }
  if (event.verdict?.decision === 'approved') {
    return `${capital(describeVerdict(event.verdict))}: it may start at any moment.`
  }
  if (event.policy.decide === 'approve') {
    return `Policy rule "${event.policy.rule}" approves it: it can start at any moment.`
  }
  return `Nothing to decide: ${azureStarts(event, now)}.`
}

/** Days of notice mean failing hardware; Microsoft advises to redeploy such a VM oneself. */
function hardwareAdvice({ facts, firstSeenAt }: EventView): string[] {
  const noticeMs = (facts.notBeforeAt ?? firstSeenAt) - firstSeenAt
  const moves = facts.eventType === 'Redeploy' || facts.eventType === 'Reboot'
  if (!moves || facts.source === 'User' || noticeMs <= longNoticeMs) return []
  return [
    'So much notice points to failing hardware. Microsoft advises not to wait: ' +
      'redeploy the VM yourself as soon as you can, in the portal or by "az vm redeploy".',
  ]
}

function noticeLines(event: EventView): string[] {
  switch (event.notice) {
    case 'none':
      return ['Azure gave no notice: hardware may have failed. Check the VM once it is back.']
    case 'already_running':
      return ['It was already running when Foghorn first saw it.']
    case 'reported_late':
      return ['It had been scheduled before, but the VM could not report it in time.']
    default:
      return []
  }
}

function completedLines({ ended, startedAt }: EventView): string[] {
  if (ended?.inferred !== undefined) {
    return [`Azure lists it no more. Taken as completed: ${describeInference(ended.inferred)}.`]
  }
  const tookMs = ended === undefined || startedAt === undefined ? -1 : ended.at - startedAt
  return [tookMs < 0 ? 'It is over.' : `It is over, after about ${span(tookMs)}.`]
}

function cancelledLines({ ended }: EventView): string[] {
  if (ended?.inferred === undefined) return ['Azure called it off: it will not happen.']
  if (ended.inferred === 'drill_overdue') return [`${capital(describeInference(ended.inferred))}.`]
  return [
    `${capital(describeInference(ended.inferred))}. Azure does not say which.`,
    'Unless somebody approved it, it will not happen.',
  ]
}

const endings = { completed: 'Ended', cancelled: 'Gone since', lost: 'Closed' }

/** What the sentences of the moment have said is not said again. */
export function factsOf(
  { moment, event }: { moment: Telling['moment'] | 'notice'; event: EventView },
  now: number,
): Message['facts'] {
  const { facts, ended, startedAt, verdict } = event
  const ahead = ended === undefined && startedAt === undefined && moment !== 'approved'
  const decides = moment === 'approved' || moment === 'declined'
  const due = ahead && facts.notBeforeAt !== undefined
  const ending = ended === undefined ? 'Ended' : endings[ended.outcome]
  const rows: [string, string | undefined][] = [
    ['When', due ? when(facts.notBeforeAt!, now) : undefined],
    ['Started', startedAt === undefined ? undefined : when(startedAt, now)],
    [ending, ended === undefined ? undefined : when(ended.at, now)],
    ['How long', ended === undefined ? describeDuration(facts.durationSeconds) : undefined],
    ['VMs hit', describeNames(facts.resources)],
    ['Asked by', describeSource(facts.source)],
    ['Why', facts.description],
    ['Decision', verdict === undefined || decides ? undefined : describeVerdict(verdict)],
  ]
  return rows.flatMap(([name, value = '']) => (value.trim() === '' ? [] : [{ name, value }]))
}

export function toneOf({ moment, event }: Telling): Tone {
  switch (moment) {
    case 'completed':
    case 'cancelled':
      return 'good'
    case 'stuck':
    case 'lost':
      return 'danger'
    case 'started':
      if (event.notice === 'none') return 'danger'
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    case 'scheduled':
    case 'changed':
    case 'reminder':
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    default:
      return 'info'
  }
}
