// What a drill's owner is told of its course: what is new since the last look, and what it came to.
import { drillNote } from '../core/event/drill.ts'
import type { PublicEvent, publicDelivery, publicHistory } from '../core/event/public-view.ts'
import { plain } from '../core/message/message.ts'

/** An event as the events API shows it. */
export type Shown = PublicEvent & {
  history: ReturnType<typeof publicHistory>
  deliveries: ReturnType<typeof publicDelivery>[]
}
type Told = Shown['deliveries'][number]

const deciding = {
  ask:
    'People are asked. The link is in their messages alone, and is not shown here. If nobody decides, ' +
    'it starts at NotBefore.',
  approve: 'It is approved at once, and starts in some seconds.',
  notify: 'People are told and not asked; it starts at NotBefore.',
  ignore: 'Nobody is told of such events.',
}

/** The first lines; `url` is the relay's. */
export function beginning(event: PublicEvent, url: string): string[] {
  const { eventId, eventType, resources, fleet, policy, notBefore } = event
  const rule = policy.rule === 'default' ? 'as no rule matches' : `by rule "${policy.rule}"`
  const due = notBefore === undefined ? 'without notice' : `NotBefore ${notBefore}`
  return [
    `Drill ${eventId} has begun on ${url}`,
    `${eventType} of ${resources.join(', ')} in fleet "${fleet}", ${due}`,
    `Policy: ${policy.decide}, ${rule}. ${deciding[policy.decide]}`,
  ].map(plain)
}

/** A line for each step, and for each message of which something came. `now` stands before what has no time. */
export function newsOf(before: Shown | undefined, event: Shown, now: number): string[] {
  const steps = event.history.slice(before?.history.length ?? 0).map(({ at, what, note }) => {
    // every step of a drill is one
    const said = note === undefined || note === drillNote ? '' : ` (${note})`
    return `${clock(at)}  ${what.replaceAll('_', ' ')}${said}`
  })
  const looked = clock(new Date(now).toISOString())
  const messages = event.deliveries.filter((one) => {
    const last = before?.deliveries.find(({ id }) => id === one.id)
    if (isUntried(one)) return false
    return last?.state !== one.state || last.attempts !== one.attempts || last.note !== one.note
  })
  return [...steps, ...messages.map((one) => `${looked}    ${stateOf(one)}`)].map(plain)
}

function clock(iso: string): string {
  return `${iso.slice(11, 19)}Z`
}

/** Owed or on its way, and nothing is known of it yet. */
function isUntried({ state, note }: Told): boolean {
  return state === 'pending' && note === ''
}

function stateOf(one: Told): string {
  const { channel, moment, attempts, note, insteadOf } = one
  const tried = attempts > 1 ? `, attempt ${attempts}` : ''
  const stands = insteadOf === undefined ? '' : ` in place of ${insteadOf}`
  const why = note === '' ? '' : ` (${note})`
  return `${channel}: "${moment}"${stands} ${wordFor(one)}${tried}${why}`
}

function wordFor(one: Told): string {
  if (one.state !== 'pending') return one.state.replace('_', ' ')
  if (!isUntried(one)) return 'to be tried again'
  return one.attempts === 0 ? 'owed' : 'being sent'
}

/** Whether there is anything to wait for. */
export function isOver(event: Shown): boolean {
  return event.outcome !== undefined && event.deliveries.every(({ state }) => state !== 'pending')
}

/** What it came to: nothing is wrong where `wrong` is empty. */
export function resultOf(event: Shown): { summary: string; wrong: string[] } {
  const { outcome, inferred } = event
  // a message about trouble with a channel is not part of the drill
  const deliveries = event.deliveries.filter(({ moment }) => moment !== 'alert')
  const channels = [...new Set(deliveries.map(({ channel }) => channel))]
  const wrong: string[] = []
  if (outcome === undefined) {
    wrong.push('it did not end in its time: is the relay running? See its log and /healthz')
  } else if (outcome !== 'completed') wrong.push(`it ended as ${outcome} (${inferred ?? 'why?'})`)
  if (deliveries.length === 0) wrong.push(silence(event))
  for (const channel of channels) wrong.push(...faultsOf(channel, deliveries))
  const summary = summaryOf(outcome, deliveries, channels)
  return { summary: plain(summary), wrong: wrong.map(plain) }
}

