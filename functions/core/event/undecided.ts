import type { EventRecord } from './event.ts'

/** Whether people are asked about the event, and nobody has decided. */
export function isUndecided({ ended, phase, policy, verdict, gone }: EventRecord): boolean {
  const isScheduled = ended === undefined && phase === 'scheduled' && gone === undefined
  return isScheduled && policy.decide === 'ask' && verdict === undefined
}
