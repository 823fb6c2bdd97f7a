// Changes of events that are being written in this process: those of one event wait for each other.

/** Waits until what it registers is called. The simulation replaces this. */
type Wait = (register: (resume: () => void) => void) => Promise<void>

export class Changes<Job extends { resume?: () => void } = { resume?: () => void }> {
  readonly #queues = new Map<string, Job[]>()
  readonly #wait: Wait

  constructor(wait: Wait = (register) => new Promise(register)) {
    this.#wait = wait
  }

  /**
   * Makes the job with `work`, which empties the queue that it gets. If a job of this name is already
   * being made, its `work` makes this job, too.
   */
  async make(name: string, job: Job, work: (queue: Job[]) => Promise<void>): Promise<void> {
    const queue = this.#queues.get(name)
    if (queue !== undefined) {
      queue.push(job)
      return this.#wait((resume) => {
        job.resume = resume
      })
    }
    const own = [job]
    this.#queues.set(name, own)
    await work(own)
    // no await since the queue was empty, or a job of the meantime would wait for ever
    this.#queues.delete(name)
  }
}
