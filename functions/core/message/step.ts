// What each step of an event's life says: sentences, facts, tone.

import type { EventView, Telling } from '../delivery/delivery.ts'
import { lostMs } from '../event/conclude.ts'
import { lastingClock, span, when } from '../event/time.ts'
import {
  byItself,
  describeDecision,
  growthLines,
  hitVms,
  lapseLines,
  stuckLines,
} from './approval.ts'
import { describeChange, describeDispute } from './change.ts'
import {
  type Askers,
  aftermathOf,
  areReaders,
  askedBy,
  azureStarts,
  backLines,
  capital,
  describeDuration,
  describeInference,
  describeNames,
  describeVerdict,
  impactOf,
  isBack,
  reachOf,
  whoDecides,
} from './phrases.ts'
import type { Message, Tone } from './shape.ts'

/** Failing hardware alone is announced longer ahead than this; facts of Microsoft's documentation. */
const longNoticeMs = 24 * 3_600_000
/** Azure's clock and ours may differ: what starts no more than this before its time, starts in time. */
const earlyMs = 60_000

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

export function linesOf({ moment, event, at }: Telling, now: number, askers: Askers): string[] {
  switch (moment) {
    case 'scheduled':
      return [...backLines(event), ...ahead(event, now, askers)]
    case 'reminder':
      return ahead(event, now, askers)
    case 'changed':
      return [
        ...lapseLines(event, asksFor(event, now)),
        ...describeChange(event, now),
        ...ahead(event, now, askers),
      ]
    case 'approved': {
      const who = event.verdict === undefined ? 'approved' : describeVerdict(event.verdict)
      const next = event.drill
        ? ['The drill starts in a moment.']
        : [
            'Foghorn tells Azure to start it now, usually within seconds.',
            ...byItself('If that fails', event, now),
          ]
      return [`${capital(who)}.`, ...next, impactOf(event)]
    }
    case 'declined': {
      const who = event.verdict === undefined ? 'not now' : describeVerdict(event.verdict)
      return [
        `${capital(who)}.`,
        `That does not stop it: ${azureStarts(event, now)}.`,
        ...stillApproved(event, now, askers),
      ]
    }
    case 'stuck':
      return stuckLines(event, at, now)
    case 'started':
      return [
        ...backLines(event),
        impactOf(event),
        ...reachOf(event),
        ...startLines(event),
        ...noticeLines(event, now),
        ...growthLines(event, now),
      ]
    case 'completed':
      return completedLines(event)
    case 'cancelled':
      return cancelledLines(event)
    case 'lost':
      return lostLines(event, now)
  }
}

export function lostLines(event: EventView, now: number): string[] {
  const { ended, facts } = event
  const since = ended === undefined ? '' : ` since ${lastingClock(ended.at - lostMs, now)}`
  const whom = facts.source === 'User' ? 'with whoever asked for it' : hitVms(event)
  return [
    `No VM that saw this event has reported on it${since}, so its outcome is unknown.`,
    `Check ${whom}, and that the beacons run.`,
  ]
}

/** What is to come, and what to do about it. */
function ahead(event: EventView, now: number, askers: Askers): string[] {
  const advice = hardwareAdvice(event)
  const next = whatNext(event, advice.length > 0, now, askers)
  return [...describeDispute(event), impactOf(event), ...reachOf(event), ...advice, next]
}

function stillApproved({ facts }: EventView, now: number, askers: Askers): string[] {
  if (facts.notBeforeAt !== undefined && facts.notBeforeAt <= now) return []
  const can = 'Until then it can still be approved'
  return [areReaders(askers) ? `${can}.` : `${can}. ${whoDecides(askers)}`]
}

function whatNext(event: EventView, isAdvised: boolean, now: number, askers: Askers): string {
  const { notBeforeAt } = event.facts
  const grown = growthLines(event, now)
  if (grown.length > 0) return [...grown, 'It may start at any moment.'].join(' ')
  if (notBeforeAt !== undefined && notBeforeAt <= now) {
    return `${capital(azureStarts(event, now))}.`
  }
  if (asksFor(event, now)) {
    const how = areReaders(askers) ? howTo(event, isAdvised, askers) : whoDecides(askers)
    return `${how} If nobody acts, ${azureStarts(event, now)}.`
  }
  if (event.verdict?.decision === 'approved') {
    return `${capital(describeVerdict(event.verdict))}: it may start at any moment.`
  }
  if (event.verdict !== undefined) return `Not now was chosen: ${azureStarts(event, now)}.`
  if (event.policy.decide === 'approve') {
    return `Policy rule "${event.policy.rule}" approves it: it can start at any moment.`
  }
  return `Nothing to decide: ${azureStarts(event, now)}.`
}

/** A link leads to a page that asks, a button of the message's own decides. */
function howTo(event: EventView, isAdvised: boolean, askers: 'readers' | 'pressers'): string {
  const declined = event.verdict?.decision === 'declined'
  const how = {
    readers: declined
      ? 'open its page to approve it after all, which starts it now.'
      : 'open its page to approve, which starts it now, or to say not now.',
    pressers: declined ? 'approve after all to start it now.' : 'approve to start it now.',
  }[askers]
  // beside the advice to redeploy the VM oneself, it is the other way
  return isAdvised ? `Or ${how}` : capital(how)
}

