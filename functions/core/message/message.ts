// Every text that people read about an event; notifiers and pages only lay it out. The words are in
// message/, this is what the rest of the relay asks for. Pure: `now` decides what "in 14 min" says,
// and whether a message is late.
import type { ChannelTrouble, EventView, Notice, Telling } from '../delivery/delivery.ts'
import type { Moment } from '../event/event.ts'
import { lastingClock, span } from '../event/time.ts'
import { alertFacts, alertText } from './alert.ts'
import { type Askers, areReaders, plain, subjectOf } from './phrases.ts'
import type { Message, Tone } from './shape.ts'
import { asksFor, factsOf, linesOf, toneOf } from './step.ts'
import { lastingTitleOf, titleOf } from './title.ts'

export {
  describeDecision,
  describeFailure,
  growthLines,
  isFailure,
  lapseLines,
  stuckLines,
} from './approval.ts'
export {
  type Askers,
  aftermathOf,
  askedBy,
  askersOf,
  azureStarts,
  backLines,
  capital,
  describeDuration,
  describeInference,
  describeVerdict,
  impactOf,
  isBack,
  isGuess,
  plain,
  subjectOf,
} from './phrases.ts'
export type { Message, Tone } from './shape.ts'
export { asksFor, hardwareAdvice, lostLines } from './step.ts'

/** Messages sent this long after their moment say so. */
const lateMs = 60_000

/**
 * `skipped`: earlier moments that this channel was not told; `now` is when the message is sent; `askers`:
 * who is asked, where the message itself lets somebody decide or the link does: whoever reads it.
 */
export function compose(
  telling: Telling | Notice,
  now: number,
  skipped: Moment[] = [],
  askers: Askers = 'readers',
): Message {
  const message = telling.moment === 'alert' ? noticeOf(telling, now) : stepOf(telling, now, askers)
  const after = [...insteadLines(telling), ...skippedLines(skipped)]
  const late = lateLines(telling, now)
  // whoever is asked has to know it first
  const told = message.asks
    ? [...late, ...message.lines, ...after]
    : [...message.lines, ...after, ...late]
  const lines = [...drillLines(telling), ...told]
  return {
    ...message,
    title: plain(drillMark(telling.event) + message.title),
    lastingTitle: plain(drillMark(telling.event) + message.lastingTitle),
    lines: lines.map(plain),
    facts: message.facts.map(({ name, value }) => ({ name, value: plain(value) })),
    reference: plain(message.reference),
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
  return moment === 'alert' ? [drillLine, 'The trouble with the channel is real.'] : [drillLine]
}

/** What stands above several messages that are told as one. */
export function composeList(messages: Message[]): Pick<Message, 'title' | 'lines' | 'tone'> {
  const asking = messages.filter(wantsDecision).length
  const isDrill = messages.every(({ title }) => title.startsWith(mark))
  const count = `${isDrill ? mark : ''}${messages.length} maintenance messages`
  const tones: Tone[] = ['danger', 'warning', 'info', 'good']
  return {
    title: asking === 0 ? count : `${count}, ${asking} to decide`,
    lines: ['These messages waited for this channel at the same time, so they come as one list.'],
    tone: tones.find((tone) => messages.some((message) => message.tone === tone))!,
  }
}

/** Whether somebody is to decide, and nobody has. */
export function wantsDecision({ asks, declined }: Pick<Message, 'asks' | 'declined'>): boolean {
  return asks && !declined
}

type Asking = Pick<Message, 'asks' | 'declined' | 'lookOnly'>

/** Whether the link is where whoever reads the message is to decide. */
export function asksByLink(message: Asking): boolean {
  return wantsDecision(message) && !message.lookOnly
}

/** What the button says: that it opens a page, and what for where something is wanted or can still be changed. */
export function buttonOf({ asks, declined, lookOnly }: Asking): string {
  if (!asks || lookOnly) return 'Show event'
  return declined ? 'Open to reconsider' : 'Open to decide'
}

/** What the button for all of a list says. */
export function listButtonOf(messages: Pick<Message, 'asks' | 'lookOnly'>[]): string {
  return messages.some(({ asks, lookOnly }) => asks && !lookOnly)
    ? 'Open all to decide'
    : 'Show all'
}

function stepOf(telling: Telling, now: number, askers: Askers): Message {
  const { event } = telling
  return {
    title: titleOf(telling, now),
    lastingTitle: lastingTitleOf(telling, now),
    lines: linesOf(telling, now, askers),
    facts: factsOf(telling, now),
    reference: referenceOf(event),
    tone: toneOf(telling),
    asks: asksFor(event, now),
    declined: event.verdict?.decision === 'declined',
    ...(areReaders(askers) ? {} : { lookOnly: true as const }),
  }
}

function noticeOf({ event, about }: Notice, now: number): Message {
  if ('alert' in about) return alertOf(event)
  if (about.health !== undefined) return troubleOf(event, about)
  const title = `Channel "${about.channel}" refused "${about.moment}" of ${subjectOf(event)}`
  return {
    ...trouble,
    title,
    lastingTitle: title,
    lines: [
      `It answered: ${sentence(about.reason)}`,
      `${fixIt} This channel has been told of the event itself.`,
    ],
    facts: factsOf({ moment: 'alert', event }, now),
    reference: referenceOf(event),
  }
}

function alertOf({ fleet, alert }: EventView): Message {
  if (alert === undefined) throw new Error('the row of an alert has no alert')
  const { title, lines } = alertText(fleet, alert)
  const facts = alertFacts(alert)
  const reference = `Fleet ${fleet}.`
  const calm = { tone: 'warning', asks: false, declined: false } as const
  return { ...calm, title, lastingTitle: title, lines, facts, reference }
}

/** The channel as such: with any other event it would be the same. */
function troubleOf(event: EventView, { channel, reason, health }: ChannelTrouble): Message {
  const refuses = health === 'refusing'
  const title = `Channel "${channel}" ${refuses ? 'refuses what it is sent' : "can't be reached"}`
  const lines = refuses
    ? [
        `It answered: ${sentence(reason)}`,
        fixIt,
        'Until then its messages come here, and every few minutes one of them tries it.',
      ]
    : [
        `The last attempt: ${sentence(reason)}`,
        'Foghorn keeps trying. Until that succeeds, its messages come here as well.',
      ]
  return {
    ...trouble,
    title,
    lastingTitle: title,
    lines,
    facts: [],
    reference: `First met with ${subjectOf(event)}. ${referenceOf(event)}`,
  }
}

const trouble = { tone: 'danger', asks: false, declined: false } as const
const fixIt = 'Somebody has to fix it: look at the channel, and at its entry in the configuration.'

function sentence(reason: string): string {
  return `${reason.replace(/[\s.]+$/, '')}.`
}

function referenceOf({ fleet, eventId }: EventView): string {
  return `Fleet ${fleet}, event ${eventId}.`
}

function insteadLines(telling: Telling | Notice): string[] {
  if (telling.moment === 'alert' || telling.insteadOf === undefined) return []
  return [`Sent here because "${telling.insteadOf}" did not take it.`]
}

function skippedLines(skipped: Moment[]): string[] {
  if (skipped.length === 0) return []
  const names = skipped.map((moment) => `"${moment}"`).join(', ')
  return [`This channel was not told before: ${names}.`]
}

function lateLines({ at }: Telling | Notice, now: number): string[] {
  if (now - at <= lateMs) return []
  const due = lastingClock(at, now)
  return [`This message is ${span(now - at)} late: it was to be sent at ${due}.`]
}
