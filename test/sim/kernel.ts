// The world's clock, and who runs when. Time passes only while nobody works. One task at a time is
// let go, and the next one only once that one waits again, so that the order of everything is the
// seed's, however long the machine takes for a signature.

import { within } from '../../shared/within.ts'

const maxSteps = 40_000_000
/** By the clock of this machine. A step takes milliseconds; one that waits for something real that never comes, for ever. */
const longestStepMs = 60_000

interface Entry {
  at: number
  order: number
  process: Process | undefined
  life: number
  run: () => void
}

/** Something that can die between any two of its steps: what it waited for never comes back to it. */
export class Process {
  readonly name: string
  alive = true
  /** Counts its deaths. */
  life = 0
  bornAt = 0

  constructor(name: string) {
    this.name = name
  }

  kill(): void {
    this.alive = false
    this.life += 1
  }

  revive(now: number): void {
    this.alive = true
    this.bornAt = now
  }
}

export class Kernel {
  now: number
  /** What a task threw: nothing here is expected to. */
  readonly failures: { process: string; error: unknown }[] = []
  readonly #queue: Entry[] = []
  #order = 0
  #working = 0
  #rested: (() => void) | undefined

  constructor(now: number) {
    this.now = now
  }

  /** Runs `what` after `ms`, rounded up as clocks of relays count, unless the process has died by then. */
  after(ms: number, what: () => void, process?: Process): void {
    const entry = {
      at: this.now + Math.max(0, Math.ceil(ms)),
      order: this.#order++,
      process,
      run: what,
    }
    push(this.#queue, { ...entry, life: process?.life ?? 0 })
  }

  /** Lets a task of a process begin. It may wait by `park`, `pause` and nothing else that takes time. */
  spawn(process: Process, work: () => Promise<void>): void {
    this.after(
      0,
      () => {
        this.#working += 1
        work().then(
          () => this.#rest(),
          (error) => {
            this.failures.push({ process: process.name, error })
            this.#rest()
          },
        )
      },
      process,
    )
  }

  /** The running task waits until `resume` was called; the first call counts. */
  park<T>(process: Process, register: (resume: (value: T) => void) => void): Promise<T> {
    const { life } = process
    const parked = new Promise<T>((resolve) => {
      let resumed = false
      register((value) => {
        if (resumed || process.life !== life) return
        resumed = true
        const go = () => {
          this.#working += 1
          resolve(value)
        }
        this.after(0, go, process)
      })
    })
    this.#rest()
    return parked
  }

  pause(process: Process, ms: number): Promise<void> {
    return this.park(process, (resume) => this.after(ms, () => resume(), process))
  }

  /** For the task of a process that just died. */
  never(process: Process): Promise<never> {
    return this.park<never>(process, () => {})
  }

  /** Until `done` says so or nothing is left to happen. Returns why it ended. */
  async run(done: () => boolean): Promise<'done' | 'idle' | 'endless' | 'halted'> {
    for (let steps = 0; steps < maxSteps; steps++) {
      if (done()) return 'done'
      const entry = pop(this.#queue)
      if (entry === undefined) return 'idle'
      if (entry.process !== undefined && entry.process.life !== entry.life) continue
      this.now = Math.max(this.now, entry.at)
      entry.run()
      if (this.#working === 0) continue
      const rested = new Promise<'rested'>((resolve) => {
        this.#rested = () => resolve('rested')
      })
      if ((await within(longestStepMs, rested)) === 'late') {
        const process = entry.process?.name ?? 'the world'
        this.failures.push({ process, error: new Error('waits for what no clock here brings') })
        return 'halted'
      }
    }
    return 'endless'
  }

  #rest(): void {
    this.#working -= 1
    if (this.#working === 0) this.#rested?.()
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Entry[], entry: Entry): void {
  heap.push(entry)
  for (let i = heap.length - 1; i > 0; ) {
    const parent = (i - 1) >> 1
    if (!isBefore(heap[i]!, heap[parent]!)) return
    ;[heap[i], heap[parent]] = [heap[parent]!, heap[i]!]
    i = parent
  }
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (heap.length === 0 || last === undefined) return first
  heap[0] = last
  for (let i = 0; ; ) {
    const left = 2 * i + 1
    let least = i
    for (const child of [left, left + 1]) {
      if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child
    }
    if (least === i) return first
    ;[heap[i], heap[least]] = [heap[least]!, heap[i]!]
    i = least
  }
}