/** Days of notice mean failing hardware; Microsoft advises to redeploy such a VM oneself. */
export function hardwareAdvice({ facts, firstSeenAt }: EventView): string[] {
  const noticeMs = (facts.notBeforeAt ?? firstSeenAt) - firstSeenAt
  const moves = facts.eventType === 'Redeploy' || facts.eventType === 'Reboot'
  if (!moves || facts.source === 'User' || noticeMs <= longNoticeMs) return []
  return [
    'Days of notice usually mean failing hardware. Microsoft advises not to wait: ' +
      'redeploy the VM yourself as soon as you can, in the portal or by "az vm redeploy".',
  ]
}

/** Who started it, where Foghorn did not and it had been scheduled: an approval has a row of its own. */
function startLines(event: EventView): string[] {
  const { verdict, overruled, startKind, startedAt = 0, policy, drill } = event
  const { notBeforeAt } = event.facts
  if (startKind !== undefined || verdict?.decision === 'approved') return []
  if (notBeforeAt !== undefined && startedAt < notBeforeAt - earlyMs) {
    return ['It started before its time, and not by Foghorn: it may have been approved elsewhere.']
  }
  const when = notBeforeAt === undefined ? '' : ' when its time came'
  const started = `${drill ? 'the drill started' : 'Azure started it'}${when}`
  if (verdict !== undefined) return [`Not now was chosen; ${started}.`]
  if (overruled?.lapsedAt !== undefined) return [`The approval no longer applied; ${started}.`]
  return [policy.decide === 'ask' ? `Nobody decided; ${started}.` : `${capital(started)}.`]
}

function noticeLines(event: EventView, now: number): string[] {
  const { startKind, startedAt } = event
  // the event was known before, so its notice is no news
  if (isBack(event) && startKind !== 'reported_late') return []
  const seenAt = startedAt === undefined ? '' : `, at ${lastingClock(startedAt, now)}`
  switch (startKind) {
    case 'none':
      return [noNoticeLine(event)]
    case 'already_running':
      return [`It was already running when Foghorn first saw it${seenAt}.`]
    case 'reported_late':
      return ['It had been scheduled before. The news reached Foghorn late.']
    default:
      return []
  }
}

/** Without notice, a Reboot or a Redeploy usually means failed hardware. */
function noNoticeLine({ facts: { eventType, resources }, drill }: EventView): string {
  const isHardware = eventType === 'Reboot' || eventType === 'Redeploy'
  if (drill) {
    const as = isHardware ? ', as a real one does where hardware has failed' : ''
    return `It started without notice${as}.`
  }
  const [vms, areBack, doNot] =
    resources.length > 1 ? ['the VMs', 'they are', 'do not'] : ['the VM', 'it is', 'does not']
  if (isHardware) {
    return `Azure gave no notice: hardware may have failed. Check ${vms} once ${areBack} back.`
  }
  const isLast = eventType === 'Preempt' || eventType === 'Terminate'
  return `Azure gave no notice. ${isLast ? `${capital(vms!)} ${doNot} come back` : `Check ${vms}`}.`
}

function completedLines({ ended, startedAt, startKind }: EventView): string[] {
  if (ended?.inferred !== undefined) {
    // of a VM that is silent, nobody has read that
    const listed = ended.inferred === 'vm_gone' ? '' : 'Azure lists it no more. '
    return [`${listed}Taken as completed: ${describeInference(ended.inferred)}.`]
  }
  const tookMs = ended === undefined || startedAt === undefined ? -1 : ended.at - startedAt
  if (tookMs < 0) return ['It is over.']
  const about = startKind === 'already_running' ? 'at least' : 'about'
  return [`It is over, after ${about} ${span(tookMs)}.`]
}

function cancelledLines(event: EventView): string[] {
  const { ended } = event
  if (ended?.inferred === undefined) return ['Azure called it off: it will not happen.']
  if (ended.inferred === 'drill_overdue') return [`${capital(describeInference(ended.inferred))}.`]
  return [
    `${capital(describeInference(ended.inferred))}. Azure does not say which.`,
    aftermathOf(event),
  ]
}

const endings = { completed: 'Ended', cancelled: 'Gone since', lost: 'Closed' }

/** What the sentences of the moment have said is not said again. */
export function factsOf(
  { moment, event }: { moment: Telling['moment'] | 'alert'; event: EventView },
  now: number,
): Message['facts'] {
  const { facts, ended, startedAt } = event
  const ahead = ended === undefined && startedAt === undefined && moment !== 'approved'
  const decides = moment === 'approved' || moment === 'declined'
  const due = ahead && facts.notBeforeAt !== undefined
  const isOverdue = ended?.inferred === 'drill_overdue'
  const ending = ended === undefined ? 'Ended' : endings[isOverdue ? 'lost' : ended.outcome]
  const rows: [string, string | undefined][] = [
    ['When', due ? when(facts.notBeforeAt!, now) : undefined],
    [
      event.startKind === 'already_running' ? 'Running at' : 'Started',
      startedAt === undefined ? undefined : when(startedAt, now),
    ],
    [ending, ended === undefined ? undefined : when(ended.at, now)],
    ['How long', ended === undefined ? describeDuration(facts.durationSeconds) : undefined],
    ['VMs hit', describeNames(facts.resources)],
    ['Asked by', askedBy(event)],
    ['Why', facts.description],
    ['Decision', decides ? undefined : describeDecision(event)],
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
      if (event.startKind === 'none') return 'danger'
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    case 'scheduled':
    case 'changed':
    case 'reminder':
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    default:
      return 'info'
  }
}
