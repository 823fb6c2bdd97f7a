// The message of each moment: sentences, facts, tone.

import { isAdvice } from '../../../shared/document.ts'
import type { Notification } from '../delivery/delivery.ts'
import { isUnannounced } from '../event/event.ts'
import { undecidable } from '../event/facts.ts'
import { takesVm } from '../event/is-over.ts'
import { lastingClock, minuteUtc, utc } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { chooseWait, type Wait } from '../event/words.ts'
import { dayMs } from '../units.ts'
import {
  byItself,
  describeDecision,
  expiryLines,
  growthLines,
  ifNoBeacon,
  stuckLines,
  unheardLines,
} from './approval.ts'
import { type Askers, areReaders, whoDecides } from './askers.ts'
import { describeChange } from './change.ts'
import { cancelledLines, completedLines, lostLines } from './ending.ts'
import {
  affectedVms,
  askedBy,
  azureStarts,
  backLines,
  capital,
  describeAction,
  describeDecided,
  describeDuration,
  describeImpact,
  describeNames,
  describeNodes,
  describeOthers,
  describeReach,
  describeWorkloads,
  isReopened,
  whyUndecidable,
} from './phrases.ts'
import { inVainLines, readinessLines, waitLines } from './readiness.ts'
import type { Message } from './shape.ts'

/** Microsoft announces only failing hardware longer ahead than this. */
const longNoticeMs = dayMs
/** Azure's clock and ours may differ. A start this little before NotBefore is not early. */
const earlyMs = 60_000

/** Whether a decision still matters. From NotBefore on, Azure may start the event at any moment. */
export function asksFor(event: EventView, now: number): boolean {
  const { notBeforeAt } = event.facts
  return (
    (notBeforeAt === undefined || notBeforeAt > now) &&
    event.policy.decide === 'ask' &&
    event.phase === 'scheduled' &&
    event.ended === undefined &&
    event.decided?.decision !== 'approved'
  )
}

/** What an undecided event waits for. */
export function findWait(event: EventView, now: number): Wait {
  return chooseWait(event.facts, event.policy.decide, asksFor(event, now))
}

export function composeLines(
  { moment, event, at }: Notification,
  now: number,
  askers: Askers,
): string[] {
  switch (moment) {
    case 'scheduled':
      return [...backLines(event), ...ahead(event, now, askers)]
    case 'reminder':
    case 'not_ready':
      return ahead(event, now, askers)
    case 'changed':
      return [
        ...expiryLines(event, asksFor(event, now)),
        ...describeChange(event, now),
        ...ahead(event, now, askers),
      ]
    case 'approved': {
      const who = event.decided === undefined ? 'approved' : describeDecided(event.decided)
      const next = event.drill
        ? ['The drill starts in a moment.']
        : event.unheard !== undefined
          ? [...unheardLines(event, now), ...byItself(ifNoBeacon(event), event, now)]
          : [
              `Foghorn tells Azure to ${describeAction(event)} now, which usually takes seconds.`,
              ...byItself('If that fails', event, now),
            ]
      return [`${capital(who)}.`, ...next, describeImpact(event), ...readinessLines(event)]
    }
    case 'declined': {
      const who = event.decided === undefined ? 'left to Azure' : describeDecided(event.decided)
      return [
        `${capital(who)}.`,
        `${capital(azureStarts(event, now))}.`,
        ...stillApprovable(event, now, askers),
      ]
    }
    case 'stuck':
      return stuckLines(event, at, now)
    case 'started':
      return [
        ...backLines(event),
        describeImpact(event),
        ...describeReach(event),
        ...startLines(event),
        ...readinessLines(event),
        ...noticeLines(event, now),
        ...growthLines(event, now),
      ]
    case 'completed':
      return completedLines(event)
    case 'cancelled':
      return cancelledLines(event)
    case 'lost':
      return lostLines(event)
  }
}

/** What is new in this step, and what happens if nobody acts. */
export function composeBrief(
  { moment, event }: Notification,
  lines: string[],
  now: number,
  askers: Askers,
): string[] {
  const silence = unheardLines(event, now)
  const first = silence.length > 0 ? silence : lines.slice(0, 1)
  if (moment === 'stuck') return [...first, ...lines.slice(first.length).slice(-1)]
  const isNews = event.unheard !== undefined || !['scheduled', 'reminder'].includes(moment)
  const ruled = ruleLines(event, now)
  if (ruled.length > 0) return [...(isNews ? first : []), ruled.join(' ')]
  if (!asksFor(event, now) || event.decided !== undefined) return first
  const who = areReaders(askers) ? 'you do nothing' : 'nobody decides'
  const consequence = `If ${who}, ${azureStarts(event, now)}.`
  return isNews ? [...first, consequence] : [consequence]
}

