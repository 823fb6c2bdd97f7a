// What each part of the store works with. The simulation replaces `together`.
import { cutSlices } from '../../shared/slices.ts'
import type { Edits } from './edits.ts'
import type { Found, Row, Rows } from './rows.ts'
import { isDamaged, isNamed } from './rows.ts'

export interface Parts {
  rows: Rows
  edits: Edits
  together: Together
  /** Returns a new name for a lease at each call. */
  newId: () => string
  /** Ms of a clock that never jumps. */
  elapsed: () => number
  /** Returns a number in [0, 1). */
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

interface Due<Key> {
  key: Key
  /** Absent: never. */
  at: number | undefined
}

/**
 * What entries of an index by time name, and is due. `move` gets rows whose key has a time that is too early. Entries
 * that no row names are removed, damaged rows left out.
 */
export async function dueIn<Key>(
  parts: Pick<Parts, 'rows' | 'together' | 'pause'>,
  entries: Found[],
  now: number,
  read: (row: Row) => Due<Key>,
  move: (row: Row) => Promise<void>,
): Promise<{ key: Key; at: number }[]> {
  const due: { key: Key; at: number }[] = []
  for (const slice of cutSlices(entries)) {
    if (slice[0] !== entries[0]) await parts.pause()
    const { due: own, early } = await judgeDue(parts, slice, now, read)
    due.push(...own)
    await parts.together(early.map((row) => () => move(row)))
  }
  return due
}

async function judgeDue<Key>(
  parts: Pick<Parts, 'rows' | 'together'>,
  entries: Found[],
  now: number,
  read: (row: Row) => Due<Key>,
): Promise<{ due: { key: Key; at: number }[]; early: Row[] }> {
  const rows = await readMany(parts, entries)
  const named = entries.flatMap((entry, i) => {
    const row = rows[i]
    return isNamed(entry, row) ? [row] : []
  })
  await parts.rows.tidy(
    entries.filter((entry, i) => !isNamed(entry, rows[i])),
    now,
  )
  const all = named.map((row) => ({ row, ...read(row) }))
  const isDue = (at: number | undefined): at is number => at !== undefined && at <= now
  return {
    due: all.flatMap(({ key, at }) => (isDue(at) ? [{ key, at }] : [])),
    early: all.filter(({ at }) => !isDue(at)).map(({ row }) => row),
  }
}

/** Undefined if what it reads is damaged. */
export async function unlessDamaged<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!isDamaged(error)) throw error
    return undefined
  }
}
