// The events that this worker has stored lately as new ones, as their rows are then: a claim of
// their deliveries that follows at once need not read them. Another worker may have changed a row
// since, but then the etag refuses the claim.
import type { Change, Row } from './rows.ts'
import { type HeldEvent, toHeldEvent } from './stored.ts'

/** Rows of an event are kept for a claim that follows within this time. */
const keptMs = 2_000
const maxKept = 64
/** Characters of the rows of one event. A larger one is read again. */
const maxLength = 100_000
const maxNames = 1_000

export class NewEvents {
  readonly #names = new Set<string>()
  readonly #held = new Map<string, { at: number; event: HeldEvent }>()

  /** Whether this worker stores the event for the first time. It remembers that, so a second call returns false. */
  begins(partition: string): boolean {
    const isKnown = this.#names.has(partition)
    this.#names.add(partition)
    drop(this.#names, maxNames)
    return !isKnown
  }

  /** Keeps the rows as they were written, unless their etags are unknown. */
  keep(partition: string, changes: Change[], etags: string[], at: number): void {
    const rows = changes.flatMap((change, i): Row[] => {
      const { row } = change
      return 'body' in change ? [{ row, body: change.body, etag: etags[i] ?? '' }] : []
    })
    const length = rows.reduce((sum, { body }) => sum + body.length, 0)
    if (length > maxLength || rows.some(({ etag }) => etag === '')) return
    this.#held.set(partition, { at, event: toHeldEvent(rows) })
    drop(this.#held, maxKept)
  }

  /** Returns the rows of an event once, and forgets them. */
  take(partition: string, now: number): HeldEvent | undefined {
    const held = this.#held.get(partition)
    this.#held.delete(partition)
    return held !== undefined && Math.abs(now - held.at) < keptMs ? held.event : undefined
  }
}

/** Removes the oldest entry if there are too many. */
function drop(from: Set<string> | Map<string, unknown>, max: number): void {
  const [oldest] = from.keys()
  if (from.size > max && oldest !== undefined) from.delete(oldest)
}
