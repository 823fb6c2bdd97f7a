// The loop that carries out directives. The one place that ever approves anything, and only what the
// relay directed and this VM's own document shows as Scheduled.
import type { ScheduledEvent } from '../shared/document.ts'
import type { Directive } from '../shared/report.ts'
import { createDue } from './due.ts'
import type { Parts, State } from './state.ts'

/** A directive that crossed our report of its success is not carried out twice. */
const quietMs = 2_000

export interface Starter {
  /** Takes directives, by canonical event id. */
  direct(directives: readonly Directive[]): void
  loop(stop: AbortSignal): Promise<void>
}

export function createStarter(parts: Parts, state: State): Starter {
  const { clock, log } = parts
  const due = createDue(clock)
  /** One entry for an event, however often it is directed. */
  const waiting = new Map<string, Directive>()
  const acceptedAt = new Map<string, number>()

  const isQuiet = (eventId: string): boolean => {
    for (const [id, at] of acceptedAt) {
      if (clock.monotonic() - at >= quietMs) acceptedAt.delete(id)
    }
    return acceptedAt.has(eventId)
  }

  return {
    direct(directives) {
      for (const directive of directives) {
        const { eventId } = directive
        log.info('directive_received', { eventId })
        waiting.set(eventId, directive)
      }
      if (directives.length > 0) due.bring(clock.monotonic())
    },
    async loop(stop) {
      while (!stop.aborted) {
        await due.wait(stop)
        for (const [eventId, directive] of waiting) {
          if (stop.aborted) return
          if (!isQuiet(eventId)) {
            const accepted = await carryOut(parts, state, directive, stop)
            if (accepted) acceptedAt.set(eventId, clock.monotonic())
          }
          waiting.delete(eventId)
        }
      }
    },
  }
}

/** Whether Azure accepted it now. What came of it goes into the spool, and a report out at once. */
async function carryOut(
  { clock, imds, log, spool }: Parts,
  state: State,
  directive: Directive,
  stop: AbortSignal,
): Promise<boolean> {
  const { eventId } = directive
  const event = state.document?.events.find((known) => known.eventId === eventId)
  const obstacle = obstacleTo(directive, event)
  const started = obstacle === undefined ? await imds.start(eventId, stop) : { outcome: obstacle }
  // Cut off by our own stop, the outcome is unknown: the relay will direct again, us or another.
  if (stop.aborted) return false
  const status = 'status' in started ? started.status : undefined
  const reason = 'reason' in started ? started.reason : undefined
  log.info('start_requested', { eventId, outcome: started.outcome, status, reason })
  const seenAt = clock.monotonic()
  const { outcome } = started
  spool.append([
    { kind: 'start', eventId, outcome, seenAt, ...(status === undefined ? {} : { status }) },
  ])
  state.reportDue.bring(seenAt)
  return outcome === 'accepted'
}

/** Why what this VM sees now is not what was approved. */
function obstacleTo(
  { eventType, resources }: Directive,
  event: ScheduledEvent | undefined,
): 'not_scheduled' | 'not_as_approved' | undefined {
  if (event?.status !== 'Scheduled') return 'not_scheduled'
  const otherType = eventType !== undefined && eventType !== event.eventType
  const further = event.resources.some((name) => resources?.includes(name.toLowerCase()) === false)
  return otherType || further ? 'not_as_approved' : undefined
}
