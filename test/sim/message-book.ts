// The book of messages: each at most once in a channel, but for the repetitions that nobody can prevent,
// in the order of the event's life, and PagerDuty's incidents opened and closed.
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import {
  type Claimed,
  type Delivery,
  isSameStep,
  isSink,
} from '../../functions/core/delivery/delivery.ts'
import { lastExpiry } from '../../functions/core/event/event.ts'
import type { Part } from '../../functions/notify/notifier.ts'
import { isAdvice } from '../../shared/document.ts'
import type { Sent } from '../support/world.ts'
import type { Docket } from './docket.ts'
import { isMachine } from './machine.ts'

export interface Attempt {
  process: string
  until: number
  /** What it was settled as. */
  settled: string | undefined
  answerLost: boolean
  crashed: boolean
  /** Its worker has begun to write how it ended. */
  over: boolean
}

/** A message that is turned away after this time must be told elsewhere. */
const waitedLongMs = 150_000
const ends = ['completed', 'cancelled', 'lost']
/**
 * A later step that was committed this long before must have stopped an earlier one. A worker that
 * froze after it looked sends what it saw, at most a lease later.
 */
const overtakeMs = 8_000
const frozenMs = 21_000
/** Another fleet's events delay a message at most this long. */
const neighbourMs = 15_000
/** More events of its own fleet may fill a channel for this long. */
const maxQuietEvents = 4
/** Requests to one channel, by kind: so many in that time. */
const rates: Record<string, { requests: number; ms: number }> = {
  chat: { requests: 11, ms: 10_000 },
  team: { requests: 5, ms: 1_000 },
  pager: { requests: 120, ms: 60_000 },
}
const pointlessAfterEnd = [
  'scheduled',
  'changed',
  'not_ready',
  'reminder',
  'declined',
  'stuck',
  'started',
]

/** The incident of a stuck approval, beside the one of its event. */
const stuckKey = /\/stuck$/

const anewKey = /(\/(anew|asked)-[0-9a-f]{64})+(?=\/stuck$|$)/

/** Whether PagerDuty is sent the end of an earlier incident before this message. */
export function isAside({ notification }: Delivery, request: Pick<Sent, 'url' | 'json'>): boolean {
  if (unsticks(request)) return true
  return resolvesIn(request) && !ends.includes(notification.moment)
}

function resolvesIn({ url, json }: Pick<Sent, 'url' | 'json'>): boolean {
  return url.includes('//pager.') && json.event_action === 'resolve'
}

/** Whether PagerDuty is told that an approval is stuck no more, before it is told what happened. */
function unsticks({ url, json }: Pick<Sent, 'url' | 'json'>): boolean {
  return resolvesIn({ url, json }) && stuckKey.test(json.dedup_key)
}

