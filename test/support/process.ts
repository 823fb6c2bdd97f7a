// A program of ours as a process of its own: its JSON log lines are read as they come, and nothing
// outlives the test.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Waiters } from '../simulator/waiters.ts'

export interface Entry {
  time: string
  level: string
  event: string
  [field: string]: unknown
}

const killAfterMs = 3_000
/** For a start on a machine that is three times slower, beside other tests. */
const limitMs = 60_000
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Node compiles each file of ours once a test run, and files go into the folder of the run. */
export function ofRun(): Record<string, string> {
  const { NODE_COMPILE_CACHE, TMPDIR } = process.env
  return {
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    ...(TMPDIR && { TMPDIR }),
  }
}

export class Program {
  readonly name: string
  readonly entries: Entry[] = []
  /** Everything that it printed, for the search for secrets. */
  output = ''
  /** Once all of its output was read. */
  readonly ended: Promise<unknown>
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly #child: ChildProcess
  readonly #hasChildren: boolean
  #isKilled = false
  readonly #waiters = new Waiters()

  /**
   * `file` is a path within the project that Node runs, or a whole command. `environment` is all
   * that the program sees, beside PATH, the cache of compiled code and the folder for files.
   */
  constructor(
    name: string,
    file: string | readonly string[],
    environment: Record<string, string>,
    onEntry: (entry: Entry) => void = () => {},
    words: string[] = [],
    /** The program starts others, which end with it whatever the signal. */
    hasChildren = false,
  ) {
    this.name = name
    this.#hasChildren = hasChildren
    const env = { PATH: process.env.PATH ?? '', ...ofRun(), ...environment }
    const [program = '', ...first] = typeof file === 'string' ? [process.execPath, file] : file
    this.#child = spawn(program, [...first, ...words], {
      cwd: root,
      env,
      stdio: 'pipe',
      detached: hasChildren,
    })
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        resolve({ code, signal })
        this.#waiters.changed()
      })
    })
    this.ended = new Promise((resolve) => this.#child.once('close', resolve))
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.output += `${line}\n`
        const entry = parseEntry(line)
        if (entry === undefined) return
        this.entries.push(entry)
        onEntry(entry)
        this.#waiters.changed()
      })
    }
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** False from the time when it is killed: its end may take a while. */
  get running(): boolean {
    return !this.#isKilled && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** It was killed with SIGKILL: it did not end by itself. */
  get wasKilled(): boolean {
    return this.#isKilled
  }

  /** The first entry, past or to come, that matches. */
  waitFor(event: string, matches: (entry: Entry) => boolean = () => true, timeoutMs = limitMs) {
    const find = () => {
      const entry = this.entries.find((one) => one.event === event && matches(one))
      if (entry === undefined && !this.running) throw new Error(`it ended:\n${this.output}`)
      return entry
    }
    const describe = () => `${this.name} did not log ${event}:\n${this.output.slice(-4_000)}`
    return this.#waiters.until(find, timeoutMs, describe)
  }

  /** Until it has logged more than `known` entries, or ends. */
  async somethingHappens(known: number, timeoutMs = limitMs): Promise<void> {
    const happened = () => this.entries.length > known || !this.running || undefined
    const describe = () => `${this.name} logged nothing more`
    await this.#waiters.until(happened, timeoutMs, describe)
  }

  kill(signal: NodeJS.Signals): void {
    // the group, unless it is gone
    if (this.#hasChildren && this.running) process.kill(-this.pid, signal)
    else this.#child.kill(signal)
    this.#isKilled ||= signal === 'SIGKILL'
  }

  /** SIGTERM, and SIGKILL where that is not enough. */
  async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    this.kill('SIGTERM')
    const timer = setTimeout(() => this.kill('SIGKILL'), killAfterMs)
    const exit = await this.exited
    clearTimeout(timer)
    return exit
  }
}

function parseEntry(line: string): Entry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Entry
  } catch {
    // a crash may print anything; it stays in the output
    return undefined
  }
}
