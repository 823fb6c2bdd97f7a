// Composes every message that people read. Notifiers and pages only lay it out. `now` is an
// argument, as texts such as "in 14 min" depend on it.
import type { FleetAlert } from '../delivery/alert-kind.ts'
import {
  type AlertNotification,
  type ChannelTrouble,
  type Notification,
  noFleet,
  type ReadNotification,
  tellsOfEvent,
} from '../delivery/delivery.ts'
import type { Moment } from '../event/moment.ts'
import { lastingClock, span } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { alertText, alertTraits, isGoodNews } from './alert.ts'
import { type Askers, areReaders } from './askers.ts'
import { composeLinks } from './links.ts'
import { chooseSign, chooseTone } from './look.ts'
import { describeSubject, plain } from './phrases.ts'
import { reasonIn } from './reason.ts'
import type { Message, Tone } from './shape.ts'
import { asksFor, composeBrief, composeFacts, composeLines } from './step.ts'
import { composeLastingTitle, composeTitle, whatIn } from './title.ts'

/** A message that is sent this long after its moment says so. */
const lateMs = 60_000

/**
 * `now` is when the message is sent. `skipped`: earlier moments that this channel missed. `askers`:
 * who is asked to decide.
 */
export function compose(
  notification: ReadNotification,
  now: number,
  skipped: Moment[] = [],
  askers: Askers = 'readers',
): Message {
  const message: Draft = tellsOfEvent(notification)
    ? composeStep(notification, now, askers)
    : composeAlert(notification)
  const after = [...insteadLines(notification), ...skippedLines(skipped)]
  const late = lateLines(notification, now)
  // if a message asks for a decision, the reader must know first that it is late
  const ordered = message.asks
    ? [...late, ...message.lines, ...after]
    : [...message.lines, ...after, ...late]
  const lines = [...drillLines(notification), ...ordered]
  return {
    ...message,
    title: plain(drillMark(notification.event) + message.title),
    lastingTitle: plain(drillMark(notification.event) + message.lastingTitle),
    lines: lines.map(plain),
    brief: (message.brief ?? message.lines.slice(0, 1)).map(plain),
    facts: message.facts.map((fact) => ({ ...fact, value: plain(fact.value) })),
    reference: plain(message.reference),
  }
}

/** The message for a channel that gets data and no text. */
export const noText: Message = {
  title: '',
  lastingTitle: '',
  sign: '',
  lines: [],
  brief: [],
  facts: [],
  reference: '',
  tone: 'info',
  asks: false,
  declined: false,
}

/** What a message announces, without the news: mailboxes join mails of one subject. */
export function chooseTopic({ event }: Notification): string {
  return plain(`${drillMark(event)}${event.fleet}: ${whatIn(event)}`)
}

const mark = 'DRILL: '

/** Every title about a drill begins with this. */
export function drillMark(event: { drill?: unknown }): string {
  return event.drill ? mark : ''
}

export const drillLine = 'This is a drill: no VM is touched.'

function drillLines(notification: ReadNotification): string[] {
  if (!notification.event.drill) return []
  return tellsOfEvent(notification)
    ? [drillLine]
    : [drillLine, 'The problem with the channel is real.']
}

/** The head of several messages that are sent as one: the most urgent, and how many more. */
export function composeList(messages: Message[]): Pick<Message, 'title' | 'tone' | 'sign'> {
  const [first] = byUrgency(messages, (message) => message)
  const asking = messages.filter(wantsDecision).length
  const more = asking > 1 ? `${asking - 1} more to decide` : `${messages.length - 1} more`
  const tones: Tone[] = ['danger', 'warning', 'info', 'good']
  return {
    title: `${first!.title}, and ${more}`,
    sign: first!.sign,
    tone: tones.find((tone) => messages.some((message) => message.tone === tone))!,
  }
}

/** Real events before drills; what people must decide before the rest; then by NotBefore. */
export function byUrgency<Item>(items: Item[], messageOf: (item: Item) => Message): Item[] {
  const rankMessage = (item: Item): number[] => {
    const message = messageOf(item)
    const { title, dueAt = Number.MAX_VALUE } = message
    const due = Math.min(dueAt, Number.MAX_VALUE)
    return [Number(title.startsWith(mark)), Number(!wantsDecision(message)), due]
  }
  return items.toSorted((a, b) => {
    const [one, other] = [rankMessage(a), rankMessage(b)]
    return one.map((rank, i) => rank - other[i]!).find((difference) => difference !== 0) ?? 0
  })
}

/** Whether the message asks for a decision, and nobody has decided. */
export function wantsDecision({ asks, declined }: Pick<Message, 'asks' | 'declined'>): boolean {
  return asks && !declined
}

type Asking = Pick<Message, 'asks' | 'declined' | 'lookOnly' | 'opensConsole'>

/** Whether the reader is asked to decide by the link. */
export function asksByLink(message: Asking): boolean {
  return wantsDecision(message) && !message.lookOnly
}

/** The label of the button that opens the page. */
export function composeButton({ asks, declined, lookOnly, opensConsole }: Asking): string {
  if (opensConsole) return 'Open the console'
  if (!asks || lookOnly) return 'Show event'
  return declined ? 'Open to reconsider' : 'Open to decide'
}

