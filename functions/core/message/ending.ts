// Texts of the end of an event: how it ended, and why Foghorn believes that.
import { lostMs } from '../event/is-over.ts'
import { span } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { affectedVms, capital, describeAftermath, describeInference } from './phrases.ts'

export function lostLines(event: EventView): string[] {
  const what =
    event.facts.source === 'User' ? 'Ask the user who requested it' : `Check ${affectedVms(event)}`
  return [
    `No VM that saw this event has reported for ${span(lostMs)}, so nobody knows how it ended.`,
    `${what}, and run "foghorn-beacon check" on the VMs.`,
  ]
}

export function completedLines({ ended, started }: EventView): string[] {
  if (ended?.inferred !== undefined) {
    // if the VM is silent, no document shows that the event is gone
    const listed = ended.inferred === 'vm_gone' ? '' : 'Azure no longer lists it. '
    return [
      `${listed}Foghorn concludes that the event completed: ${describeInference(ended.inferred)}.`,
    ]
  }
  const tookMs = ended === undefined || started === undefined ? -1 : ended.at - started.at
  if (tookMs < 0) return ['It is over.']
  const about = started?.kind === 'already_running' ? 'at least' : 'about'
  return [`It took ${about} ${span(tookMs)}.`]
}

export function cancelledLines(event: EventView): string[] {
  const { ended } = event
  if (ended?.inferred === undefined) return ['Azure cancelled it. It will not happen.']
  if (ended.inferred === 'drill_overdue') return [`${capital(describeInference(ended.inferred))}.`]
  return [
    `${capital(describeInference(ended.inferred))}. Azure does not say which.`,
    describeAftermath(event),
  ]
}
