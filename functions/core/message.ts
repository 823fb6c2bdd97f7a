// Every text that people read about an event, in one place; notifiers and pages only lay it out.
// Pure: `now` decides what "in 14 min" says, and whether a message is late.
import type { EventView, Notice, Telling } from './delivery.ts'
import type { Inference, Moment } from './event.ts'
import { relative, span, when } from './time.ts'

export type Tone = 'info' | 'warning' | 'danger' | 'good'

export interface Message {
  /** One line, readable as a phone notification. */
  title: string
  /** What happens, and what happens if nobody acts; one sentence each. */
  lines: string[]
  facts: { name: string; value: string }[]
  tone: Tone
  /** Whether a decision is wanted, so that buttons make sense. */
  asks: boolean
}

/** Messages sent this long after their moment say so. */
export const lateMs = 60_000

const maxNames = 5

/** `skipped`: earlier moments that this channel was not told; `now` is when the message is sent. */
export function compose(telling: Telling | Notice, now: number, skipped: Moment[] = []): Message {
  const message = telling.moment === 'notice' ? noticeOf(telling, now) : stepOf(telling, now)
  const late =
    now - telling.at > lateMs
      ? [`This message is ${span(now - telling.at)} late: the channel could not be reached before.`]
      : []
  return {
    ...message,
    title: plain(drillMark(telling.event) + message.title),
    lines: [...drillLines(telling), ...message.lines, ...skippedLines(skipped), ...late].map(plain),
    facts: message.facts.map(({ name, value }) => ({ name, value: plain(value) })),
  }
}

const mark = 'DRILL: '

/** Stands before the title of whatever tells of a drill. */
export function drillMark(event: Pick<EventView, 'drill'>): string {
  return event.drill ? mark : ''
}

export const drillLine = 'This is a drill: no VM is touched.'

function drillLines({ moment, event }: Telling | Notice): string[] {
  if (!event.drill) return []
  // a drill is there to find what is broken
  return moment === 'notice' ? [drillLine, 'The trouble with the channel is real.'] : [drillLine]
}

function skippedLines(skipped: Moment[]): string[] {
  if (skipped.length === 0) return []
  const names = skipped.map((moment) => `"${moment}"`).join(', ')
  return [`This channel was not told before: ${names}.`]
}

/** Which event a part of a list is about, for whoever has to look it up. */
export function whichEvent({ fleet, eventId }: Pick<EventView, 'fleet' | 'eventId'>): string {
  return plain(`Fleet ${fleet}, event ${eventId}.`)
}

/** What stands above several messages that are told as one. */
export function composeList(messages: Message[]): Pick<Message, 'title' | 'lines' | 'tone'> {
  const asking = messages.filter(({ asks }) => asks).length
  const isDrill = messages.every(({ title }) => title.startsWith(mark))
  const count = `${isDrill ? mark : ''}${messages.length} maintenance messages`
  const tones: Tone[] = ['danger', 'warning', 'info', 'good']
  return {
    title: asking === 0 ? count : `${count}, ${asking} to decide`,
    lines: ['They came faster than this channel takes messages. Each has its own decision.'],
    tone: tones.find((tone) => messages.some((message) => message.tone === tone))!,
  }
}

/** On one line and in reading order: names from outside may hold breaks and marks that turn text. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ')
}

function stepOf(telling: Telling, now: number): Message {
  const { event } = telling
  return {
    title: titleOf(telling, now),
    lines: linesOf(telling, now),
    facts: factsOf(event, now),
    tone: toneOf(telling),
    asks: asksFor(event, now),
  }
}

/** `Reboot of web_3`, `Freeze of web_0, web_1 and 3 more`. */
export function subjectOf(event: EventView): string {
  const names = event.facts.resources
  if (names.length === 0) return `${event.facts.eventType} of an unnamed VM`
  const shown = names.slice(0, maxNames).join(', ')
  const more = names.length - maxNames
  return plain(`${event.facts.eventType} of ${shown}${more > 0 ? ` and ${more} more` : ''}`)
}

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

