// What the Azure store needs of a table: rows of text in partitions, read by key or range, changed
// together within a partition. Small, so that the simulation can stand in for it and crash between any two calls.

/** One row. Partition and row hold what `keyOf` makes; rows of a partition are sorted by their key. */
export interface Row {
  row: string
  body: string
  /** Names this version of the row. */
  etag: string
}

export type Change =
  /** The row must not exist. */
  | { kind: 'insert'; row: string; body: string }
  /** The row must be this version still. */
  | { kind: 'replace'; row: string; body: string; etag: string }
  /** Whatever is there. */
  | { kind: 'put'; row: string; body: string }
  /** The row must exist, and be this version where one is named. */
  | { kind: 'remove'; row: string; etag?: string }

/** From `from` to before `to`. */
export interface Range {
  from: string
  to: string
  limit?: number
}

export interface Rows {
  read(partition: string, row: string): Promise<Row | undefined>
  /** In order, at most `limit`. */
  list(partition: string, range: Range): Promise<Row[]>
  /**
   * All of them or none, at most 100 and each row once. `conflict`: a row was not as its change wants
   * it. Throws FoghornError `row_too_large` before anything is written.
   */
  change(partition: string, changes: Change[]): Promise<'changed' | 'conflict'>
}

/** Entities of one transaction in Azure Tables. */
export const maxChanges = 100

type RowChange = Extract<Change, { body: string }>

/** The change of a row that was just read. */
export function insertOrReplace(
  found: Pick<Row, 'etag'> | undefined,
  row: string,
  body: string,
): RowChange {
  if (found === undefined) return { kind: 'insert', row, body }
  return { kind: 'replace', row, body, etag: found.etag }
}

/**
 * Changes one row. Returns false if another writer was faster. After a conflict it reads the row: if the
 * answer to a write is lost, the client writes again and meets its own row.
 */
export async function changeOwn(
  rows: Rows,
  partition: string,
  change: RowChange,
): Promise<boolean> {
  if ((await rows.change(partition, [change])) === 'changed') return true
  return (await rows.read(partition, change.row))?.body === change.body
}
