// An approval is stuck if nobody could tell Azure, or if Azure was told and does not start the event.
import type { EventRecord } from './event.ts'
import { addHistory } from './history.ts'
import { seemsOver } from './is-over.ts'
import { isNotBeforeNear, openPaceMs } from './pace.ts'
import type { Listening } from './sight.ts'
import { inert, never, type Stage } from './stage.ts'

/** If Azure was told and has not started the event for this long, people must check. */
const notStartedMs = 10 * 60_000
/** An approval is stuck if no beacon could tell Azure for this long. */
export const stuckMs = 30_000

export const stuck: Stage = {
  ...inert,
  step(life, { listening }) {
    // if all affected VMs lack the event, it may be over
    if (stuckAt(life.record, listening) > listening.now || seemsOver(life.record)) return life
    const { azure } = life.record
    const noted = { ...life.record, azure: { ...azure, stuckAt: listening.now } }
    const entry = { at: listening.now, what: 'stuck' as const }
    return { record: addHistory(noted, entry), moments: [...life.moments, 'stuck'] }
  },
  nextAt(record, { listening }) {
    const at = stuckAt(record, listening)
    return at > listening.now ? at : never
  },
}

function stuckAt(record: EventRecord, { listeningSince }: Listening): number {
  const { phase, decided, azure } = record
  const isWaiting = phase === 'scheduled' && decided?.decision === 'approved'
  if (!isWaiting || azure.stuckAt !== undefined || record.drill) return never
  // far from NotBefore, beacons report at the slow pace
  const usualMs = (isNotBeforeNear(record, decided.at) ? 0 : openPaceMs) + stuckMs
  // while the relay was away, no beacon could ask for the approval
  const from = Math.max(decided.at, listeningSince)
  return from + (azure.accepted === undefined ? usualMs : notStartedMs)
}
