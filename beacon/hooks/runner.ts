// Runs the owner's programs, one at a time, as the beacon asks. Its state is in memory only. After
// a restart, the beacon asks again for the runs that were lost.
import { cut } from '../../shared/document.ts'
import type { Fields, Log } from '../../shared/log.ts'
import { type Hook, maxHookNote } from '../../shared/report.ts'
import type { Clock } from '../clock.ts'
import type { Environment } from '../variables.ts'
import { eventJson, variablesOf } from './event.ts'
import { createOutput, type End, execute } from './execute.ts'
import { findHook, trustOf } from './inspect.ts'
import { type Ended, maxEnded, type Order, type Presence, type Status } from './protocol.ts'

interface RunnerParts {
  folder: string
  /** Of the runner. Hooks get a few of its variables. */
  environment: Environment
  clock: Clock
  log: Log
}

export interface Runner {
  status(): Status
  /** Ignored if a hook runs, or if this run is known already. */
  run(order: Order): void
  /** Calls `listener` after each run began or ended, until the returned function is called. */
  listen(listener: () => void): () => void
  /** Ends the hook that runs, with its children. */
  stop(): Promise<void>
}

type Outcome = Omit<Ended, 'run' | 'ageMs'>

/** No other runner may be at work in the folder. */
export class FolderRunner implements Runner {
  readonly #parts: RunnerParts
  readonly #listeners = new Set<() => void>()
  readonly #stopping = new AbortController()
  /** What was logged last of each hook that is refused. */
  readonly #refusals = new Map<Hook, string>()
  #running: { run: string; end: Promise<void> } | undefined
  #ended: (Outcome & { run: string; at: number })[] = []

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  status(): Status {
    const now = this.#parts.clock.monotonic()
    return {
      prepare: this.#find('prepare').presence,
      restore: this.#find('restore').presence,
      ...(this.#running && { running: this.#running.run }),
      ended: this.#ended.map(({ at, ...one }) => ({ ...one, ageMs: now - at })),
    }
  }

  run(order: Order): void {
    const { run } = order
    const isKnown = this.#ended.some((one) => one.run === run)
    if (this.#running !== undefined || isKnown || this.#stopping.signal.aborted) return
    const end = this.#execute(order).then((outcome) => {
      this.#running = undefined
      // The runner stops. The beacon asks the next one for this run.
      if (outcome === undefined) return
      this.#ended.push({ run, ...outcome, at: this.#parts.clock.monotonic() })
      this.#ended = this.#ended.slice(-maxEnded)
      this.#tell()
    })
    this.#running = { run, end }
    this.#tell()
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

  #find(hook: Hook): { file: string; presence: Presence } {
    const found = findHook(this.#parts.folder, hook, trustOf(process))
    const note = found.presence.state === 'refused' ? found.presence.note : ''
    if (note !== '' && this.#refusals.get(hook) !== note) {
      this.#parts.log.error('hook_refused', { hook, reason: note })
    }
    this.#refusals.set(hook, note)
    return found
  }

  /** Undefined if the hook was ended because the runner stops. */
  async #execute(order: Order): Promise<Outcome | undefined> {
    const { log, environment } = this.#parts
    const { hook, limitMs } = order
    const { file, presence } = this.#find(hook)
    if (presence.state === 'absent') return { state: 'refused', note: `there is no ${file}` }
    if (presence.state === 'refused') return { state: 'refused', note: presence.note }
    const about: Fields = { hook, eventId: order.event.eventId, run: order.run }
    log.info('hook_started', { ...about, file, limitSeconds: limitMs / 1000 })
    const output = createOutput(
      (line) => log.info('hook_output', { ...about, line }),
      () => log.warn('hook_output_cut', about),
    )
    const startedAt = this.#parts.clock.monotonic()
    const end = await execute(
      file,
      {
        environment: variablesOf(order, environment, process.platform),
        input: eventJson(order),
        limitMs,
        output,
      },
      this.#stopping.signal,
    )
    if (end.kind === 'stopped') {
      log.warn('hook_interrupted', about)
      return undefined
    }
    const outcome = outcomeOf(end, limitMs, output.lastLine())
    const tookMs = Math.round(this.#parts.clock.monotonic() - startedAt)
    const { state, exitCode, note } = outcome
    if (state === 'succeeded') log.info('hook_succeeded', { ...about, note, tookMs })
    else log.error('hook_failed', { ...about, exitCode, note, tookMs })
    return outcome
  }
}

function outcomeOf(
  end: Exclude<End, { kind: 'stopped' }>,
  limitMs: number,
  lastLine: string,
): Outcome {
  const noted = (...parts: string[]) => {
    const note = cut(parts.filter((part) => part !== '').join(': '), maxHookNote)
    return note === '' ? {} : { note }
  }
  switch (end.kind) {
    case 'exited': {
      const state = end.code === 0 ? 'succeeded' : 'failed'
      const code = end.code === 0 ? {} : { exitCode: end.code }
      return { state, ...code, ...noted(lastLine) }
    }
    case 'timed_out':
      return {
        state: 'failed',
        ...noted(`killed at its limit of ${Math.round(limitMs / 1000)} s`, lastLine),
      }
    case 'killed':
      return { state: 'failed', ...noted(`killed by ${end.signal}`, lastLine) }
    case 'not_started':
      return { state: 'failed', ...noted(`could not be started (${end.reason})`) }
  }
}