/** What the type costs the VM, by Microsoft's documentation of Scheduled Events. */
export function impactOf(event: EventView): string {
  const { eventType, durationSeconds } = event.facts
  const known = durationSeconds !== undefined && durationSeconds >= 0
  const pause = known ? `for about ${durationSeconds} s` : 'for a few seconds'
  switch (eventType) {
    case 'Freeze':
      return `The VM pauses ${pause}; memory and files stay.`
    case 'Reboot':
      return 'The VM restarts; what is only in memory is lost.'
    case 'Redeploy':
      return 'The VM moves to another node; memory and temporary disks are lost.'
    case 'Preempt':
      return 'The Spot VM is taken away.'
    case 'Terminate':
      return 'The VM is deleted.'
    default:
      return `Foghorn does not know what "${eventType}" costs the VM; see the description.`
  }
}

export function describeInference(inference: Inference): string {
  switch (inference) {
    case 'start_not_seen_vm_rebooted':
      return 'its start was not seen, but a VM that it hits restarted or was silent meanwhile'
    case 'start_not_seen_approved':
      return 'its start was not seen, but it had been approved'
    case 'start_not_seen_not_before_passed':
      return 'its start was not seen, but its time had come'
    case 'gone_before_its_time':
      return 'gone before its time: cancelled, or approved elsewhere'
    case 'vm_gone':
      return 'the VM is gone and nothing was heard from it since'
    case 'nobody_left_to_see':
      return 'no beacon that saw it has been heard since'
    case 'drill_overdue':
      return 'the relay did not run when the drill was to start'
  }
}

/** `approved by policy rule "short freeze"`, `not now, by a holder of the link sent to "ops"`. */
export function describeVerdict(verdict: NonNullable<EventView['verdict']>): string {
  const what = verdict.decision === 'approved' ? 'approved' : 'not now,'
  const who =
    verdict.how === 'policy'
      ? `by policy rule "${verdict.who}"`
      : `by a holder of the link sent to "${verdict.who}"`
  return `${what} ${who}`
}

function titleOf({ moment, event }: Telling, now: number): string {
  const subject = subjectOf(event)
  const { notBeforeAt } = event.facts
  const past = notBeforeAt !== undefined && notBeforeAt <= now ? 'was due ' : ''
  const due = notBeforeAt === undefined ? 'soon' : `${past}${relative(notBeforeAt, now)}`
  switch (moment) {
    case 'scheduled':
      return `${subject} ${due}`
    case 'changed':
      return `Changed: ${subject} ${due}`
    case 'reminder':
      return `Still undecided: ${subject} ${due}`
    case 'approved':
      return `Approved: ${subject}`
    case 'declined':
      return `Not now: ${subject}`
    case 'stuck':
      return `Approval stuck: ${subject}`
    case 'started':
      return event.notice === 'none' ? `Started without notice: ${subject}` : `Started: ${subject}`
    case 'completed':
      return `Completed: ${subject}`
    case 'cancelled':
      return `Cancelled: ${subject}`
    case 'lost':
      return `Lost sight of: ${subject}`
  }
}

