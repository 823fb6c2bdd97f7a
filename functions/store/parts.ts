// What each part of the store works with. The simulation replaces `together`.
import type { Edits } from './edits.ts'
import type { Found, Row, Rows } from './rows.ts'
import { isDamaged } from './rows.ts'

export interface Parts {
  rows: Rows
  edits: Edits
  together: Together
  /** Returns a new name for a lease at each call. */
  newId: () => string
  /** Ms of a clock that never jumps. */
  elapsed: () => number
  /** In [0, 1). */
  random: () => number
  /** Lets what came in meanwhile go first. */
  pause: () => Promise<void>
  /** Waits a short while before another attempt. */
  stepAside: () => Promise<void>
}

/** Runs all, and returns the results in the same order. */
export type Together = <T>(works: (() => Promise<T>)[]) => Promise<T[]>

/** Storage calls under way for one call of the store. */
const atOnce = 16

export const together: Together = async <T>(works: (() => Promise<T>)[]) => {
  const results: T[] = []
  let next = 0
  const run = async () => {
    while (next < works.length) {
      const i = next++
      results[i] = await works[i]!()
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, works.length) }, run))
  return results
}

/** The rows of these entries. A row that is damaged counts as missing, so that the others go on. */
export function readMany(
  { rows, together: all }: Pick<Parts, 'rows' | 'together'>,
  entries: Found[],
): Promise<(Row | undefined)[]> {
  return all(entries.map((one) => () => unlessDamaged(() => rows.read(one.partition, one.row))))
}

export async function unlessDamaged<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isDamaged(error)) return undefined
    throw error
  }
}
