// Checks what the demo shows: each channel was notified of each moment once, and everything is
// closed.
import type { Simulator } from '../simulator/simulator.ts'
import type { Sinks } from '../simulator/sinks.ts'

interface EventAnswer {
  phase: string
  deliveries: { channel: string; moment: string; state: string; attempts: number }[]
  approvals: { decision: string }[]
}

/** One sentence for each thing that went wrong. */
export function faultsOf(
  event: EventAnswer,
  sinks: Sinks,
  startRequests: ReturnType<Simulator['startRequests']>,
): string[] {
  const faults: string[] = []
  const approved = event.approvals.some(({ decision }) => decision === 'approved')
  const moments = ['scheduled', ...(approved ? ['approved'] : []), 'started', 'completed']
  if (event.phase !== 'completed') faults.push(`The event ended as ${event.phase}.`)
  for (const kind of ['slack', 'teams', 'pagerduty', 'webhook'] as const) {
    const got = sinks.received.filter((one) => one.kind === kind && one.accepted).length
    if (got < moments.length) faults.push(`${kind} got ${got} messages of ${moments.length}.`)
  }
  const planned = new Set(event.deliveries.map(({ channel, moment }) => `${channel} ${moment}`))
  if (planned.size !== event.deliveries.length) faults.push('A message was planned twice.')
  for (const { channel, moment, state } of event.deliveries) {
    // the next step tells of a change that it has overtaken, too
    const isTold = state === 'delivered' || (moment === 'changed' && state === 'superseded')
    if (!isTold) faults.push(`"${moment}" to "${channel}" is ${state}.`)
  }
  for (const one of sinks.received) {
    if (one.valid !== true) faults.push(`${one.kind} rejected a message: ${one.valid}`)
  }
  for (const [key, { state }] of sinks.incidents()) {
    if (state !== 'resolved') faults.push(`The incident ${key.split(' ')[1]} is ${state}.`)
  }
  if (approved && !startRequests.some(({ status }) => status === 200)) {
    faults.push('It was approved, but no StartRequests reached Azure.')
  }
  return faults
}
