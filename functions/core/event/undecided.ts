import { type EventRecord, seemsOver } from './event.ts'

/** Whether people are asked about the event, and nobody has decided. */
export function isUndecided(record: EventRecord): boolean {
  const { ended, phase, policy, verdict } = record
  const isScheduled = ended === undefined && phase === 'scheduled' && !seemsOver(record)
  return isScheduled && policy.decide === 'ask' && verdict === undefined
}