export class MessageBook {
  readonly rows = new Map<string, Delivery>()
  /** Messages that a channel did not take for long. */
  readonly waitedLong = new Set<string>()
  readonly #triggered = new Set<string>()
  /** Messages, by what they are about, that a worker had in hand: it may have sent them before it died. */
  readonly #doubts = new Map<string, Set<string>>()
  readonly #plannedAt = new Map<string, number>()
  /** Incidents by dedup key: whether each is open. */
  readonly incidents = new Map<string, { open: boolean; resolved: boolean; row: Delivery }>()
  readonly #docket: Docket
  readonly #attempts = new Map<string, Attempt>()
  readonly #latest = new Map<string, Attempt>()
  readonly #accepted = new Map<string, Attempt[]>()
  readonly #told = new Map<string, string>()
  /** What each change said, by event, epoch and number. */
  readonly #changes = new Map<string, string>()
  readonly #posted = new Map<string, Attempt[]>()
  /** Somebody may read what a channel took. */
  onAccepted: (part: Part, request: Sent) => void = () => {}
  /** Asked for again after they had failed: machines get them then, whatever came since. */
  readonly #replayed = new Set<string>()
  readonly #turns = new Map<string, number[]>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  /** It was not sent, and will not be: then it stops no earlier step. */
  #isDropped({ id }: Delivery): boolean {
    const settled = this.#latest.get(id)?.settled
    return settled !== undefined && ['refused', 'given_up', 'superseded'].includes(settled)
  }

  planned(deliveries: Delivery[]): void {
    for (const one of deliveries) {
      if (this.rows.has(one.id)) continue
      this.rows.set(one.id, one)
      this.#plannedAt.set(one.id, this.#docket.now)
      if (one.notification.moment === 'changed') this.#checkChange(one)
    }
  }

  /** The same values are news only if others were told in between. */
  #checkChange(one: Delivery): void {
    const { epoch, notified } = one.notification.event
    const count = notified?.count ?? 0
    const place = (number: number) => `${one.fleet}/${one.eventId}/${epoch} ${number}`
    this.#changes.set(place(count), valuesOf(one))
    const isRepeated = this.#changes.get(place(count - 1)) === valuesOf(one)
    if (isRepeated) this.#docket.broke('told once', `${one.id} says what the last change said`)
  }

  /** All workers together keep to what a channel takes, and what it did not ask for is one message. */
  turns(requests: Claimed[][], now: number): void {
    for (const group of requests) {
      const { channel } = group[0]!
      const rate = rates[channel]
      if ((rate === undefined && !isSink(channel)) || channel === 'pager') {
        if (group.length > 1) this.#docket.broke('merging', `${channel} gets a list`)
      }
      // what its rate holds up is judged, and not sent
      if (rate === undefined || group[0]!.isHeldUp) continue
      // workers look at the clock before they write, so that times need not come in order
      const times = [...(this.#turns.get(channel) ?? []), now].sort((a, b) => a - b)
      const first = times.at(-1 - rate.requests)
      if (first !== undefined && times.at(-1)! - first < rate.ms) {
        this.#docket.broke('rate', `${channel} gets too many`)
      }
      this.#turns.set(channel, times.slice(-2 * rate.requests))
    }
  }

  /** A claim led to no request. */
  gaveBack(channel: string): void {
    this.#turns.get(channel)?.pop()
  }

  replayed(): void {
    for (const [id, { settled }] of this.#latest) {
      if (settled === 'refused' || settled === 'given_up') this.#replayed.add(id)
    }
  }

  claimed(process: string, claimed: Claimed, until: number): void {
    const { now } = this.#docket
    const held = this.#latest.get(claimed.id)
    const busy = held !== undefined && !held.over && !held.crashed
    if (held !== undefined && held.until > now && (busy || held.settled === undefined)) {
      this.#docket.broke('one lease', `${claimed.id} is under two leases at once`)
    }
    const fresh = {
      process,
      until,
      settled: undefined,
      answerLost: false,
      crashed: false,
      over: false,
    }
    this.#attempts.set(`${claimed.id} ${claimed.lease}`, fresh)
    this.#latest.set(claimed.id, fresh)
    const story = storyOf(claimed)
    this.#doubts.set(story, (this.#doubts.get(story) ?? new Set()).add(claimed.id))
    this.#docket.note(`${process} claims ${nameOf(claimed)}, attempt ${claimed.attempts}`)
  }

  settled(
    claimed: Claimed,
    { state, note }: Pick<Settlement, 'state' | 'note'>,
    outcome: 'settled' | 'lost',
  ): void {
    const attempt = this.attemptOf(claimed)
    this.#docket.note(`${nameOf(claimed)} ${outcome} as ${state} (${note})`)
    if (attempt === undefined) return
    const untouched = outcome === 'settled' && state === 'superseded' && claimed.attempts === 1
    if (untouched) this.#doubts.get(storyOf(claimed))?.delete(claimed.id)
    if (outcome === 'settled') attempt.settled = state
    // on Azure, a write whose answer was lost may be taken for another worker's
    else if (attempt.settled === undefined && attempt.until > this.#docket.now) {
      this.#docket.broke('one lease', `${claimed.id} lost its lease before its time`)
    }
  }

  attemptOf({ id, lease }: Claimed): Attempt | undefined {
    return this.#attempts.get(`${id} ${lease}`)
  }

  settling(claimed: Claimed): void {
    const attempt = this.attemptOf(claimed)
    if (attempt !== undefined) attempt.over = true
  }

  crashed(process: string): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.process === process && attempt.settled === undefined) attempt.crashed = true
    }
  }

  turnedAway({ id, plannedAt }: Claimed, fate: string): void {
    const passes = ['busy', 'fails', 'deaf'].includes(fate)
    if (passes && this.#docket.now - plannedAt >= waitedLongMs) this.waitedLong.add(id)
  }

  answerLost(claimed: Claimed): void {
    const attempt = this.attemptOf(claimed)
    if (attempt !== undefined) attempt.answerLost = true
  }

  accepted(part: Part, request: Sent): void {
    const claimed = part.delivery
    const docket = this.#docket
    docket.note(`${claimed.channel} takes ${nameOf(claimed)}`)
    const attempt = this.attemptOf(claimed)
    if (attempt === undefined) throw new Error(`${claimed.id} was sent without a claim`)
    const key = whatIsTold(claimed)
    const earlier = this.#accepted.get(key) ?? []
    // after an approval expired or a rule waited in vain, the end closes several incidents
    const { event } = claimed.notification
    const isAsked = lastExpiry(event) !== undefined || event.wait.notReady !== undefined
    const isOneOfSeveral = resolvesIn(request) && isAsked
    for (const before of isOneOfSeveral ? [] : earlier) {
      const recorded = before.settled === 'delivered'
      const excused = before.answerLost || before.crashed || before.until <= docket.now
      if (recorded || !excused) docket.broke('told once', `${key} was told twice`)
    }
    this.#accepted.set(key, [...earlier, attempt])
    if (request.url.endsWith('chat.postMessage')) this.#checkPost(claimed, attempt, request)
    this.#checkId(claimed, request, earlier.length > 0)
    if (isAdvice(event.facts)) this.#checkAdvice(claimed)
    const again = this.#replayed.has(claimed.id) && isMachine(claimed.channel)
    if (!again) this.#checkOrder(claimed)
    this.#checkOvertaken(claimed, 'thread_ts' in request.json)
    this.#checkNeighbour(claimed)
    if (request.url.includes('//pager.')) this.keepIncident(claimed, request)
    this.onAccepted(part, request)
  }

  #checkId(claimed: Claimed, { headers }: Sent, repeated: boolean): void {
    const id = headers['webhook-id']
    if (id !== undefined && id !== claimed.id) {
      const what = repeated ? 'repeated' : 'sent'
      this.#docket.broke('told once', `${claimed.id} was ${what} with the id ${id}`)
    }
  }

  /** Nobody can do anything about advice: people hear of it once, and are never called. */
  #checkAdvice({ id, channel, notification }: Claimed): void {
    if (isMachine(channel) || notification.moment === 'alert') return
    this.#docket.met.add('people hear of advice')
    if (channel !== 'pager' && notification.moment === 'scheduled') return
    this.#docket.broke('advice', `${channel} is told "${notification.moment}" of advice: ${id}`)
  }

  /** A bot has one message for each story: what it knows of is edited. */
  #checkPost(claimed: Claimed, attempt: Attempt, { json }: Sent): void {
    if (json.thread_ts !== undefined || claimed.notification.moment === 'alert') return
    const story = storyOf(claimed)
    const earlier = this.#posted.get(story) ?? []
    if (earlier.some(({ settled }) => settled === 'delivered')) {
      this.#docket.broke('told once', `a second message is posted of ${story}`)
    }
    this.#posted.set(story, [...earlier, attempt])
  }

  #checkOrder({ fleet, eventId, channel, notification }: Claimed): void {
    const place = `${fleet}/${eventId}/${notification.event.epoch}/${channel}`
    if (ends.includes(notification.moment)) this.#told.set(place, notification.moment)
    const ended = this.#told.get(place)
    if (ended !== undefined && pointlessAfterEnd.includes(notification.moment)) {
      this.#docket.broke(
        'order',
        `${channel} is told "${notification.moment}" after "${ended}": ${place}`,
      )
    }
  }

  /** A fleet that floods the relay does not delay the first message about another fleet's event. */
  #checkNeighbour({ id, fleet, channel, notification }: Claimed): void {
    const { now, flooded, parts } = this.#docket
    const own = parts.plan.events.length <= maxQuietEvents
    if (flooded === undefined || flooded.fleet === fleet || notification.moment !== 'scheduled')
      return
    const { faults } = parts
    const kinds = [
      'relay_away',
      'relay_crashes',
      'relay_stalls',
      'wake_lost',
      'store_slow',
    ] as const
    const bad = ['channel_slow', 'channel_busy', 'channel_fails', 'channel_mute'] as const
    const others = ['channel_refuses', 'channel_dead', 'imds_throttles'] as const
    if (!own || [...kinds, ...bad, ...others].some((kind) => faults[kind] > 0)) return
    const waitedMs = now - this.#plannedAt.get(id)!
    if (waitedMs > neighbourMs) {
      const text = `${fleet} waits ${waitedMs} ms for ${channel}, as ${flooded.fleet} floods it`
      this.#docket.broke('neighbours', text)
    }
  }

  /** People are not notified of a step after the next one has long been known. */
  #checkOvertaken(claimed: Claimed, isReply: boolean): void {
    const { notification, channel } = claimed
    if (notification.moment === 'alert' || isMachine(channel) || channel === 'pager') return
    const { relay_stalls, store_slow } = this.#docket.parts.faults
    const freezes = relay_stalls > 0 || store_slow > 0
    // a reply follows an edit, which may take as long as an attempt
    const before = this.#docket.now - (freezes || isReply ? frozenMs : overtakeMs)
    for (const row of this.rows.values()) {
      const own = row.fleet === claimed.fleet && row.eventId === claimed.eventId
      if (!own || row.channel !== channel || this.#isDropped(row)) continue
      if (row.notification.moment === 'alert' || row.notification.moment === 'reminder') continue
      const later =
        row.seq > claimed.seq && !isSameStep(row, claimed) && this.#plannedAt.get(row.id)! < before
      if (!later || row.notification.event.epoch !== notification.event.epoch) continue
      const text = `${channel} is told "${notification.moment}" long after "${row.notification.moment}"`
      this.#docket.broke('order', `${text} was owed: ${claimed.id}`)
    }
  }

  /** A trigger that PagerDuty may have taken, whatever it answered. */
  sent({ delivery }: Part, { url, json }: Sent): void {
    if (!url.includes('//pager.')) return
    const key = String(json.dedup_key)
    const ofStuck = stuckKey.test(key)
    const doubts = [...(this.#doubts.get(storyOf(delivery)) ?? [])].filter(
      (id) => (this.rows.get(id)?.notification.moment === 'stuck') === ofStuck,
    )
    const opened = this.#triggered.has(key) || doubts.some((id) => id !== delivery.id)
    if (json.event_action === 'trigger') this.#triggered.add(key)
    else if (!opened) {
      const what = `${json.event_action} of ${key}, which was never triggered`
      this.#docket.broke('incidents', `${delivery.id}: ${what}`)
    }
  }

  keepIncident(row: Delivery, { url, json }: Sent): void {
    const key = String(json.dedup_key)
    const { fleet, eventId, notification } = row
    const own = `foghorn/${fleet}/${eventId}/${notification.event.epoch}`
    const ofStuck = notification.moment === 'stuck' || unsticks({ url, json })
    // after an approval expired or a rule waited in vain, people are asked by a new incident
    const name = key.replace(anewKey, '')
    if (notification.moment !== 'alert' && name !== (ofStuck ? `${own}/stuck` : own)) {
      this.#docket.broke('incidents', `${row.id} has the dedup key ${key}`)
    }
    const known = this.incidents.get(key) ?? { open: false, resolved: false, row }
    if (json.event_action === 'trigger' && known.resolved) {
      this.#docket.broke('incidents', `${key} is opened after it was resolved`)
    }
    const resolves = json.event_action === 'resolve'
    const isReplaced =
      resolves && !ofStuck && notification.moment !== 'alert' && !ends.includes(notification.moment)
    const others = [...this.incidents].filter(([other]) => other !== key && other.startsWith(own))
    if (isReplaced && !others.some(([, { open }]) => open)) {
      this.#docket.broke('incidents', `${key} is closed, and people have no other`)
    }
    this.incidents.set(key, {
      row,
      open: json.event_action === 'trigger' || (known.open && !resolves),
      resolved: known.resolved || resolves,
    })
  }
}

