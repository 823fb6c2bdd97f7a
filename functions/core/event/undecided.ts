import type { EventRecord } from './event.ts'

/** Whether people are asked about the event, and nobody has decided. */
export function isUndecided(record: EventRecord): boolean {
  const { ended, phase, policy, verdict } = record
  const isScheduled = ended === undefined && phase === 'scheduled' && !seemsOver(record)
  return isScheduled && policy.decide === 'ask' && verdict === undefined
}

/** Whether VMs that count miss the event. Then people and rules wait until it is clear why. */
export function seemsOver({ gone }: EventRecord): boolean {
  return gone !== undefined && gone.denied === undefined
}
