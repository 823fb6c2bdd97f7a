// Channel health: ok, refusing or unreachable. One message at a time tries a refusing channel, and the others
// go to its fallback at once. An unreachable channel is sent everything, and so is its fallback. Pure.
import { deliveryLeaseMs, type SendOutcome } from './attempt.ts'
import { type Claimed, type Delivery, isSameStory } from './delivery.ts'

interface Known {
  channel: string
  /** Fingerprint of the channel's configuration. With another configuration, it starts as ok. */
  of: string
  since: number
  /** Its last answer, without any secret. */
  note: string
  /** When the fallback was notified of this trouble, or of the same trouble before. */
  toldAt?: number
}

interface Troubled extends Known {
  /** The delivery whose attempt notifies the fallback, until its lease ends. Absent: nobody needs to. */
  teller?: { id: string; until: number }
}

/** It rejects whatever it is sent, so a person has to fix it. */
export interface Refusing extends Troubled {
  state: 'refusing'
  /** When the next message may try the channel, and how long that one waits. */
  nextTryAt: number
  waitMs: number
  /** The request that is trying, by its first delivery. Requests that were claimed together share a lease. */
  trying?: { id: string; by: string; until: number }
}

/** For too long it gave no answer, or answers that may pass by themselves. */
export interface Unreachable extends Troubled {
  state: 'unreachable'
}

/** It took a message again at `since`. Nobody is notified of that, or of the same trouble soon after. */
export interface Recovered extends Known {
  state: 'ok'
  was: (Refusing | Unreachable)['state']
}

/** Undefined, where this is optional: the channel was never in trouble. */
export type ChannelHealth = Recovered | Refusing | Unreachable

/** A channel's health as it is stored. */
export interface HealthRow {
  /** Grows by one with each write. */
  version: number
  channel: string
  health: ChannelHealth
}

export const firstWaitMs = 60_000
export const maxWaitMs = 600_000
/** If the same trouble comes back within this time, the fallback is not notified again. */
const sameTroubleMs = 3_600_000

/** What becomes of messages to a channel now. */
export type Passage =
  | { go: 'send' }
  /** This message finds out whether the channel takes any again. */
  | { go: 'try' }
  | { go: 'wait'; note: string }
  /** To the fallback. */
  | { go: 'divert'; note: string }

export function passageOf(health: ChannelHealth | undefined, now: number): Passage {
  if (health?.state !== 'refusing') return { go: 'send' }
  const { trying, nextTryAt, since, note } = health
  // if the clock was set back, no time that lies too far ahead counts
  if (trying !== undefined && trying.until > now && trying.until <= now + deliveryLeaseMs) {
    return { go: 'wait', note: 'another message finds out whether the channel takes any again' }
  }
  if (nextTryAt <= now || nextTryAt > now + maxWaitMs) return { go: 'try' }
  const from = new Date(since).toISOString()
  return { go: 'divert', note: `not sent, as the channel refuses since ${from}: ${note}` }
}

/** Whose lease a request has: the first message in it. */
type Lease = Pick<Claimed, 'id' | 'lease' | 'leaseUntil'>

/**
 * Before a request: what becomes of it, and the health that says who tries and who notifies the fallback. If
 * the worker that was to notify the fallback died, this one takes over.
 */
export function beforeRequest(
  before: ChannelHealth | undefined,
  of: string,
  { id, lease, leaseUntil: until }: Lease,
  now: number,
): { passage: Passage; health: ChannelHealth | undefined } {
  const known = before?.of === of ? before : undefined
  const passage = passageOf(known, now)
  if (known === undefined || known.state === 'ok') return { passage, health: known }
  const { teller } = known
  const isLost = teller !== undefined && teller.id !== id && teller.until <= now
  const health = isLost ? { ...known, teller: { id, until } } : known
  if (passage.go !== 'try' || health.state !== 'refusing') return { passage, health }
  return { passage, health: { ...health, trying: { id, by: lease, until } } }
}

export interface Answer extends Lease {
  channel: string
  of: string
  /** Undefined: nothing was sent. */
  sent: SendOutcome | undefined
  /** When the message in it was planned that has waited for too long; absent: none has. */
  overdueSince?: number | undefined
}

type HealthLog = 'channel_refuses' | 'channel_unreachable' | 'channel_recovered'

/**
 * The health after a request, and what the log says of it. A health that begins now names the delivery whose
 * end notifies the fallback; see follow-up.ts.
 */
export function afterAnswer(
  before: ChannelHealth | undefined,
  answer: Answer,
  now: number,
): { health: ChannelHealth | undefined; log?: HealthLog } {
  const known = before?.of === answer.of ? before : undefined
  const isTry = known?.state === 'refusing' && isTrying(known, answer)
  switch (evidenceIn(answer.sent)) {
    case 'refuses':
      if (known?.state === 'refusing') return { health: refusedAgain(known, isTry, answer, now) }
      return { health: refused(known, answer, now), log: 'channel_refuses' }
    case 'takes':
      if (isTry || known?.state === 'unreachable') {
        return { health: recovered(known, now), log: 'channel_recovered' }
      }
      // a request that began before the first refusal says nothing new
      return { health: known }
    case 'silent':
      if (isTry) return { health: withoutTry(known) }
      if (!isAway(known, answer, now)) return { health: known }
      return { health: begun('unreachable', known, answer, now), log: 'channel_unreachable' }
    case 'none':
      return { health: isTry ? withoutTry(known) : known }
  }
}