function storyOf({ fleet, eventId, channel, notification }: Delivery): string {
  return `${fleet}/${eventId}/${notification.event.epoch}/${channel}`
}

function nameOf({ notification, channel, eventId }: Delivery): string {
  return `"${notification.moment}" of ${eventId} for ${channel}`
}

/** The message by its meaning, whatever its id says. */
function whatIsTold({ id, fleet, eventId, channel, notification }: Delivery): string {
  const { epoch } = notification.event
  const expiredAt = lastExpiry(notification.event) ?? ''
  const step = `${fleet}/${eventId}/${epoch}/${notification.moment}/${channel}`
  if (notification.moment === 'alert') return `${step} ${id}`
  if (notification.moment === 'reminder')
    return `${step} ${notification.event.facts.notBeforeAt} ${notification.event.notified?.count} ${notification.event.reminders.last?.beforeSeconds}`
  if (['approved', 'declined', 'stuck'].includes(notification.moment)) return `${step} ${expiredAt}`
  if (notification.moment !== 'changed') return step
  // Azure may take a change back, and make it again
  return `${step} ${expiredAt} ${notification.event.notified?.count}`
}

/** What a change says. */
function valuesOf({ notification }: Delivery): string {
  const { facts } = notification.event
  const { eventType, source, notBeforeAt, resources, durationSeconds, description } = facts
  const values = [notBeforeAt, resources, durationSeconds, description, eventType, source]
  // two approvals may expire in one millisecond
  return JSON.stringify([
    ...values,
    lastExpiry(notification.event),
    notification.event.overruled.length,
  ])
}
