// What the relay stores: rows of text in partitions, each found under the keys that it names. Four
// adapters keep it: SQLite, a Durable Object, Azure Tables and PostgreSQL. Everything above is written once.
import { FoghornError } from '../../shared/errors.ts'

/** Where else a row is found. No key of an index is the beginning of another one. */
export interface Key {
  index: string
  key: string
  /** At most 1 kB that `find` returns with the key, so that lists need not read the row. */
  summary?: string
  /** On Azure, the entry is written after the row, so a crash may lose it. Only for counts. */
  mayBeLost?: true
}

/** Names of partitions, rows, indexes and keys come from `buildKey`. */
export interface Row {
  partition: string
  row: string
  /** JSON. */
  body: string
  keys: readonly Key[]
  /** Differs after each write of the row. */
  version: string
}

export type Change =
  /** The row must not exist. */
  | { kind: 'insert'; row: string; body: string; keys?: readonly Key[] }
  /** The row must be as it was read. Its keys are replaced, too. */
  | { kind: 'replace'; was: Row; body: string; keys?: readonly Key[] }
  /** Writes the row in any case. Such a row has no keys. */
  | { kind: 'put'; row: string; body: string }
  /** The row must exist and, if it is the only change, be as it was read. */
  | { kind: 'remove'; was: Row }

export interface Found {
  index: string
  key: string
  summary: string
  partition: string
  row: string
}

/** Gives positions in a log: the ms of a commit, times 1,000, plus the number of the process. */
export class Positions {
  #lastMs = 0

  /** The next position is behind all that it gave before, and behind `before`. `tag`: 0 to 999. */
  next(now: number, tag: number, before = 0): number {
    this.#lastMs = Math.max(now, this.#lastMs + 1, Math.floor(before / 1_000) + 1)
    return this.#lastMs * 1_000 + tag
  }
}

export interface Rows {
  /** Entries of an index may appear this late: readers of a log stay behind by it. */
  readonly lagMs: number
  readonly positions: Positions

  /** Throws FoghornError `data_damaged`, which it has told the host. */
  read(partition: string, row: string): Promise<Row | undefined>

  /** Rows from `from` to before `to`, by name, at most `limit`. Without those that are damaged. */
  list(partition: string, from: string, to: string, limit?: number): Promise<Row[]>

  /**
   * Makes all changes or none: at most 100, each row once. `conflict` if a row does not meet the
   * condition of its change, else the rows as they are now; a removed one as it was. Durable once
   * it returns. Throws FoghornError `row_too_large` before it writes anything.
   *
   * On Azure, entries are written before their rows. Then `later` is called: if readers may have passed
   * the entries, it returns the same changes with later keys, and these entries are written first. On PostgreSQL, it
   * is called right before the changes are sent, and `oldMs` says how old keys may be then.
   */
  change(
    partition: string,
    changes: Change[],
    later?: (oldMs?: number) => Change[] | undefined,
  ): Promise<Row[] | 'conflict'>

  /**
   * Entries from `from` to before `to`, by key, at most `limit`. On Azure, an entry may be left of
   * a row that no longer names it, or that was never written: `isNamed` tells.
   */
  find(index: string, from: string, to: string, limit: number): Promise<Found[]>

  /** Removes entries that no row names, unless they may belong to a write under way. */
  tidy(unnamed: Found[], now: number): Promise<void>

  /** Tells the host that an entry is damaged. Absent: the storage keeps what it got. */
  tellDamaged?(sentence: string): void
}

/** Changes of one transaction in Azure Tables. */
export const maxChanges = 100

/** Characters of a row, with its keys. An entity of Azure Tables holds 1 MiB of UTF-16. */
const maxRowLength = 480_000

/** What the entry says of its row. Undefined if it is damaged. */
export function summaryIn<Summary>(
  { index, key, summary }: Found,
  rows: Pick<Rows, 'tellDamaged'> | undefined,
  isWhole: (summary: unknown) => boolean,
): Summary | undefined {
  try {
    const content = JSON.parse(summary) as Summary
    if (isWhole(content)) return content
  } catch {
    // told below
  }
  rows?.tellDamaged?.(
    `entry "${key}" of "${index}" is damaged. Restore a backup (npm run restore).`,
  )
  return undefined
}

/** The database has a part that cannot be read, or that is not what was written. */
export function isDamaged(error: unknown): boolean {
  return error instanceof FoghornError && error.code === 'data_damaged'
}

/** A row as SQL has it. */
export type Stored = {
  partition: string
  row: string
  version: string
  /** JSON, or empty. */
  keys: string
  body: string
}

export function toRow(found: Record<string, unknown>): Row {
  const { keys, ...own } = found as Stored
  return { ...own, keys: keys === '' ? [] : (JSON.parse(keys) as Key[]) }
}

/** An entry as SQL gives it. */
export function toFound(index: string, entry: Record<string, unknown>): Found {
  return {
    index,
    key: String(entry.key),
    summary: String(entry.summary),
    partition: String(entry.partition),
    row: String(entry.row),
  }
}

export function isNamed(
  { index, key }: Pick<Found, 'index' | 'key'>,
  row: Row | undefined,
): row is Row {
  return row?.keys.some((one) => one.index === index && one.key === key) ?? false
}

export function buildRow(change: Change): string {
  return change.kind === 'replace' || change.kind === 'remove' ? change.was.row : change.row
}

/** The change of a row that was just read. */
export function insertOrReplace(
  was: Row | undefined,
  row: string,
  body: string,
  keys: readonly Key[] = [],
): Change {
  return was === undefined
    ? { kind: 'insert', row, body, keys }
    : { kind: 'replace', was, body, keys }
}

/** Throws FoghornError `row_too_large`. */
export function checkSizes(partition: string, changes: Change[]): void {
  if (changes.length > maxChanges) {
    const what = `${changes.length} changes in partition "${partition}"`
    throw new FoghornError('row_too_large', `${what}; a transaction holds ${maxChanges}`)
  }
  for (const change of changes) {
    if (change.kind === 'remove' || change.body.length <= maxRowLength) continue
    const what = `row "${buildRow(change)}" of "${partition}" has ${change.body.length} characters`
    throw new FoghornError('row_too_large', `${what}; a row holds ${maxRowLength}`)
  }
}
