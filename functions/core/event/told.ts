// What people know of an event, and the moment of its own life that tells them of more.
import { changeOf } from '../delivery/delivery.ts'
import { inert, type Stage } from './stage.ts'

/** At most this many changes are sent in one epoch. Azure makes a few, an attacker any number. */
const maxChangesSent = 50

/** At most one moment: the step from what people know to what is known now. */
export const told: Stage = {
  ...inert,
  step(life, { before, from, isShown }) {
    const { record } = life
    const { epoch, phase, notified, drill } = record
    const last = changeOf(record)
    const count = notified?.epoch === epoch ? notified.count : 0
    const withMoment = (moment: 'started' | 'scheduled' | 'changed', changes: number) => ({
      record: { ...record, notified: { epoch, count: changes, last } },
      moments: [...life.moments, moment],
    })
    if (phase === 'started') {
      const wasStarted = before?.phase === 'started' && before.epoch === epoch
      return wasStarted ? life : withMoment('started', count)
    }
    // if no document shows the event now, it may be over already, so people are not asked
    if (notified?.epoch !== epoch) return isShown || drill ? withMoment('scheduled', 0) : life
    const isExpiry = record.overruled !== from.overruled
    const isChanged = record.changed?.at !== before?.changed?.at && notified.last !== last
    if (!(isChanged || isExpiry) || count >= maxChangesSent) return life
    return withMoment('changed', count + 1)
  },
}
