// The stages of an open event, in the order of effect. A new rule about open events is a new stage here; a
// feature's stages are in its own folder.
import { stages as ofFeatures } from '../../features/rules.ts'
import { armLookAt } from './arm.ts'
import { inventoryDueAt } from './published.ts'
import { nextReminder, remind } from './reminder.ts'
import { isCovered, nextWeighingAt, weigh } from './rule-approves.ts'
import { expire, mayExpire } from './scope.ts'
import { inert, never, type Stage } from './stage.ts'
import { stuck } from './stuck.ts'
import { told } from './told.ts'
import { unheard } from './unheard.ts'

/** Law 10: an approval that no longer covers the event expires, and people must decide again. */
const scope: Stage = {
  ...inert,
  step(life, { rules, listening }) {
    const { record } = life
    if (record.drill || !mayExpire(record, listening.now)) return life
    return isCovered(record, rules) ? life : { ...life, record: expire(record, listening.now) }
  },
}

/** Law 9: a rule approves, waits, or gives up and asks people. */
const weighing: Stage = {
  ...inert,
  step(life, { rules, listening, slot }) {
    const { record, moments } = weigh(life.record, rules, listening, slot)
    const isSame = record === life.record && moments.length === 0
    return isSame ? life : { record, moments: [...life.moments, ...moments] }
  },
  nextAt: (record, { rules, listening }) => nextWeighingAt(record, rules, listening),
}

const reminder: Stage = {
  ...inert,
  step(life, { reminders, listening }) {
    const record = remind(life.record, reminders, listening.now)
    return record === undefined ? life : { record, moments: [...life.moments, 'reminder'] }
  },
  nextAt(record, { reminders, listening }) {
    const isPast = (record.facts.notBeforeAt ?? 0) <= listening.now
    return (isPast ? undefined : nextReminder(record, reminders)?.at) ?? never
  },
}

/** The relay tells Azure itself, see arm.ts. */
const arm: Stage = { ...inert, nextAt: (record, { listening }) => armLookAt(record, listening) }

/** If Azure publishes the event, the relay reads Azure's list of events and the inventory of VMs. */
const inventory: Stage = { ...inert, nextAt: inventoryDueAt }

export const stages: readonly Stage[] = [
  ...ofFeatures,
  // messages of this step say it
  unheard,
  // people hear of a change that voids their approval, and a rule may approve what has become of the event
  scope,
  // the moment of the event's own life is before those of its approval
  told,
  // what a rule has just approved is not stuck, and nobody is reminded of it
  weighing,
  stuck,
  reminder,
  arm,
  inventory,
]
