// Rows that were read or written lately, as values. For a host that is alone on its file: nobody else
// changes a row. Values are shared by all readers, so nobody may change them.

/** What is kept at most. A value counts with the length of its row. With no rows, nothing is kept. */
export interface KeptLimits {
  rows: number
  characters: number
}

interface Entry<Value> {
  value: Value
  length: number
}

export class Kept<Value> {
  readonly #half: KeptLimits
  #young = new Map<string, Entry<Value>>()
  #length = 0
  /** Those that were not read since `young` was last full are dropped next. */
  #old = new Map<string, Entry<Value>>()

  constructor({ rows, characters }: KeptLimits) {
    this.#half = { rows: Math.floor(rows / 2), characters: Math.floor(characters / 2) }
  }

  get(name: string): Value | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young.value
    const old = this.#old.get(name)
    if (old !== undefined) this.set(name, old.value, old.length)
    return old?.value
  }

  set(name: string, value: Value, length: number): void {
    const { rows, characters } = this.#half
    if (rows === 0 || length > characters) {
      this.delete(name)
      return
    }
    const known = this.#young.get(name)
    this.#length += length - (known?.length ?? 0)
    const isFull = known === undefined && this.#young.size >= rows
    if (isFull || this.#length > characters) {
      this.#old = this.#young
      this.#young = new Map([[name, { value, length }]])
      this.#length = length
    } else if (known === undefined) this.#young.set(name, { value, length })
    else {
      known.value = value
      known.length = length
    }
  }

  delete(name: string): void {
    this.#length -= this.#young.get(name)?.length ?? 0
    this.#young.delete(name)
    this.#old.delete(name)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#length = 0
  }
}
