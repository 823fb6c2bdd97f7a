// Decides whose turn it is. Each name has its own queue. In a lap, each name that waits gets one turn. A name that
// did not ask keeps the turns of its last three laps, and has them first. So a person who asks seldom does not wait
// for clients that ask without end.

/**
 * A person opens a page, presses, and the page asks for news: three turns. With one kept turn, the press waited 1.3 s
 * behind 200 links that asked without end.
 */
const maxKept = 3

export interface Turns<Item> {
  /** How many items of this name wait. */
  countOf(name: string): number
  add(name: string, item: Item): void
  /** The next item. Undefined if none waits. */
  take(): Item | undefined
}

interface Queue<Item> {
  items: Item[]
  /** The lap in which it is this name's turn. */
  lap: number
}

export function createTurns<Item>(): Turns<Item> {
  /** Names with items. Among those of one lap, the first is next. */
  const waiting = new Map<string, Queue<Item>>()
  /** The lap of each name's last turn, unless that was long ago. */
  const served = new Map<string, number>()
  let lap = 0

  const begin = (next: number) => {
    lap = next
    for (const [name, last] of served) if (last < lap - maxKept) served.delete(name)
  }
  return {
    countOf: (name) => waiting.get(name)?.items.length ?? 0,

    add(name, item) {
      const queue = waiting.get(name)
      if (queue !== undefined) queue.items.push(item)
      else {
        const last = served.get(name) ?? -1
        waiting.set(name, { items: [item], lap: Math.max(last + 1, lap - maxKept) })
      }
    },

    take() {
      let name: string | undefined
      let queue: Queue<Item> | undefined
      for (const [each, other] of waiting) {
        if (queue === undefined || other.lap < queue.lap) [name, queue] = [each, other]
      }
      if (name === undefined || queue === undefined) {
        // if no name waits, no turn is kept
        served.clear()
        lap = 0
        return undefined
      }
      if (queue.lap > lap) begin(queue.lap)
      served.set(name, queue.lap)
      const item = queue.items.shift()!
      waiting.delete(name)
      // behind the others of its next lap
      if (queue.items.length > 0) waiting.set(name, { ...queue, lap: queue.lap + 1 })
      return item
    },
  }
}
