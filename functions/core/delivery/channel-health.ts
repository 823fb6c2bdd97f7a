// Channel health: ok, refusing or unreachable. Each message is sent, whatever the health of its channel
// is: the channel's answer says at once whether it works again. Health decides when the fallback is
// notified of the trouble, and that no message waits long for a channel that is in trouble already.
import { claimedAt, isHeldUp, type SendOutcome } from './attempt.ts'
import { type Delivery, isSameStory, tellsOfEvent } from './delivery.ts'
import type { ChannelHealth, Doubtful, Recovered, Troubled } from './health.ts'
import { holdsUp } from './rate.ts'

/** After so many refusals in a row, it is no longer the message's fault. */
const maxRefusals = 5
/** If the same trouble comes back within this time, its alert is the same. */
const sameTroubleMs = 3_600_000

export interface Answer {
  channel: string
  /** When the lease of the first delivery in the request ends. */
  leaseUntil: number
  of: string
  sent: SendOutcome
  /** When the overdue message in it was planned. Absent if none is overdue. */
  overdueSince?: number | undefined
}

type HealthLog = 'channel_refuses' | 'channel_unreachable' | 'channel_recovered'

interface After {
  health: ChannelHealth | undefined
  log?: HealthLog
}

export function isInTrouble(health: ChannelHealth | undefined): health is Troubled {
  return health !== undefined && health.state !== 'ok'
}

/** The health after a request, and the log event. */
export function afterAnswer(before: ChannelHealth | undefined, answer: Answer, now: number): After {
  const known = before?.of === answer.of ? before : undefined
  return known === undefined || known.state === 'ok'
    ? afterWell(known, answer, now)
    : afterTrouble(known, answer, now)
}

type Well = Recovered | Doubtful | undefined

function afterWell(known: Well, answer: Answer, now: number): After {
  switch (evidenceIn(answer.sent)) {
    case 'takes':
      return { health: trusted(known) }
    case 'reads':
      return doubted(known, answer, now)
    case 'refuses':
      return { health: begun('refusing', known, answer, now), log: 'channel_refuses' }
    case 'silent':
      if (!isUnreachable(known, answer, now)) return { health: known }
      return { health: begun('unreachable', known, answer, now), log: 'channel_unreachable' }
    case 'none':
      return { health: known }
  }
}

function afterTrouble(known: Troubled, answer: Answer, now: number): After {
  const evidence = evidenceIn(answer.sent)
  const isRefusing = known.state === 'refusing'
  if (evidence === 'refuses' && !isRefusing) {
    return { health: begun('refusing', known, answer, now), log: 'channel_refuses' }
  }
  // a request that began before the first refusal proves nothing
  const answers = evidence === 'takes' || (evidence === 'reads' && !isRefusing)
  if (!answers || isOlder(answer, known)) return { health: known }
  const health = recovered(known, now)
  const refused = evidence === 'reads' ? { refused: 1 } : {}
  return { health: { ...health, ...refused }, log: 'channel_recovered' }
}

function isOlder(answer: Answer, { state, since }: Troubled): boolean {
  return state === 'refusing' && claimedAt(answer) < since
}

/** `reads`: it answers, and refused this message. */
type Evidence = 'refuses' | 'takes' | 'reads' | 'silent' | 'none'

function evidenceIn(sent: SendOutcome): Evidence {
  if (sent.outcome === 'superseded' || sent.outcome === 'given_up') return 'none'
  if (sent.outcome === 'delivered') return 'takes'
  if (sent.outcome === 'refused') return sent.broken ? 'refuses' : 'reads'
  return sent.unsent ? 'none' : 'silent'
}

/**
 * Whether the channel counts as unreachable: a message is overdue, and the channel has accepted no
 * other since that was planned. Otherwise, the message is at fault.
 */
function isUnreachable(
  known: ChannelHealth | undefined,
  { overdueSince }: Answer,
  now: number,
): boolean {
  if (overdueSince === undefined) return false
  if (known === undefined) return true
  // a time in the future is from before the clock was set back
  return known.since < overdueSince || known.since > now
}

