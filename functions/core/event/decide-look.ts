// What passing time means for one event: its conclusions, and what a rule that waits does next.

import { conclude, nextLook } from './conclude.ts'
import type { Context } from './decide-report.ts'
import { type Decision, follow, type Loaded, type Needs, type ReportReason } from './decision.ts'
import { type EventRecord, isOpen } from './event.ts'
import { witnessesOf } from './silence.ts'
import { weigh } from './when-ready.ts'

type LookReason = ReportReason | 'forgotten'

export function decideLook(
  before: EventRecord | undefined,
  loaded: Loaded,
  { rules, reminders, listeningSince }: Context,
  now: number,
): Decision<LookReason> | Needs {
  if (before === undefined) return { record: before, moments: [], reason: 'forgotten' }
  const { observers } = loaded
  if (observers === undefined) return { needs: 'observers' }
  const witnesses = witnessesOf(before, observers, listeningSince, now)
  const concluded = conclude(before, witnesses, now, reminders)
  const { record } = concluded
  if (!isOpen(record) || record.lookAt === undefined || record.lookAt > now) return concluded
  const weighed = weigh(record, observers, loaded, { rules, listeningSince, now, stored: before })
  if ('needs' in weighed) return weighed
  const step = follow(concluded, weighed.record, weighed.reason, weighed.moments)
  if (!isOpen(step.record)) return step
  const dueAt = nextLook(step.record, witnesses, now, reminders)
  return { ...step, record: { ...step.record, dueAt } }
}
