// The loop that carries out directives. Only this code asks Azure to start an event, and only if
// the relay directed it and this VM's own document shows it as Scheduled.
import { isSameName } from '../shared/document.ts'
import {
  type Directive,
  directiveLeaseMs,
  freshDocumentMs,
  isAsRead,
  type Start,
} from '../shared/report.ts'
import type { Started } from './imds.ts'
import type { StartResult } from './spool.ts'
import type { Parts, State } from './state.ts'
import { createWakeTimer } from './wake-timer.ts'

/** A repeated directive is ignored for this time: the relay may have sent it before it got our result. */
const quietMs = 2_000
/** Events in one request. */
const maxPerPost = 50
/** A directive waits here at most this long, for its turn and while IMDS throttles. */
const workForMs = 15_000

interface Starter {
  /** Takes directives, by canonical event id. */
  direct(directives: readonly Directive[]): void
  loop(stop: AbortSignal): Promise<void>
}

interface Waiting {
  directive: Directive
  receivedAt: number
  /** IMDS answered 400 to a request that named this and other events. Send it alone. */
  alone: boolean
}

export function createStarter(parts: Parts, state: State): Starter {
  const due = createWakeTimer(parts.clock)
  const queue = new Queue(parts, state)
  return {
    direct(directives) {
      for (const directive of directives) queue.add(directive)
      if (directives.length > 0) due.bring(parts.clock.monotonic())
    },
    async loop(stop) {
      while (!stop.aborted) {
        await due.wait(stop)
        while (!stop.aborted && queue.next().length > 0) await startNext(parts, queue, stop)
      }
    },
  }
}

/**
 * Sends one request. The events are chosen when it goes out: the document may change while it
 * waits.
 */
async function startNext({ imds, clock }: Parts, queue: Queue, stop: AbortSignal): Promise<void> {
  let asked: Waiting[] = []
  const choose = () => {
    asked = queue.next()
    return asked.map(({ directive }) => directive.eventId)
  }
  const started = await imds.start(choose, stop)
  // If our own stop cut it off, the outcome is unknown. The relay will direct a beacon again.
  if (started === undefined || stop.aborted) return
  await clock.sleep(queue.handle(asked, started), stop)
}

/** Holds one entry per event, even if the relay directs it again. */
class Queue {
  readonly #parts: Parts
  readonly #state: State
  readonly #waiting = new Map<string, Waiting>()
  readonly #acceptedAt = new Map<string, number>()

  constructor(parts: Parts, state: State) {
    this.#parts = parts
    this.#state = state
  }

  add(directive: Directive): void {
    const { eventId } = directive
    this.#parts.log.info('directive_received', { eventId })
    const receivedAt = this.#parts.clock.monotonic()
    const alone = this.#waiting.get(eventId)?.alone ?? false
    this.#waiting.set(eventId, { directive, receivedAt, alone })
  }

  /** The events of the next request. Directives that must not be carried out end here. */
  next(): Waiting[] {
    for (const one of [...this.#waiting.values()]) this.#check(one)
    const together = [...this.#waiting.values()].filter(({ alone }) => !alone)
    if (together.length > 0) return together.slice(0, maxPerPost)
    return [...this.#waiting.values()].slice(0, 1)
  }

  /** Returns how long to wait before the next request, in ms. */
  handle(asked: Waiting[], started: Started): number {
    if (started.outcome === 'throttled') return this.#throttled(asked, started)
    if (started.outcome === 'rejected' && started.status === 400 && asked.length > 1) {
      for (const one of asked) one.alone = true
    } else {
      this.#end(asked, started)
    }
    return 0
  }

  #throttled(asked: Waiting[], started: Started & { outcome: 'throttled' }): number {
    const { status, reason, retryAfterMs } = started
    const again = this.#parts.clock.monotonic() + retryAfterMs
    const isLate = ({ receivedAt }: Waiting) =>
      retryAfterMs > directiveLeaseMs || again - receivedAt >= workForMs
    this.#end(asked.filter(isLate), { outcome: 'rejected', status, reason })
    return retryAfterMs
  }

  #check(one: Waiting): void {
    const { eventId } = one.directive
    const now = this.#parts.clock.monotonic()
    const obstacle = obstacleTo(one.directive, this.#state, now)
    if (this.#isQuiet(eventId)) this.#waiting.delete(eventId)
    else if (obstacle !== undefined) this.#end([one], { outcome: obstacle })
    else if (now - one.receivedAt >= workForMs) {
      // a request without an answer ends its directives, so no request has named this one
      this.#end([one], { outcome: 'rejected', status: 429, reason: 'IMDS was throttling requests' })
    }
  }

  #isQuiet(eventId: string): boolean {
    const now = this.#parts.clock.monotonic()
    for (const [id, at] of this.#acceptedAt) if (now - at >= quietMs) this.#acceptedAt.delete(id)
    return this.#acceptedAt.has(eventId)
  }

  /** Puts the outcome into the spool and sends a report at once. */
  #end(ended: Waiting[], how: Ended): void {
    if (ended.length === 0) return
    const { clock, log, spool } = this.#parts
    const seenAt = clock.monotonic()
    const { outcome, status, reason } = how
    const results = ended.map(({ directive: { eventId } }): StartResult => {
      this.#waiting.delete(eventId)
      if (outcome === 'accepted') this.#acceptedAt.set(eventId, seenAt)
      log.info('start_requested', { eventId, outcome, status, reason })
      return {
        kind: 'start',
        eventId,
        outcome,
        seenAt,
        ...(status === undefined ? {} : { status }),
      }
    })
    spool.append(results)
    this.#state.reportTimer.bring(seenAt)
  }
}

interface Ended {
  outcome: Start['outcome']
  status?: number
  reason?: string
}

/** Why what this VM sees now, or is, is not what was approved. */
function obstacleTo(
  { eventId, eventType, resources, durationSeconds, source, vm: read }: Directive,
  { document, vm }: Pick<State, 'document' | 'vm'>,
  now: number,
): 'not_scheduled' | 'not_as_approved' | undefined {
  const isFresh = document !== undefined && now - document.seenAt <= freshDocumentMs
  const shown = isFresh ? document.events.find((event) => event.eventId === eventId) : undefined
  // Compare with all that was seen before: an older api-version does not show every value.
  const event = document?.known.get(eventId)
  if (shown?.status !== 'Scheduled' || event === undefined) return 'not_scheduled'
  const isAsApproved =
    isSameName(event.eventType, eventType) &&
    isCovered(event.resources, resources) &&
    (source === undefined || (event.source !== undefined && isSameName(event.source, source))) &&
    (durationSeconds === undefined || event.durationSeconds === durationSeconds) &&
    (read === undefined || (vm !== undefined && isAsRead(read, vm)))
  return isAsApproved ? undefined : 'not_as_approved'
}

/** An event that names no VM may hit any, so only an approval that names none covers it. */
function isCovered(names: readonly string[], approved: readonly string[]): boolean {
  const isKnown = names.length > 0 || approved.length === 0
  return isKnown && names.every((name) => approved.includes(name.toLowerCase()))
}
