// Rows that were read or written lately, as values. For a host that is alone on its file: nobody else
// changes a row. Values are shared by all readers, so nobody may change them.

/** Holds at most `max` values. With 0 it holds none. */
export class Kept<Value> {
  readonly #half: number
  #young = new Map<string, Value>()
  /** Those that were not read since `young` was last full are dropped next. */
  #old = new Map<string, Value>()

  constructor(max: number) {
    this.#half = Math.floor(max / 2)
  }

  get(name: string): Value | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    const old = this.#old.get(name)
    if (old !== undefined) this.set(name, old)
    return old
  }

  set(name: string, value: Value): void {
    if (this.#half === 0) return
    if (this.#young.size >= this.#half && !this.#young.has(name)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, value)
  }

  delete(name: string): void {
    this.#young.delete(name)
    this.#old.delete(name)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }
}
