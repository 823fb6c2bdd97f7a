// The loop that asks IMDS what is scheduled, whatever else is slow or broken.
import type { ScheduledEvent } from '../shared/document.ts'
import type { Fields, Log } from '../shared/log.ts'
import { createEpisode } from './episode.ts'
import type { Poll } from './metadata.ts'
import { createPatience } from './patience.ts'
import type { Parts, State } from './state.ts'
import { hits, type Step, watch } from './watch.ts'

/** VMs that an event does not hit spread their reports of it over this time. */
const spreadMs = 2_000

export async function pollLoop(parts: Parts, state: State, stop: AbortSignal): Promise<void> {
  const { clock, imds, log, pollMs } = parts
  const episode = createEpisode(log, 'imds')
  const patience = createPatience(clock, parts.random, pollMs)
  let oddities: string[] = []
  while (!stop.aborted) {
    const askedAt = clock.monotonic()
    const poll = await imds.poll(stop)
    if (stop.aborted) return
    let waitMs = askedAt + pollMs - clock.monotonic()
    if (poll.kind === 'document') {
      patience.reset()
      episode.recovered({ endpoint: 'scheduledevents' })
      observe(parts, state, poll)
      sayOddities(log, oddities, poll.document.oddities)
      oddities = poll.document.oddities
    } else {
      waitMs = patience.waitMs(poll)
      const { reason, status } = poll
      log.debug('poll_failed', { reason, status })
      // Which version to ask for is said where it is chosen, and is no failure of IMDS.
      if (poll.class !== 'fallback') {
        episode.failed('', { endpoint: 'scheduledevents', reason, status })
      }
    }
    await clock.sleep(Math.max(0, waitMs), stop)
  }
}

/** Takes in a good document: what changed is spooled first, then logged and reported. */
function observe(parts: Parts, state: State, poll: Poll & { kind: 'document' }): void {
  const { clock, log, random, spool } = parts
  const { events, incarnation } = poll.document
  const seenAt = clock.monotonic()
  const { apiVersion } = poll
  const last = state.document
  const next = { seenAt, events, apiVersion, ...(incarnation === undefined ? {} : { incarnation }) }
  const steps = watch(last, next)
  if (steps.length > 0) spool.append(steps)
  state.document = next
  for (const step of steps) sayStep(log, step)
  // The first document is news even when it is empty: "not known yet" has become "nothing".
  if (state.vm === undefined || (steps.length === 0 && last !== undefined)) return
  const { name } = state.vm
  const hit = steps.some((step) => hits(step.event, name))
  state.reportDue.bring(seenAt + (hit ? 0 : random() * spreadMs))
}

const stepEvents = { appeared: 'event_seen', changed: 'event_changed', gone: 'event_gone' } as const

function sayStep(log: Log, { kind, event }: Step): void {
  log.info(stepEvents[kind], kind === 'gone' ? { eventId: event.eventId } : fieldsOf(event))
}

function fieldsOf(event: ScheduledEvent): Fields {
  const { eventId, eventType, status, resources, notBeforeAt } = event
  const notBefore = notBeforeAt === undefined ? undefined : new Date(notBeforeAt).toISOString()
  return { eventId, eventType, status, resources, notBefore }
}

/** The same odd document arrives every second: only what the one before did not have is said. */
function sayOddities(log: Log, before: string[], now: string[]): void {
  for (const oddity of now) if (!before.includes(oddity)) log.warn('document_odd', { oddity })
}