function linesOf({ moment, event }: Telling, now: number): string[] {
  const { notBeforeAt, source } = event.facts
  const due = notBeforeAt === undefined ? 'when Azure decides' : when(notBeforeAt, now)
  const ending = event.ended?.inferred
  const concluded = ending === undefined ? [] : [`Concluded: ${describeInference(ending)}.`]
  switch (moment) {
    case 'scheduled':
    case 'changed':
    case 'reminder':
      return [impactOf(event), ifNobodyActs(event, due, now), ...hardwareAdvice(event)]
    case 'approved': {
      const verdict = event.verdict === undefined ? '' : describeVerdict(event.verdict)
      const next = event.drill ? 'The drill starts in a moment' : 'Azure is told to start it now'
      return [`${capital(verdict)}. ${next}.`]
    }
    case 'declined':
      return [`${capital(describeVerdict(event.verdict!))}. Azure starts it ${due} all the same.`]
    case 'stuck':
      return [
        'It is approved, but no VM has been able to tell Azure so yet. Foghorn keeps trying.',
        `Otherwise Azure starts it ${due}.`,
      ]
    case 'started':
      return [impactOf(event), ...noticeLines(event)]
    case 'completed':
      return ['It is over.', ...concluded]
    case 'cancelled':
      return ['It will not happen.', ...concluded]
    case 'lost':
      return [
        'It was open when the last VM that saw it fell silent; how it ended is not known.',
        `Check ${source === 'User' ? 'with whoever started it' : 'the VMs'}.`,
      ]
  }
}

function ifNobodyActs(event: EventView, due: string, now: number): string {
  const { notBeforeAt } = event.facts
  if (notBeforeAt !== undefined && notBeforeAt <= now) {
    return `It was due ${due} and may have started since.`
  }
  if (asksFor(event, now)) return `Approve to start it now. If nobody does, Azure starts it ${due}.`
  if (event.policy.decide === 'approve') return `Policy rule "${event.policy.rule}" approves it.`
  return `Azure starts it ${due}.`
}

/** Days of notice mean failing hardware; Microsoft advises to redeploy such a VM oneself. */
function hardwareAdvice(event: EventView): string[] {
  const notice = (event.facts.notBeforeAt ?? event.firstSeenAt) - event.firstSeenAt
  const failing = event.facts.eventType === 'Redeploy' && notice > 24 * 3_600_000
  return failing
    ? ['So much notice points to failing hardware: redeploy the VM yourself as soon as you can.']
    : []
}

function noticeLines(event: EventView): string[] {
  switch (event.notice) {
    case 'none':
      return ['Azure gave no notice: hardware may have failed.']
    case 'already_running':
      return ['It was already running when Foghorn first saw it.']
    case 'reported_late':
      return ['It had been scheduled before, but the VM could not report it in time.']
    default:
      return []
  }
}

function factsOf(event: EventView, now: number): Message['facts'] {
  const { facts, ended, verdict } = event
  const duration = facts.durationSeconds
  const open = ended === undefined && event.startedAt === undefined
  const rows: [string, string | undefined][] = [
    ['VMs hit', facts.resources.join(', ') || 'not named'],
    ['Not before', open && facts.notBeforeAt ? when(facts.notBeforeAt, now) : undefined],
    ['Started', event.startedAt === undefined ? undefined : when(event.startedAt, now)],
    ['Ended', ended === undefined ? undefined : when(ended.at, now)],
    ['Interruption', duration === undefined || duration < 0 ? 'not known' : `${duration} s`],
    ['Started by', facts.source],
    ['Why', facts.description],
    ['Decision', verdict === undefined ? undefined : describeVerdict(verdict)],
    ['Fleet', event.fleet],
    ['Event', event.eventId],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

function toneOf({ moment, event }: Telling): Tone {
  switch (moment) {
    case 'completed':
    case 'cancelled':
      return 'good'
    case 'stuck':
    case 'lost':
      return 'danger'
    case 'scheduled':
    case 'changed':
    case 'reminder':
    case 'started':
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    default:
      return 'info'
  }
}

function noticeOf({ event, about }: Notice, now: number): Message {
  const ended = about.state === 'refused' ? 'refused it' : 'could not be reached'
  return {
    title: `Channel "${about.channel}" missed "${about.moment}" of ${subjectOf(event)}`,
    lines: [`The channel ${ended}: ${about.reason}.`, 'A person has to mend it.'],
    facts: factsOf(event, now),
    tone: 'danger',
    asks: false,
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
