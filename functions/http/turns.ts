// Whose turn it is. Each name has a queue of its own, and in a round each name that waits gets one turn. A name that
// asked nothing keeps the turns of the last rounds and has them first: who asks seldom does not wait for all who ask
// without end.

/**
 * A person opens a page, presses, and the page asks for news. With one, the press waited 1.3 s behind 200 links that
 * asked without end; the page had come at once.
 */
const maxKept = 3

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
    for (const [name, last] of served) if (last < round - maxKept) served.delete(name)
  }
  return {
    countOf: (name) => waiting.get(name)?.items.length ?? 0,

    add(name, item) {
      const queue = waiting.get(name)
      if (queue !== undefined) queue.items.push(item)
      else {
        const last = served.get(name) ?? -1
        waiting.set(name, { items: [item], round: Math.max(last + 1, round - maxKept) })
      }
    },

    take() {
      let name: string | undefined
      let queue: Queue<Item> | undefined
      for (const [each, other] of waiting) {
        if (queue === undefined || other.round < queue.round) [name, queue] = [each, other]
      }
      if (name === undefined || queue === undefined) {
        // nobody keeps a turn of rounds in which nobody waited
        served.clear()
        round = 0
        return undefined
      }
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