/** The label of the button that opens a whole list. */
export function composeListButton(messages: Pick<Message, 'asks' | 'lookOnly'>[]): string {
  return messages.some(({ asks, lookOnly }) => asks && !lookOnly)
    ? 'Open all to decide'
    : 'Show all'
}

/** Without its own `brief`, a message has its first line there. */
type Draft = Omit<Message, 'brief'> & Partial<Pick<Message, 'brief'>>

function composeStep(notification: Notification, now: number, askers: Askers): Draft {
  const { event } = notification
  const lines = composeLines(notification, now, askers)
  return {
    title: `${event.fleet}: ${composeTitle(notification, now)}`,
    lastingTitle: `${event.fleet}: ${composeLastingTitle(notification, now)}`,
    lines,
    brief: composeBrief(notification, lines, now, askers),
    sign: chooseSign(notification, now),
    facts: composeFacts(notification),
    reference: composeReference(event),
    tone: chooseTone(notification),
    asks: asksFor(event, now),
    declined: event.decided?.decision === 'declined',
    dueAt: event.facts.notBeforeAt ?? Number.POSITIVE_INFINITY,
    links: composeLinks(event),
    ...(areReaders(askers) ? {} : { lookOnly: true as const }),
  }
}

function composeAlert({ at, event, about }: AlertNotification<ChannelTrouble | FleetAlert>): Draft {
  if ('alert' in about) return composeFleetAlert(event.fleet, about, at)
  if (about.health !== undefined) return composeChannelAlert(event, about)
  const which = about.moment === 'alert' ? 'an alert' : earlierWords[about.moment]
  const title = `Channel "${about.channel}" refused a message about ${describeSubject(event)}: ${which}`
  return {
    ...trouble,
    ...called(title),
    lines: [
      `It answered: ${sentence(about.reason)}`,
      `${fixIt} The channel that you are reading gets the message separately.`,
    ],
    facts: composeFacts({ moment: 'alert', event }),
    reference: composeReference(event),
  }
}

/** A message that does not change. */
function called(title: string): Pick<Message, 'title' | 'lastingTitle'> {
  return { title, lastingTitle: title }
}

function composeFleetAlert(fleet: string, about: FleetAlert, at: number): Draft {
  const { title, lines } = alertText(fleet, about, at)
  const facts = alertTraits(about).facts?.(about) ?? []
  const reference = fleet === noFleet ? 'About Foghorn itself.' : `Fleet ${fleet}.`
  const tone = about.alert === 'channel_test' ? 'info' : isGoodNews(about) ? 'good' : 'warning'
  const calm = {
    tone,
    sign: signs[tone],
    asks: false,
    declined: false,
    opensConsole: true,
  } as const
  return { ...calm, ...called(title), lines, facts, reference }
}

/** The channel itself is in trouble, not only its message about this event. */
function composeChannelAlert(event: EventView, about: ChannelTrouble): Draft {
  const { channel, reason, health, moment } = about
  const refuses = health === 'refusing'
  const title = `Channel "${channel}" gets no messages: ${reasonIn(reason)}`
  const lines = refuses
    ? [
        `It refuses all messages. ${fixIt}`,
        'Until then, its messages come here. The channel still gets each message first.',
      ]
    : [
        'It cannot be reached, and Foghorn keeps trying. Until the channel answers, its messages also come here.',
      ]
  return {
    ...trouble,
    ...called(title),
    lines,
    facts: [],
    opensConsole: true,
    // a test or an alert is about no event
    reference:
      moment === 'alert'
        ? 'About Foghorn itself.'
        : `Noticed with a message about ${describeSubject(event)}. ${composeReference(event)}`,
  }
}

const signs = { info: 'ℹ️', warning: '⚠️', danger: '🛑', good: '✅' }
const trouble = { tone: 'warning', sign: signs.warning, asks: false, declined: false } as const
const fixIt = 'An owner has to fix this: check the channel and its entry in the configuration.'

function sentence(reason: string): string {
  return `${reason.replace(/[\s.]+$/, '')}.`
}

function composeReference({ fleet, eventId }: EventView): string {
  return `Fleet ${fleet}, event ${eventId}.`
}

function insteadLines(notification: ReadNotification): string[] {
  if (!tellsOfEvent(notification) || notification.insteadOf === undefined) return []
  return [`This message is for channel "${notification.insteadOf}", which has not accepted it.`]
}

function skippedLines(skipped: Moment[]): string[] {
  if (skipped.length === 0) return []
  const names = [...new Set(skipped.map((moment) => earlierWords[moment]))]
  const all =
    names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`
  return [`This channel missed earlier messages: ${all}.`]
}

/** What people call a message that they did not get. */
const earlierWords: Record<Moment, string> = {
  scheduled: 'the first one',
  changed: 'a change',
  not_ready: 'that a rule could not approve',
  reminder: 'a reminder',
  approved: 'the approval',
  declined: 'that it was left to Azure',
  stuck: 'that Azure had not started it',
  started: 'the start',
  completed: 'the end',
  cancelled: 'the end',
  lost: 'that its outcome is unknown',
}

function lateLines({ at }: ReadNotification, now: number): string[] {
  if (now - at <= lateMs) return []
  const due = lastingClock(at, now)
  return [`This message is ${span(now - at)} late: it was due at ${due}.`]
}
