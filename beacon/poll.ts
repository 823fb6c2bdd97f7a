// The loop that polls IMDS, whatever else is slow or broken.
import {
  type EventsDocument,
  hits,
  type ScheduledEvent,
  type Unreadable,
} from '../shared/document.ts'
import type { Fields, Log } from '../shared/log.ts'
import { cut } from '../shared/text.ts'
import type { Poll } from './imds.ts'
import { createImdsBackoff } from './imds-backoff.ts'
import { createTroubleLog } from './log-once.ts'
import type { Parts, State } from './state.ts'
import { type Step, watch } from './watch.ts'

/** VMs that an event does not hit spread their reports of it over this time. */
const spreadMs = 2_000

export async function pollLoop(parts: Parts, state: State, stop: AbortSignal): Promise<void> {
  const { clock, imds, log, pollMs } = parts
  const trouble = createTroubleLog(log, 'imds')
  const backoff = createImdsBackoff(clock, parts.random, pollMs)
  const logOddities = createOddityLog(parts)
  while (!stop.aborted) {
    const askedAt = clock.monotonic()
    const poll = await imds.poll(stop)
    if (stop.aborted) return
    let waitMs = askedAt + pollMs - clock.monotonic()
    if (poll.kind === 'document') {
      backoff.reset()
      trouble.recovered({ endpoint: 'scheduledevents' })
      observe(parts, state, poll)
      logOddities(poll.document)
    } else {
      waitMs = backoff.waitMs(poll)
      const { reason, status } = poll
      log.debug('poll_failed', { reason, status })
      // versions.ts logs a change of version, which is no failure of IMDS
      if (poll.class !== 'fallback') {
        trouble.failed('', { endpoint: 'scheduledevents', reason, status })
      }
    }
    await clock.sleep(Math.max(0, waitMs), stop)
  }
}

/** Handles a good document: spools the changes first, then reports them. */
function observe(parts: Parts, state: State, poll: Poll & { kind: 'document' }): void {
  const { clock, log, random, spool } = parts
  const { oddities: _, ...document } = poll.document
  const seenAt = clock.monotonic()
  const last = state.document
  const { snapshot, steps, learned } = watch(last, {
    seenAt,
    apiVersion: poll.apiVersion,
    ...document,
  })
  for (const step of steps) logStep(log, step)
  if (steps.length > 0) spool.append(steps)
  state.document = snapshot
  state.hooks?.documentSeen()
  // The first document is news even if it is empty: before it, the events were unknown.
  const news = [...steps.map(({ event }) => event), ...learned]
  if (state.vm === undefined || (news.length === 0 && last !== undefined)) return
  const { name } = state.vm
  const hit = news.some((event) => hits(event, name))
  state.reportTimer.bring(seenAt + (hit ? 0 : random() * spreadMs))
}

const stepEvents = { appeared: 'event_seen', changed: 'event_changed', gone: 'event_gone' } as const

function logStep(log: Log, { kind, event }: Step): void {
  log.info(stepEvents[kind], kind === 'gone' ? { eventId: event.eventId } : listFields(event))
}

function listFields(event: ScheduledEvent): Fields {
  const { eventId, eventType, status, resources, notBeforeAt } = event
  const notBefore = notBeforeAt === undefined ? undefined : new Date(notBeforeAt).toISOString()
  return { eventId, eventType, status, resources, notBefore }
}

const maxOddities = 20
/** If the text of an unreadable entry changes with every poll, log it only this often. */
const unreadableEveryMs = 60_000

/** Each second, the same odd document arrives, so log only what the previous one did not have. */
function createOddityLog({ clock, log }: Parts): (document: EventsDocument) => void {
  let before: string[] = []
  let logged: Unreadable & { at: number } = { count: 0, samples: [], at: Number.NEGATIVE_INFINITY }
  return ({ oddities, unreadable }) => {
    const now = oddities.slice(0, maxOddities)
    for (const oddity of now) if (!before.includes(oddity)) log.warn('document_odd', { oddity })
    before = now
    const { count, samples } = unreadable
    const isSame = samples.join() === logged.samples.join()
    const isLogged = isSame || clock.monotonic() - logged.at < unreadableEveryMs
    if (count === logged.count && isLogged) return
    logged = { count, samples, at: clock.monotonic() }
    if (count > 0) log.warn('entries_unreadable', { count, first: cut(samples[0] ?? '', 60) })
    else log.info('entries_readable')
  }
}
