// What people know of an event, and the moment of its own life that tells them of more.
import { hashChange } from '../delivery/delivery.ts'
import { type EventRecord, lastExpired } from './event.ts'
import { inert, never, type Stage } from './stage.ts'

/**
 * After so many changes, only the newest values are told, and seldom. Azure makes a few changes, an attacker any
 * number, and may end an event and bring it back.
 */
const maxChangesSent = 50
/** So many more are told if the VMs of the event were wrong: an attacker may have used up the others. */
const maxCorrections = 10
const seldomMs = 10 * 60_000

/** Adds at most one moment: the step from what people know to what is known now. */
export const told: Stage = {
  ...inert,
  step(life, { before, from, isShown, listening }) {
    const { record } = life
    const { epoch, phase, notified, drill } = record
    const last = hashChange(record)
    const count = notified?.count ?? 0
    const withMoment = (moment: 'started' | 'scheduled' | 'changed', changes: number) => ({
      record: { ...record, notified: notedAs(epoch, changes, last, listening.now) },
      moments: [...life.moments, moment],
    })
    if (phase === 'started') {
      const wasStarted = before?.phase === 'started' && before.epoch === epoch
      return wasStarted ? life : withMoment('started', count)
    }
    // if no document shows the event now, it may be over already, so people are not asked
    if (notified?.epoch !== epoch) return isShown || drill ? withMoment('scheduled', count) : life
    const isExpiry = record.overruled !== from.overruled
    // a person hears that their approval no longer counts; rules may approve again and again
    const isOfPerson = isExpiry && lastExpired(record)?.how !== 'policy'
    const isChanged = record.changed !== before?.changed && notified.last !== last
    const isDue = isSeldom(record) ? seldomAt(record) <= listening.now : isChanged || isExpiry
    return isOfPerson || isDue ? withMoment('changed', count + 1) : life
  },
  nextAt: (record) => (isSeldom(record) ? seldomAt(record) : never),
}

function notedAs(epoch: number, count: number, last: string, at: number) {
  return { epoch, count, last, ...(count >= maxChangesSent && { at }) }
}

function isSeldom({ phase, epoch, notified, changed }: EventRecord): boolean {
  const most = maxChangesSent + (changed?.corrects ? maxCorrections : 0)
  return phase === 'scheduled' && notified?.epoch === epoch && notified.count >= most
}

/** When people hear of the newest values, if they do not know them. */
function seldomAt(record: EventRecord): number {
  const { at = 0, last } = record.notified!
  return hashChange(record) === last ? never : at + seldomMs
}
