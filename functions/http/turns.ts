// Whose turn it is. Each name has a queue of its own, and in a round each name that waits gets one turn. A name that
// had no turn in the round before goes first: who asks seldom does not wait for all who ask without end.

export interface Turns<Item> {
  /** How many items of this name wait. */
  countOf(name: string): number
  add(name: string, item: Item): void
  /** The next item, and its name. Undefined if none waits. */
  take(): { name: string; item: Item } | undefined
}

interface Queue<Item> {
  items: Item[]
  /** The round in which it is this name's turn. */
  round: number
}

export function createTurns<Item>(): Turns<Item> {
  /** Names with items. Of one round, the first is next. */
  const waiting = new Map<string, Queue<Item>>()
  /** The round of each name's last turn, unless that was long ago. */
  const served = new Map<string, number>()
  let round = 0

  const begin = (next: number) => {
    round = next
    for (const [name, last] of served) if (last < round - 1) served.delete(name)
  }
  return {
    countOf: (name) => waiting.get(name)?.items.length ?? 0,

    add(name, item) {
      const queue = waiting.get(name)
      if (queue !== undefined) queue.items.push(item)
      else {
        const last = served.get(name) ?? round - 2
        waiting.set(name, { items: [item], round: Math.max(last + 1, round - 1) })
      }
    },

    take() {
      let name: string | undefined
      let queue: Queue<Item> | undefined
      for (const [each, other] of waiting) {
        if (queue === undefined || other.round < queue.round) [name, queue] = [each, other]
      }
      if (name === undefined || queue === undefined) return undefined
      if (queue.round > round) begin(queue.round)
      served.set(name, queue.round)
      const item = queue.items.shift()!
      waiting.delete(name)
      // behind the others of its next round
      if (queue.items.length > 0) waiting.set(name, { ...queue, round: queue.round + 1 })
      return { name, item }
    },
  }
}