/** The channel has accepted a message, so earlier refusals were those messages' fault. */
function trusted(known: Well): Well {
  if (known?.refused === undefined) return known
  if (known.was === undefined) return undefined
  const { refused: _, ...kept } = known
  return kept
}

/** One more refusal. */
function doubted(known: Well, answer: Answer, now: number): After {
  const refused = (known?.refused ?? 0) + 1
  if (refused >= maxRefusals) {
    return { health: begun('refusing', known, answer, now), log: 'channel_refuses' }
  }
  if (known !== undefined) return { health: { ...known, refused } }
  const { channel, of, sent } = answer
  return { health: { state: 'ok', channel, of, since: now, note: sent.note, alert: now, refused } }
}

function recovered({ state, ...known }: Troubled, now: number): Recovered {
  return { ...known, state: 'ok', was: state, since: now }
}

function begun(
  state: Troubled['state'],
  known: ChannelHealth | undefined,
  { channel, of, sent }: Answer,
  now: number,
): Troubled {
  const isSame = known?.state === 'ok' && known.was === state
  const isKnown = isSame && Math.abs(now - known.alert) < sameTroubleMs
  return { state, channel, of, since: now, note: sent.note, alert: isKnown ? known.alert : now }
}

/** After this time, or half of the time left, a message also goes to the fallback. */
const patienceMs = 120_000

/** `freeAt`: when the rate of its channel allows the next attempt. Absent: now. */
type Tried = Delivery & { freeAt?: number | undefined }

/**
 * Whether a message has waited too long for its channel, or will have before its rate allows another
 * attempt. The wait begins with the first step that the channel has not accepted, as later steps overtake
 * it. One failed attempt is not enough.
 */
export function isOverdue(delivery: Tried, siblings: Delivery[], now: number): boolean {
  const waiting = undeliveredUpTo(delivery, siblings)
  const attempts = waiting.reduce((sum, one) => sum + one.attempts, 0)
  return attempts > 1 && nextTryAt(delivery, now) >= overdueAt(delivery, waiting)
}

/** Whether the pause or the rate of the channel is longer than a waiting message waits for its channel. */
export function isPutOff(
  delivery: Tried,
  siblings: Delivery[],
  result: SendOutcome,
  { nextAt, now }: { nextAt: number; now: number },
): boolean {
  const isAsked = result.outcome === 'retry' && result.retryAfterMs !== undefined
  const at = isAsked || isHeldUp(result) ? nextAt : nextTryAt(delivery, now)
  return at > now && at > overdueAt(delivery, undeliveredUpTo(delivery, siblings))
}

/** A message is tried when it becomes overdue, and judged then. */
export function notPastOverdue(
  delivery: Delivery,
  siblings: Delivery[],
  nextAt: number,
  now: number,
): number {
  const at = Math.ceil(overdueAt(delivery, undeliveredUpTo(delivery, siblings)))
  return at > now ? Math.min(nextAt, at) : nextAt
}

function nextTryAt({ freeAt = 0 }: Tried, now: number): number {
  return holdsUp(freeAt, now) ? freeAt : now
}

function overdueAt({ urgentUntil }: Delivery, waiting: Delivery[]): number {
  const since = Math.min(...waiting.map(({ plannedAt }) => plannedAt))
  const left = urgentUntil - since
  return since + (left > 0 ? Math.min(patienceMs, left / 2) : patienceMs)
}

/** This delivery and the failed ones before it, since the last delivered one. */
function undeliveredUpTo(delivery: Delivery, siblings: Delivery[]): Delivery[] {
  const before = siblings.filter((one) => isSameStory(one, delivery) && one.seq < delivery.seq)
  const delivered = before.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const last = Math.max(...delivered)
  const tried = before.filter(({ seq, attempts, notification, state }) => {
    const waited = state === 'pending' || state === 'superseded'
    return waited && seq > last && attempts > 0 && tellsOfEvent(notification)
  })
  return [...tried, delivery]
}