/** What will happen, and what the reader can do. */
function ahead(event: EventView, now: number, askers: Askers): string[] {
  const next = whatNext(event, now, askers)
  // who can decide reads first what happens otherwise
  const isAsked = asksFor(event, now)
  return [
    ...unheardLines(event, now),
    ...inVainLines(event),
    ...(isAsked ? [next] : []),
    describeImpact(event),
    ...readinessLines(event),
    ...hardwareAdvice(event),
    ...(isAsked ? [] : [next]),
    ...describeReach(event),
  ]
}

function stillApprovable({ facts }: EventView, now: number, askers: Askers): string[] {
  if (facts.notBeforeAt !== undefined && facts.notBeforeAt <= now) return []
  const isListed = !areReaders(askers)
  return [
    isListed
      ? `Approvers can still start it until then. ${whoDecides(askers)}`
      : 'You can still start it until then.',
  ]
}

function whatNext(event: EventView, now: number, askers: Askers): string {
  const { notBeforeAt } = event.facts
  const grown = growthLines(event, now)
  if (grown.length > 0) return [...grown, 'It may start at any moment.'].join(' ')
  const why = undecidable(event.facts)
  if (why === 'nothing_to_decide') return whyUndecidable[why]
  if (why !== undefined) return `${whyUndecidable[why]} ${capital(azureStarts(event, now))}.`
  if (notBeforeAt !== undefined && notBeforeAt <= now) {
    return `${capital(azureStarts(event, now))}.`
  }
  if (asksFor(event, now)) return yourDecision(event, now, askers)
  if (event.decided?.decision === 'approved') {
    return `${capital(describeDecided(event.decided))}: it may start at any moment.`
  }
  if (event.decided !== undefined) return `${capital(azureStarts(event, now))}.`
  const ruled = ruleLines(event, now)
  if (ruled.length === 0) return `Nothing to decide. ${capital(azureStarts(event, now))}.`
  if (waitLines(event).length === 0) return ruled.join(' ')
  const earlier = areReaders(askers) ? 'To start it earlier, open the page.' : whoDecides(askers)
  return [...ruled, earlier].join(' ')
}

/** What happens by a rule if nobody acts. Empty if no rule approves the event. */
function ruleLines(event: EventView, now: number): string[] {
  const { phase, policy, decided, facts } = event
  if (phase !== 'scheduled' || event.ended !== undefined) return []
  if (policy.decide !== 'approve' || decided !== undefined) return []
  if (facts.notBeforeAt !== undefined && facts.notBeforeAt <= now) return []
  if (undecidable(facts) !== undefined || growthLines(event, now).length > 0) return []
  const waits = waitLines(event)
  if (waits.length > 0) return [...waits, `Otherwise, ${azureStarts(event, now)}.`]
  return [`Policy rule "${policy.rule}" approves it, so it may start at any moment.`]
}

function yourDecision(event: EventView, now: number, askers: Askers): string {
  const starts = azureStarts(event, now)
  if (!areReaders(askers)) return `${capital(starts)}. ${whoDecides(askers)}`
  const how = howTo(event, askers)
  return event.decided?.decision === 'declined'
    ? `${capital(starts)}: a person left it to Azure. ${capital(how)}.`
    : `If you do nothing, ${starts}. ${takesVm(event) ? 'Foghorn cannot stop that. ' : ''}${capital(how)}.`
}

/** A link opens a page that asks. A button in the message decides at once. */
function howTo(event: EventView, askers: 'readers' | 'pressers'): string {
  const them = event.facts.resources.length > 1 ? 'them' : 'it'
  const press = askers === 'readers' ? 'open the page' : 'press the button'
  const act =
    event.unheard === undefined ? `${describeAction(event, them)} now` : `approve ${them} anyway`
  return `to ${act}, ${press}`
}

/** Days of notice mean failing hardware. Microsoft advises owners to redeploy such a VM. */
export function hardwareAdvice({ facts, firstSeenAt }: EventView): string[] {
  const noticeMs = (facts.notBeforeAt ?? firstSeenAt) - firstSeenAt
  const moves = facts.eventType === 'Redeploy' || facts.eventType === 'Reboot'
  if (!moves || facts.source === 'User' || noticeMs <= longNoticeMs) return []
  return [
    'Days of notice usually mean failing hardware. Microsoft advises not to wait: ' +
      'redeploy the VM yourself as soon as you can, in the portal or with "az vm redeploy".',
  ]
}