function isTrying({ trying }: Refusing, { id, lease }: Lease): boolean {
  return trying?.id === id && trying.by === lease
}

type Evidence = 'refuses' | 'takes' | 'silent' | 'none'

/** A channel that refuses one message has read it, so it takes messages. */
function evidenceIn(sent: SendOutcome | undefined): Evidence {
  if (sent === undefined || sent.outcome === 'superseded') return 'none'
  if (sent.outcome === 'delivered') return 'takes'
  if (sent.outcome === 'refused') return sent.broken ? 'refuses' : 'takes'
  return sent.unsent ? 'none' : 'silent'
}

/**
 * Whether silence means that the channel can't be reached: a message is overdue, and the channel has taken no
 * other since that was planned. If it has, the message is at fault.
 */
function isAway(known: ChannelHealth | undefined, { overdueSince }: Answer, now: number): boolean {
  if (overdueSince === undefined) return false
  if (known === undefined) return true
  // a time in the future is from before the clock was set back
  return known.state === 'ok' && (known.since < overdueSince || known.since > now)
}

function refused(known: ChannelHealth | undefined, answer: Answer, now: number): Refusing {
  const waits = { nextTryAt: now + firstWaitMs, waitMs: firstWaitMs }
  return { ...begun('refusing', known, answer, now), ...waits }
}

function refusedAgain(known: Refusing, isTry: boolean, answer: Answer, now: number): Refusing {
  const note = noteIn(answer)
  // a request that began before the first refusal puts off no try
  if (!isTry) return note === known.note ? known : { ...known, note }
  const waitMs = Math.min(2 * known.waitMs, maxWaitMs)
  return { ...withoutTry(known), note, waitMs, nextTryAt: now + waitMs }
}

function recovered({ state, channel, of, note, toldAt }: Refusing | Unreachable, now: number) {
  const told = toldAt === undefined ? {} : { toldAt }
  return { state: 'ok' as const, was: state, channel, of, note, since: now, ...told }
}

function withoutTry({ trying: _, ...rest }: Refusing): Refusing {
  return rest
}

function begun<State extends Recovered['was']>(
  state: State,
  known: ChannelHealth | undefined,
  answer: Answer,
  now: number,
): Troubled & { state: State } {
  const { channel, of, id, leaseUntil } = answer
  const trouble = { state, channel, of, since: now, note: noteIn(answer) }
  const toldAt = known?.state === 'ok' && known.was === state ? known.toldAt : undefined
  const isKnown = toldAt !== undefined && toldAt <= now && now - toldAt < sameTroubleMs
  return isKnown ? { ...trouble, toldAt } : { ...trouble, teller: { id, until: leaseUntil } }
}

function noteIn({ sent }: Answer): string {
  return sent?.note ?? ''
}

/** The fallback is notified, or there is none: no other delivery needs to do it. */
export function afterTold(health: ChannelHealth, now: number): ChannelHealth {
  if (health.state === 'ok') return { ...health, toldAt: now }
  const { teller: _, ...told } = health
  return { ...told, toldAt: now }
}

/** An owner says that the channel is fixed: the next message tries it. */
export function tryNow<Health extends ChannelHealth>(health: Health, now: number): Health {
  return health.state === 'refusing' ? { ...health, nextTryAt: now } : health
}

/** A message that waits longer also goes to the fallback: two minutes, or half of the time that is left. */
const patienceMs = 120_000

/**
 * Whether a channel has kept an event waiting for too long. It counts from the first step that the channel has
 * not taken, as each step may be overtaken by the next. One attempt that failed says nothing yet.
 */
export function isOverdue(delivery: Delivery, siblings: Delivery[], now: number): boolean {
  const untaken = untakenUpTo(delivery, siblings)
  const since = Math.min(...untaken.map(({ plannedAt }) => plannedAt))
  const attempts = untaken.reduce((sum, one) => sum + one.attempts, 0)
  const left = delivery.urgentUntil - since
  const patience = left > 0 ? Math.min(patienceMs, left / 2) : patienceMs
  return attempts > 1 && now - since >= patience
}

/** The steps before this one that were tried in vain, back to the last one that was taken, and itself. */
function untakenUpTo(delivery: Delivery, siblings: Delivery[]): Delivery[] {
  const before = siblings.filter((one) => isSameStory(one, delivery) && one.seq < delivery.seq)
  const taken = before.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const last = Math.max(...taken)
  const tried = before.filter(({ seq, attempts, telling, state }) => {
    const waited = state === 'pending' || state === 'superseded'
    return waited && seq > last && attempts > 0 && telling.moment !== 'alert'
  })
  return [...tried, delivery]
}
