// A clock that jumps from one thing to be done to the next; each is done before the next begins.

interface Entry {
  at: number
  order: number
  work: () => Promise<unknown> | unknown
}

export class Agenda {
  now: number
  #order = 0
  /** The soonest is last. */
  readonly #entries: Entry[] = []

  constructor(now: number) {
    this.now = now
  }

  /** Returns how to take it off again. */
  at(at: number, work: Entry['work']): () => void {
    const entry = { at: Math.max(at, this.now), order: this.#order++, work }
    const after = (one: Entry) =>
      one.at < entry.at || (one.at === entry.at && one.order < entry.order)
    const place = this.#entries.findIndex(after)
    this.#entries.splice(place < 0 ? this.#entries.length : place, 0, entry)
    return () => {
      const known = this.#entries.indexOf(entry)
      if (known >= 0) this.#entries.splice(known, 1)
    }
  }

  /** At every multiple of `ms`. */
  every(ms: number, work: Entry['work']): void {
    const next = () => this.at((Math.floor(this.now / ms) + 1) * ms, run)
    const run = async () => {
      await work()
      next()
    }
    next()
  }

  async run(until: number): Promise<void> {
    for (let next = this.#entries.at(-1); next && next.at <= until; next = this.#entries.at(-1)) {
      this.#entries.pop()
      this.now = next.at
      await next.work()
    }
    this.now = until
  }
}
