// Changes of events that are being written in this process: those of one event wait for each other.

/** Waits until what it registers is called. The simulation replaces this. */
type Wait = (register: (resume: () => void) => void) => Promise<void>

export class Changes<Entry extends { resume?: () => void } = { resume?: () => void }> {
  readonly #queues = new Map<string, Entry[]>()
  readonly #wait: Wait

  constructor(wait: Wait = (register) => new Promise(register)) {
    this.#wait = wait
  }

  /**
   * Makes the change of this entry with `work`, which empties the queue that it gets. If a change of this name is
   * already being made, its `work` makes this one, too.
   */
  async make(name: string, entry: Entry, work: (queue: Entry[]) => Promise<void>): Promise<void> {
    const queue = this.#queues.get(name)
    if (queue !== undefined) {
      queue.push(entry)
      return this.#wait((resume) => {
        entry.resume = resume
      })
    }
    const own = [entry]
    this.#queues.set(name, own)
    try {
      await work(own)
    } finally {
      // no await since the queue was empty, or an entry of the meantime would wait for ever
      this.#queues.delete(name)
      // after a fault in `work`, nobody makes their changes
      for (const left of own) left.resume?.()
    }
  }
}
