// Which messages came too late: a later step of the same event and channel overtakes one that waits
// still, so that nobody is asked to approve what is over. The later one says what it overtook.

import type { EventRecord, Moment } from '../event/event.ts'
import { type Delivery, deliveryId, isSameStep, isSameStory, type Telling } from './delivery.ts'

/** Whether one kind of channel may do without the earlier message once the later one is owed. */
export type Overtakes = (later: Telling, earlier: Telling) => boolean

export const ends: Moment[] = ['completed', 'cancelled', 'lost']

/** Told in vain once the event is over; on PagerDuty they would open an incident. */
const pointlessAfterEnd: Moment[] = [
  'scheduled',
  'changed',
  'reminder',
  'declined',
  'stuck',
  'started',
]

export interface Superseded {
  id: string
  note: string
}

/** Pending messages of an event that a commit makes pointless. */
export function supersededBy(
  planned: Delivery[],
  told: Moment[],
  existing: Delivery[],
  overtakes: (channel: string) => Overtakes,
): Superseded[] {
  const fresh = planned.filter((one) => !existing.some(({ id }) => id === one.id))
  const ended = told.some((moment) => ends.includes(moment))
  return existing
    .filter(({ state }) => state === 'pending')
    .flatMap((one) => {
      const by = overtakes(one.channel)
      const note = overtakenBy(one, fresh, by) ?? (ended ? afterItsEnd(one, by) : undefined)
      return note === undefined ? [] : [{ id: one.id, note }]
    })
}

/**
 * Why a message comes too late now that it is to be sent; undefined where it still matters. The
 * commit that made it so may have found it under way, or the channel does not hear of the end.
 */
export function overtaken(
  delivery: Delivery,
  record: EventRecord | undefined,
  siblings: Delivery[],
  overtakes: Overtakes,
): string | undefined {
  const { telling } = delivery
  if (record !== undefined) {
    // nobody is reminded of what was decided meanwhile
    const decided = telling.moment === 'reminder' && record.verdict !== undefined
    if (decided && leavesOut(telling, overtakes)) return 'decided meanwhile'
    const isOver = record.ended !== undefined || record.epoch > telling.event.epoch
    const late = isOver ? afterItsEnd(delivery, overtakes) : undefined
    if (late !== undefined) return late
  }
  if (telling.moment !== 'alert' && telling.insteadOf !== undefined) {
    const original = deliveryId(telling.event, telling.moment, telling.insteadOf)
    const has = siblings.some(({ id, state }) => id === original && state === 'delivered')
    // who was told of the event hears how it goes on
    const told = siblings.some(
      (one) => one.id !== delivery.id && isSameStory(one, delivery) && mayHaveArrived(one),
    )
    if (has && !told) return `"${telling.insteadOf}" has it by now`
  }
  const alive = siblings.filter(({ state }) => state === 'pending' || state === 'delivered')
  return overtakenBy(delivery, alive, overtakes)
}

function overtakenBy(
  delivery: Delivery,
  others: Delivery[],
  overtakes: Overtakes,
): string | undefined {
  const { telling } = delivery
  if (telling.moment === 'alert') return undefined
  const later = others.find(
    (other) =>
      isSameStory(delivery, other) &&
      other.seq > delivery.seq &&
      !isSameStep(delivery, other) &&
      other.telling.moment !== 'alert' &&
      // a reminder may yet be dropped, and says less than what it would stand for
      (other.telling.moment !== 'reminder' || telling.moment === 'reminder') &&
      overtakes(other.telling, telling),
  )
  return later && `overtaken by "${later.telling.moment}"`
}

/** A channel that keeps every step, keeps this one; to the others the end is the only news. */
function afterItsEnd({ telling }: Delivery, overtakes: Overtakes): string | undefined {
  if (telling.moment === 'alert' || !pointlessAfterEnd.includes(telling.moment)) return undefined
  return leavesOut(telling, overtakes) ? 'the event ended first' : undefined
}

/** Whether the channel's kind does without what is over; machines want every step. */
function leavesOut(telling: Telling, overtakes: Overtakes): boolean {
  return overtakes({ ...telling, moment: 'completed' }, telling)
}

/** Earlier steps that this channel was not told, since the last one that it was. */
export function skippedBefore(delivery: Delivery, siblings: Delivery[]): Moment[] {
  if (delivery.telling.moment === 'alert') return []
  const earlier = siblings.filter(
    (other) => isSameStory(delivery, other) && other.seq < delivery.seq,
  )
  const heard = earlier.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const since = Math.max(...heard)
  const missing = earlier.filter(({ seq, state }) => seq > since && state !== 'pending')
  const missed = missing.map(({ telling }) => telling.moment).filter((m) => m !== 'alert')
  return [...new Set(missed)]
}

/**
 * The earlier steps of this event that may have reached the channel: those that were sent at least once,
 * whatever became of it. A channel that the configuration has no more may have been this one, under another
 * name.
 */
export function mayHaveHeard(
  delivery: Delivery,
  siblings: Delivery[],
  isGone: (channel: string) => boolean,
): Telling[] {
  return siblings.flatMap((other) => {
    const { telling } = other
    const own = isGone(other.channel) ? { ...other, channel: delivery.channel } : other
    if (!isSameStory(delivery, own) || other.seq >= delivery.seq) return []
    return telling.moment === 'alert' || !mayHaveArrived(other) ? [] : [telling]
  })
}

/** Only where the single attempt was refused is it certain that it has not. */
export function mayHaveArrived({ attempts, state }: Delivery): boolean {
  return attempts > 0 && !(state === 'refused' && attempts === 1)
}