/** Who started the event, if it was announced and Foghorn did not start it. */
function startLines(event: EventView): string[] {
  const { decided, overruled, started: { at: startedAt, kind } = { at: 0 }, policy, drill } = event
  const { notBeforeAt } = event.facts
  if (kind !== undefined || decided?.decision === 'approved') return []
  if (notBeforeAt !== undefined && startedAt < notBeforeAt - earlyMs) {
    return [
      'It started before NotBefore, and Foghorn did not start it. ' +
        'Somebody may have approved it outside Foghorn.',
    ]
  }
  const when = notBeforeAt === undefined ? '' : ' when it was due'
  const started = `${drill ? 'the drill started' : 'Azure started it'}${when}`
  if (decided !== undefined) return [`A person left it to Azure. ${capital(started)}.`]
  if (overruled.at(-1)?.expiredAt !== undefined)
    return [`The approval no longer applied, so ${started}.`]
  return [policy.decide === 'ask' ? `Nobody decided, so ${started}.` : `${capital(started)}.`]
}

function noticeLines(event: EventView, now: number): string[] {
  const { at: startedAt, kind } = event.started ?? {}
  // the event was known before
  if (isReopened(event) && kind !== 'reported_late') return []
  const seenAt = startedAt === undefined ? '' : `, at ${lastingClock(startedAt, now)}`
  switch (kind) {
    case 'none':
      return [noNoticeLine(event)]
    case 'already_running':
      return [`It was already running when Foghorn first saw it${seenAt}.`]
    case 'reported_late':
      return ['It had been scheduled before, but the report reached Foghorn late.']
    default:
      return []
  }
}

/** If Azure itself gave no notice, a Reboot or a Redeploy usually means failed hardware. */
function noNoticeLine(event: EventView): string {
  const { eventType, resources } = event.facts
  const isHardware = eventType === 'Reboot' || eventType === 'Redeploy'
  if (event.drill) {
    const as = isHardware ? ', as a real event does when hardware has failed' : ''
    return `It started without notice${as}.`
  }
  const vms = affectedVms(event)
  if (!isUnannounced(event))
    return 'A user of your subscription asked for it, and it started at once.'
  if (isHardware) {
    const areBack = resources.length > 1 ? 'they are back' : 'it is back'
    return `Azure gave no notice, so hardware may have failed. Check ${vms} once ${areBack}.`
  }
  const isLast = eventType === 'Preempt' || eventType === 'Terminate'
  return `Azure gave no notice. ${isLast ? `It will not bring ${vms} back` : `Check ${vms}`}.`
}

/** The name of a fact. */
export const namesOfVms = 'Affected VMs'

const endings = { completed: 'Ended', cancelled: 'Gone since', lost: 'Closed' }

/** Leaves out what the sentences of the moment already say, and what says nothing. */
export function composeFacts({
  moment,
  event,
}: {
  moment: Notification['moment'] | 'alert'
  event: EventView
}): Message['facts'] {
  const { facts, ended, started } = event
  const ahead = ended === undefined && started === undefined && moment !== 'approved'
  const decides = moment === 'approved' || moment === 'declined'
  const due = ahead && facts.notBeforeAt !== undefined && !isAdvice(facts)
  const isOverdue = ended?.inferred === 'drill_overdue'
  const ending = ended === undefined ? 'Ended' : endings[isOverdue ? 'lost' : ended.outcome]
  const times: [string, number | undefined][] = [
    ['When', due ? facts.notBeforeAt : undefined],
    [started?.kind === 'already_running' ? 'Running at' : 'Started', started?.at],
    [ending, ended?.at],
  ]
  const timed = times.flatMap(([name, at]) =>
    at === undefined ? [] : [{ name, value: minuteUtc(utc(at)), at }],
  )
  const rows: [string, string | undefined][] = [
    ['Expected duration', ended === undefined ? composeDuration(facts) : undefined],
    [namesOfVms, describeNames(facts.resources, facts.vmCount)],
    ['Only Azure names', describeOthers(event)],
    ['Nodes', describeNodes(event.vms)],
    ['Runs', describeWorkloads(event.vms)],
    ['Requested by', composeRequester(event)],
    ['Why', facts.description],
    ['Decision', decides ? undefined : describeDecision(event)],
  ]
  const others = rows.flatMap(([name, value = '']) =>
    value.trim() === '' ? [] : [{ name, value }],
  )
  return [...timed, ...others]
}

function composeDuration({ durationSeconds = -1 }: EventView['facts']): string | undefined {
  return durationSeconds < 0 ? undefined : describeDuration(durationSeconds)
}

/** Nearly all events are Azure's own. */
function composeRequester(event: EventView): string | undefined {
  return event.facts.source === 'Platform' && !event.drill ? undefined : askedBy(event)
}
