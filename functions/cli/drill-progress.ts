// What `npm run drill` prints: the start, what is new since the last look, and the result.
import { drillNote } from '../core/event/drill.ts'
import type { PublicEvent, publicDelivery, publicHistory } from '../core/event/public-view.ts'
import { plain } from '../core/message/phrases.ts'
import { counted } from './layout.ts'

/** An event as the events API shows it. */
export type Shown = PublicEvent & {
  history: ReturnType<typeof publicHistory>
  deliveries: ReturnType<typeof publicDelivery>[]
}
type Message = Shown['deliveries'][number]

const deciding = {
  ask:
    'People are asked. Their messages have the link to decide, and an owner can decide in the console. ' +
    'If nobody decides, it starts at NotBefore.',
  approve: 'It is approved at once, and starts in a few seconds.',
  notify: 'Channels are notified and nobody is asked. It starts at NotBefore.',
  ignore: 'Nobody is notified of such events.',
}

/** The first lines; `url` is the relay's. */
export function beginning(event: PublicEvent, url: string): string[] {
  const { eventId, eventType, resources, fleet, policy, notBefore } = event
  const rule = policy.rule === 'default' ? 'because no rule matches' : `by rule "${policy.rule}"`
  const due = notBefore === undefined ? 'without notice' : `NotBefore ${clock(notBefore)}`
  return [
    `Drill ${eventId} started on ${url}`,
    `${eventType} of ${resources.join(', ')} in fleet "${fleet}", ${due}`,
    `Policy: ${policy.decide}, ${rule}. ${deciding[policy.decide]}`,
    `Console: ${url}/console/events/${encodeURIComponent(fleet)}/${eventId}`,
  ].map(plain)
}

/** A line for each new step, and for each message whose state changed, with the time `now`. */
export function listNews(before: Shown | undefined, event: Shown, now: number): string[] {
  const steps = event.history.slice(before?.history.length ?? 0).map(({ at, what, note }) => {
    // every step of a drill has this note
    const why = note === undefined || note === drillNote ? '' : ` (${note})`
    return `${clock(at)}  ${what.replaceAll('_', ' ')}${why}`
  })
  const looked = clock(new Date(now).toISOString())
  const messages = event.deliveries.filter((one) => {
    const last = before?.deliveries.find(({ id }) => id === one.id)
    if (isUntried(one)) return false
    return last?.state !== one.state || last.attempts !== one.attempts || last.note !== one.note
  })
  return [...steps, ...messages.map((one) => `${looked}    ${describeState(one)}`)].map(plain)
}

function clock(iso: string): string {
  return `${iso.slice(11, 19)}Z`
}

/** No attempt has ended yet. */
function isUntried({ state, note }: Message): boolean {
  return state === 'pending' && note === ''
}

function describeState(one: Message): string {
  const { channel, moment, attempts, note, insteadOf } = one
  const tried = attempts > 1 ? `, attempt ${attempts}` : ''
  const replaced = insteadOf === undefined ? '' : ` in place of ${insteadOf}`
  const why = note === '' ? '' : ` (${note})`
  return `${chooseMark(one)} ${channel}: "${moment}"${replaced} ${wordFor(one)}${tried}${why}`
}

function chooseMark({ state }: Message): string {
  if (state === 'delivered') return '✓'
  return state === 'refused' || state === 'given_up' ? '✗' : '…'
}

function wordFor(one: Message): string {
  if (one.state !== 'pending') return one.state.replace('_', ' ')
  if (!isUntried(one)) return 'will be retried'
  return one.attempts === 0 ? 'pending' : 'being sent'
}

/** Whether the event has ended and no message is pending. */
export function isOver(event: Shown): boolean {
  return event.outcome !== undefined && event.deliveries.every(({ state }) => state !== 'pending')
}

/** The result. If nothing went wrong, `wrong` is empty. */
export function describeResult(event: Shown): { summary: string; wrong: string[] } {
  const { outcome, inferred } = event
  // an alert is not part of the drill
  const deliveries = event.deliveries.filter(({ moment }) => moment !== 'alert')
  const channels = [...new Set(deliveries.map(({ channel }) => channel))]
  const wrong: string[] = []
  if (outcome === undefined) {
    wrong.push('it did not end in time; check that the relay runs, then read its log and /healthz')
  } else if (outcome !== 'completed')
    wrong.push(`it ended as ${outcome} (${inferred ?? 'no reason given'})`)
  if (deliveries.length === 0) wrong.push(silence(event))
  for (const channel of channels) wrong.push(...listFaults(channel, deliveries))
  const summary = summarize(outcome, deliveries, channels)
  return { summary: plain(summary), wrong: wrong.map(plain) }
}

