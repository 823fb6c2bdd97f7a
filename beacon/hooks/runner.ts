// Runs hooks one at a time, as the beacon asks: the owner's programs, or the drain of a Kubernetes node.
// Its state is in memory only. After a restart, the beacon asks again for the runs that were lost.
import type { Fields, Log } from '../../shared/log.ts'
import type { Hook } from '../../shared/report.ts'
import type { Clock } from '../clock.ts'
import { type Ended, maxEnded, type Order, type Presence, type Status } from './protocol.ts'

export type Outcome = Omit<Ended, 'run' | 'ageMs'>

/** Says what holds a run up, at most `maxHookNote` characters. Undefined: nothing does any more. */
export type Say = (held: string | undefined) => void

/** What hooks do on this VM. */
export interface Work {
  presence(hook: Hook): Presence
  /**
   * Only while the hook is ready. Never rejects, and ends by `limitMs`. Undefined if it was interrupted:
   * because `stop` aborted, or because `over` did and nobody needs it any more.
   */
  run(order: Order, stop: AbortSignal, over: AbortSignal, say: Say): Promise<Outcome | undefined>
  /** What the work knows beside: also of runs before a restart. */
  about(): Pick<Status, 'node' | 'workloads' | 'prepared'>
}

export interface Runner {
  status(): Status
  /** Ignored if a hook runs, or if this run is known already. */
  run(order: Order): void
  /** The event of this run is over. */
  over(run: string): void
  /** Calls `listener` after each run began, is held up by something else, or ended, until the returned function is called. */
  listen(listener: () => void): () => void
  /** Ends the hook that runs, with its children. */
  stop(): Promise<void>
}

interface RunnerParts {
  work: Work
  clock: Clock
  log: Log
}

/** No other runner may be at work on this VM. */
export class HookRunner implements Runner {
  readonly #parts: RunnerParts
  readonly #listeners = new Set<() => void>()
  readonly #stopping = new AbortController()
  #running: { run: string; over: AbortController; end: Promise<void> } | undefined
  #held: string | undefined
  #ended: (Outcome & { run: string; at: number })[] = []

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  status(): Status {
    const { clock, work } = this.#parts
    const now = clock.monotonic()
    return {
      prepare: work.presence('prepare'),
      restore: work.presence('restore'),
      ...(this.#running && { running: this.#running.run }),
      ...(this.#held !== undefined && { held: this.#held }),
      ended: this.#ended.map(({ at, ...one }) => ({ ...one, ageMs: now - at })),
      ...work.about(),
    }
  }

  run(order: Order): void {
    const { run } = order
    const isKnown = this.#ended.some((one) => one.run === run)
    if (this.#running !== undefined || isKnown || this.#stopping.signal.aborted) return
    const over = new AbortController()
    const end = this.#execute(order, over.signal).then((outcome) => {
      this.#running = undefined
      this.#held = undefined
      // The beacon asks again if it is still needed.
      if (outcome === undefined) return this.#tell()
      this.#ended.push({ run, ...outcome, at: this.#parts.clock.monotonic() })
      this.#ended = this.#ended.slice(-maxEnded)
      this.#tell()
    })
    this.#running = { run, over, end }
    this.#tell()
  }

  over(run: string): void {
    if (this.#running?.run === run) this.#running.over.abort()
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running?.end
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Undefined if the hook was ended because the runner stops. */
  async #execute(order: Order, over: AbortSignal): Promise<Outcome | undefined> {
    const { log, clock, work } = this.#parts
    const { hook, limitMs } = order
    const presence = work.presence(hook)
    if (presence.state === 'absent') return { state: 'refused', note: `there is no ${hook}` }
    if (presence.state === 'refused') return { state: 'refused', note: presence.note }
    const about = listFields(order)
    log.info('hook_started', { ...about, limitSeconds: limitMs / 1000 })
    const startedAt = clock.monotonic()
    const outcome = await work.run(order, this.#stopping.signal, over, (held) => {
      if (held === this.#held) return
      this.#held = held
      log.info('hook_held', { ...about, held: held ?? '' })
      this.#tell()
    })
    if (outcome === undefined) {
      log.warn('hook_interrupted', about)
      return undefined
    }
    const tookMs = Math.round(clock.monotonic() - startedAt)
    const { state, exitCode, note } = outcome
    if (state === 'succeeded') log.info('hook_succeeded', { ...about, note, tookMs })
    else log.error('hook_failed', { ...about, exitCode, note, tookMs })
    return outcome
  }
}

/** The fields of each log line about a run. */
export function listFields({ hook, event, run }: Order): Fields {
  return { hook, eventId: event.eventId, run }
}
