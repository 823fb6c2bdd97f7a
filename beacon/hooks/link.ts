// The beacon's way to the runner of hooks: over its socket, or within this process. While a runner
// restarts, its last status counts for 30 s, so that reports do not say "no hooks".
import type { Socket } from 'node:net'
import { parseJson } from '../../shared/json.ts'
import type { Log } from '../../shared/log.ts'
import { backoffMs } from '../../shared/retry.ts'
import type { Clock } from '../clock.ts'
import { answerSchema, connected, type Question, readLines, type Status } from './protocol.ts'
import type { Runner } from './runner.ts'

const reconnect = { baseMs: 1_000, capMs: 30_000 }
/** How long the last status counts after the connection was lost. */
const graceMs = 30_000
/**
 * The owner can add or correct a hook at any time, so the beacon asks again. If no answer has arrived
 * by then, it closes the connection.
 */
const refreshMs = 10_000

export interface RunnerLink {
  /** Undefined while no runner answers. */
  status(): Status | undefined
  /** Whether the status takes everything into account that was asked. */
  isCurrent(): boolean
  /** Does nothing without a connection. */
  ask(question: Question): void
  /** Runs until `stop` aborts. Calls `onChange` after each change of the status. */
  loop(onChange: () => void, stop: AbortSignal): Promise<void>
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve())
    if (signal.aborted) resolve()
  })
}

/** The link of a beacon that has no runner. */
export const noLink: RunnerLink = {
  status: () => undefined,
  isCurrent: () => false,
  ask() {},
  loop: (_onChange, stop) => aborted(stop),
}

/** `close` is called once the runner has stopped. */
export function localLink(runner: Runner, close: () => Promise<void>): RunnerLink {
  return {
    status: () => runner.status(),
    isCurrent: () => true,
    ask(question) {
      if (question.ask === 'run') runner.run(question.order)
      if (question.ask === 'over') runner.over(question.run)
    },
    async loop(onChange, stop) {
      const unlisten = runner.listen(onChange)
      onChange()
      await aborted(stop)
      unlisten()
      await runner.stop()
      await close()
    },
  }
}

interface SocketParts {
  path: string
  clock: Clock
  random: () => number
  log: Log
}

export class SocketLink implements RunnerLink {
  readonly #parts: SocketParts
  #socket: Socket | undefined
  #status: Status | undefined
  /** Questions of this connection, and how many of them the status takes into account. */
  #asked = 0
  #heard = 0
  #lostAt = Number.NEGATIVE_INFINITY

  constructor(parts: SocketParts) {
    this.#parts = parts
  }

  status(): Status | undefined {
    const isGrace = this.#parts.clock.monotonic() - this.#lostAt < graceMs
    return this.#socket !== undefined || isGrace ? this.#status : undefined
  }

  isCurrent(): boolean {
    return this.#socket !== undefined && this.#heard > 0 && this.#heard === this.#asked
  }

  ask(question: Question): void {
    if (this.#socket === undefined) return
    this.#asked += 1
    this.#socket.write(`${JSON.stringify(question)}\n`)
  }

  async loop(onChange: () => void, stop: AbortSignal): Promise<void> {
    const { clock, log, path, random } = this.#parts
    let failures = 0
    while (!stop.aborted) {
      const socket = await connected(path)
      if (typeof socket === 'string') {
        // One line: most VMs without a runner have no hooks.
        if (failures === 0 && this.#status === undefined) {
          log.info('hook_runner_absent', { socket: path, reason: socket })
        }
        failures += 1
        await clock.sleep(backoffMs(failures, reconnect, random()), stop)
        // The grace may be over now.
        onChange()
        continue
      }
      failures = 0
      log.info('hook_runner_reached', { socket: path })
      await this.#converse(socket, onChange, stop)
      if (stop.aborted) return
      log.warn('hook_runner_lost', { socket: path })
      onChange()
      await clock.sleep(reconnect.baseMs, stop)
    }
  }

  /** Talks to the runner until either side ends the connection. */
  async #converse(socket: Socket, onChange: () => void, stop: AbortSignal): Promise<void> {
    const over = new AbortController()
    const end = () => socket.destroy()
    stop.addEventListener('abort', end)
    socket.on('close', () => over.abort())
    this.#socket = socket
    this.#asked = 0
    this.#heard = 0
    readLines(socket, (line) => {
      const answer = answerSchema.safeParse(parseJson(line))
      if (!answer.success) {
        end()
        return
      }
      this.#heard = answer.data.heard
      this.#status = answer.data.status
      onChange()
    })
    if (stop.aborted) end()
    while (!over.signal.aborted) {
      this.ask({ ask: 'status' })
      await this.#parts.clock.sleep(refreshMs, over.signal)
      if (!this.isCurrent()) end()
    }
    stop.removeEventListener('abort', end)
    this.#socket = undefined
    this.#lostAt = this.#parts.clock.monotonic()
  }
}
