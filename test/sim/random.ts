// Seeded chance. Each actor has a stream of its own, so that switching one kind of fault off leaves the
// others' luck as it was.

export interface Random {
  /** In [0, 1). */
  next(): number
  /** A whole number, both ends included. */
  int(min: number, max: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** Another stream: the same for the same name. */
  fork(name: string): Random
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)]!,
    fork: (name) => createRandom(mix(seed, name)),
  }
}

function mix(seed: number, name: string): number {
  let value = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
  for (let i = 0; i < name.length; i++) {
    value = Math.imul(value ^ name.charCodeAt(i), 0x01000193)
    value ^= value >>> 13
  }
  return value >>> 0
}
