// The loop that carries out directives. The one place that ever approves anything, and only what the
// relay directed and this VM's own document shows as Scheduled.
import { createDue } from './due.ts'
import type { Parts, State } from './state.ts'

/** A directive that crossed our report of its success is not carried out twice. */
const quietMs = 2_000

export interface Starter {
  /** Takes directives, by canonical event id. */
  direct(eventIds: readonly string[]): void
  loop(stop: AbortSignal): Promise<void>
}

export function createStarter(parts: Parts, state: State): Starter {
  const { clock, log } = parts
  const due = createDue(clock)
  /** One entry for an event, however often it is directed. */
  const waiting = new Set<string>()
  const acceptedAt = new Map<string, number>()

  const isQuiet = (eventId: string): boolean => {
    for (const [id, at] of acceptedAt) {
      if (clock.monotonic() - at >= quietMs) acceptedAt.delete(id)
    }
    return acceptedAt.has(eventId)
  }

  return {
    direct(eventIds) {
      for (const eventId of eventIds) {
        log.info('directive_received', { eventId })
        waiting.add(eventId)
      }
      if (eventIds.length > 0) due.bring(clock.monotonic())
    },
    async loop(stop) {
      while (!stop.aborted) {
        await due.wait(stop)
        for (const eventId of waiting) {
          if (stop.aborted) return
          if (!isQuiet(eventId)) {
            const accepted = await carryOut(parts, state, eventId, stop)
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
  eventId: string,
  stop: AbortSignal,
): Promise<boolean> {
  const event = state.document?.events.find((known) => known.eventId === eventId)
  const started =
    event?.status === 'Scheduled'
      ? await imds.start(eventId, stop)
      : { outcome: 'not_scheduled' as const }
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
