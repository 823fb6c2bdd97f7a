// What a drill's owner is told of its course: what is new since the last look, and what it came to.
import { plain } from '../core/message.ts'
import type { PublicEvent, publicDelivery, publicHistory } from '../core/public-view.ts'

/** An event as the events API shows it. */
export type Shown = PublicEvent & {
  history: ReturnType<typeof publicHistory>
  deliveries: ReturnType<typeof publicDelivery>[]
}
type Told = Shown['deliveries'][number]

const deciding = {
  ask: 'People are asked: the link is in the messages. If nobody decides, it starts at NotBefore.',
  approve: 'It is approved at once, and starts in some seconds.',
  tell: 'People are told and not asked; it starts at NotBefore.',
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

/** A line for each step and each message that is not as it was. `now` stands before what has no time. */
export function newsOf(before: Shown | undefined, event: Shown, now: number): string[] {
  const steps = event.history.slice(before?.history.length ?? 0).map(({ at, what, note }) => {
    return `${clock(at)}  ${what.replaceAll('_', ' ')}${note === undefined ? '' : ` (${note})`}`
  })
  const looked = clock(new Date(now).toISOString())
  const messages = event.deliveries.filter((one) => {
    const last = before?.deliveries.find(({ id }) => id === one.id)
    return last?.state !== one.state || last.attempts !== one.attempts || last.note !== one.note
  })
  return [...steps, ...messages.map((one) => `${looked}    ${stateOf(one)}`)].map(plain)
}

function clock(iso: string): string {
  return iso.slice(11, 19)
}

function stateOf({ channel, moment, state, attempts, note }: Told): string {
  const tried = attempts === 0 ? '' : `, attempt ${attempts}`
  const waits = attempts === 0 ? 'owed' : note === '' ? 'being sent' : 'to be tried again'
  const what = state === 'pending' ? waits : state.replace('_', ' ')
  return `${channel}: "${moment}" ${what}${tried}${note === '' ? '' : ` (${note})`}`
}

/** Whether there is anything to wait for. */
export function isOver(event: Shown): boolean {
  return event.outcome !== undefined && event.deliveries.every(({ state }) => state !== 'pending')
}

/** What it came to: nothing is wrong where `wrong` is empty. */
export function resultOf(event: Shown): { summary: string; wrong: string[] } {
  const { deliveries, outcome, inferred } = event
  const channels = [...new Set(deliveries.map(({ channel }) => channel))]
  const count = (state: Told['state']) => deliveries.filter((one) => one.state === state).length
  const overtaken = count('superseded')
  const summary =
    `${outcome ?? 'still open'}; ${count('delivered')} of ${deliveries.length} messages delivered` +
    `${overtaken === 0 ? '' : `, ${overtaken} overtaken by later ones`}` +
    ` on ${channels.length} channel${channels.length === 1 ? '' : 's'}` +
    `${channels.length === 0 ? '' : `: ${channels.join(', ')}`}`
  const wrong: string[] = []
  if (outcome === undefined) {
    wrong.push('it did not end in its time: is the relay running? See its log and /healthz')
  } else if (outcome !== 'completed') wrong.push(`it ended as ${outcome} (${inferred ?? 'why?'})`)
  if (deliveries.length === 0) wrong.push(silence(event))
  for (const one of deliveries) {
    const { state, moment } = one
    if (moment === 'notice' || state === 'delivered' || state === 'superseded') continue
    wrong.push(`${stateOf(one)}; ${remedies[state]}`)
  }
  for (const channel of channels) {
    const own = deliveries.filter((one) => one.channel === channel)
    const proven = own.some(({ state }) => state !== 'superseded')
    if (!proven) wrong.push(`${channel}: nothing was sent to it (${own.at(-1)?.note})`)
  }
  return { summary: plain(summary), wrong: wrong.map(plain) }
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