/** Counts each message once, whether its channel or a fallback accepted it. */
function summarize(outcome: Shown['outcome'], deliveries: Message[], channels: string[]): string {
  const own = deliveries.filter(({ insteadOf }) => insteadOf === undefined)
  const needed = own.filter(({ state }) => state !== 'superseded')
  const direct = needed.filter(({ state }) => state === 'delivered').length
  const byFallback = needed.filter((one) => reachedFallback(one, deliveries)).length
  const needless = own.length - needed.length
  const has = (name: string) =>
    deliveries.some(({ channel, state }) => channel === name && state === 'delivered')
  const reached = channels.filter(has)
  const of = reached.length === channels.length ? '' : `${reached.length} of `
  const asides = [
    ...(byFallback === 0 ? [] : [`${byFallback} of them by a fallback`]),
    ...(needless === 0 ? [] : [`${needless} no longer needed`]),
  ]
  return (
    `${outcome ?? 'still open'}; ` +
    `${direct + byFallback} of ${counted(needed.length, 'message')} delivered` +
    asides.map((aside) => `, ${aside}`).join('') +
    `${asides.length === 0 ? '' : ','} on ${of}${counted(channels.length, 'channel')}` +
    `${reached.length === 0 ? '' : `: ${reached.join(', ')}`}`
  )
}

/** Whether its own channel did not accept the message, and a fallback did. */
function reachedFallback(own: Message, deliveries: Message[]): boolean {
  if (own.state === 'delivered') return false
  const copies = deliveries.filter(({ insteadOf }) => insteadOf === own.channel)
  return copies.some((one) => one.state === 'delivered' && describeStep(one) === describeStep(own))
}

/** The step that the message is about, on any channel: its id without the channel. */
function describeStep({ id }: Message): string {
  return id.split('/').toSpliced(channelPart, 1).join('/')
}

/** The place of the channel in `fleet/event/epoch/moment/channel`. */
const channelPart = 4

/** One sentence for all messages that ended alike: they usually have one cause. */
function listFaults(channel: string, deliveries: Message[]): string[] {
  const own = deliveries.filter((one) => one.channel === channel)
  if (own.every(({ state }) => state === 'superseded')) {
    return [`${channel}: nothing was sent to it (${own.at(-1)?.note})`]
  }
  const ends = ['refused', 'given_up', 'pending'] as const
  // the drill went on before the channel accepted it: in a real event nobody would have been asked
  const late = own.filter(({ state, attempts }) => state === 'superseded' && attempts > 0)
  const missed = late.map(
    ({ moment, note }) => `${channel}: "${moment}" did not arrive before the next step (${note})`,
  )
  const failed = ends.flatMap((end) => {
    const alike = own.filter(({ state }) => state === end)
    if (alike[0] === undefined) return []
    const moments = [...new Set(alike.map(({ moment }) => `"${moment}"`))].join(', ')
    // later messages mostly got the same answer
    const { note } = alike[0]
    const why = note === '' ? '' : ` (${note})`
    const fate = `${channel}: ${moments} ${wordFor(alike[0])}${why}; ${remedies[end]}`
    return [end === 'pending' ? fate : `${fate}. ${describeInstead(channel, alike, deliveries)}`]
  })
  return [...missed, ...failed]
}

/** A fallback that a route names, too, has the messages already. */
function describeInstead(channel: string, lost: Message[], deliveries: Message[]): string {
  const arrived = deliveries.filter(({ state }) => state === 'delivered')
  const copies = arrived.filter((one) => one.insteadOf === channel)
  const steps = new Set(lost.map(describeStep))
  const others = arrived.filter((one) => steps.has(describeStep(one)))
  const joinNames = (all: Message[]) => [...new Set(all.map((one) => one.channel))].join(', ')
  if (copies.length > 0) {
    return `In its place ${joinNames(copies)} received ${counted(copies.length, 'message')}`
  }
  return others.length === 0
    ? 'Nothing was sent in its place'
    : `${joinNames(others)} received ${counted(others.length, 'message')} about the same steps`
}

function silence({ policy }: Shown): string {
  return policy.decide === 'ignore'
    ? `nobody was notified: rule "${policy.rule}" ignores such events`
    : 'nobody was notified: no route matches; npm run check-config explains why'
}

const remedies = {
  refused: 'check the address and the key of the channel',
  given_up: 'check that the relay can reach the channel',
  pending: 'the relay keeps trying; the events API shows the result',
}