/** Counts each message once, whether its channel or a fallback accepted it. */
function summaryOf(outcome: Shown['outcome'], deliveries: Told[], channels: string[]): string {
  const own = deliveries.filter(({ insteadOf }) => insteadOf === undefined)
  const needed = own.filter(({ state }) => state !== 'superseded')
  const direct = needed.filter(({ state }) => state === 'delivered').length
  const byFallback = needed.filter((one) => isElsewhere(one, deliveries)).length
  const needless = own.length - needed.length
  const has = (name: string) =>
    deliveries.some(({ channel, state }) => channel === name && state === 'delivered')
  const reached = channels.filter(has)
  const of = reached.length === channels.length ? '' : `${reached.length} of `
  const asides = [
    ...(byFallback === 0 ? [] : [`${byFallback} of them by a fallback`]),
    ...(needless === 0 ? [] : [`${needless} not needed any more`]),
  ]
  return (
    `${outcome ?? 'still open'}; ` +
    `${direct + byFallback} of ${needed.length} message${needed.length === 1 ? '' : 's'} delivered` +
    asides.map((aside) => `, ${aside}`).join('') +
    `${asides.length === 0 ? '' : ','} on ${of}${channels.length} channel${channels.length === 1 ? '' : 's'}` +
    `${reached.length === 0 ? '' : `: ${reached.join(', ')}`}`
  )
}

/** Whether its own channel did not accept the message, and a fallback did. */
function isElsewhere(own: Told, deliveries: Told[]): boolean {
  if (own.state === 'delivered') return false
  const copies = deliveries.filter(({ insteadOf }) => insteadOf === own.channel)
  return copies.some((one) => one.state === 'delivered' && stepOf(one) === stepOf(own))
}

/** The step that the message is about, on any channel: its id without the channel. */
function stepOf({ id }: Told): string {
  return id.split('/').toSpliced(channelPart, 1).join('/')
}

/** The place of the channel in `fleet/event/epoch/moment/channel`. */
const channelPart = 4

/** One sentence for all messages that ended alike, as they have one cause. */
function faultsOf(channel: string, deliveries: Told[]): string[] {
  const own = deliveries.filter((one) => one.channel === channel)
  if (own.every(({ state }) => state === 'superseded')) {
    return [`${channel}: nothing was sent to it (${own.at(-1)?.note})`]
  }
  const ends = ['refused', 'given_up', 'pending'] as const
  return ends.flatMap((end) => {
    const alike = own.filter(({ state }) => state === end)
    if (alike[0] === undefined) return []
    const moments = [...new Set(alike.map(({ moment }) => `"${moment}"`))].join(', ')
    // later ones only repeat what the first was answered
    const { note } = alike[0]
    const why = note === '' ? '' : ` (${note})`
    const fate = `${channel}: ${moments} ${wordFor(alike[0])}${why}; ${remedies[end]}`
    return [end === 'pending' ? fate : `${fate}. ${insteadOf(channel, deliveries)}`]
  })
}

function insteadOf(channel: string, deliveries: Told[]): string {
  const told = deliveries.filter((one) => one.insteadOf === channel && one.state === 'delivered')
  if (told.length === 0) return 'Nothing was sent in its place'
  const names = [...new Set(told.map((one) => one.channel))].join(', ')
  const count = told.length === 1 ? '1 message' : `${told.length} messages`
  return `In its place ${names} was sent ${count}`
}

function silence({ policy }: Shown): string {
  return policy.decide === 'ignore'
    ? `nobody was told: rule "${policy.rule}" ignores such events`
    : 'nobody was told: no route matches; npm run check-config says why'
}

const remedies = {
  refused: 'the channel does not take it as it is: check its address and key',
  given_up: 'the channel could not be reached',
  pending: 'the relay goes on trying; the events API shows what comes of it',
}
