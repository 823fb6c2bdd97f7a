// Two relay processes, and the way to one of them.
import type { Random } from './random.ts'
import { type ClusterParts, type Done, type Reply, type Request, Worker } from './workers.ts'

export class Cluster {
  readonly workers: Worker[]
  readonly #parts: ClusterParts
  readonly #random: Random

  constructor(parts: ClusterParts) {
    this.#parts = parts
    this.#random = parts.random.fork('balance')
    this.workers = ['relay-a', 'relay-b'].map((name) => new Worker(name, parts))
  }

  /** For how long no relay answers. */
  stop(ms: number): void {
    for (const worker of this.workers) worker.stop(ms)
  }

  /** By any process that lives; without one, the connection is refused. */
  serve<T>(work: (worker: Worker) => Promise<T | undefined>, done: Done<T>): void {
    const alive = this.workers.filter((worker) => worker.process.alive)
    if (alive.length === 0) this.#parts.kernel.after(5, () => done(undefined))
    else this.#random.pick(alive).serve(work, done)
  }

  post(request: Request, done: (reply: Reply) => void): void {
    this.serve((worker) => worker.take(request), done)
  }
}
