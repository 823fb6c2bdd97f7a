// What the Azure store needs of a table: rows of text in partitions, read by key or range, changed
// together within a partition. It is small, so that the simulation can replace it.

/** Names of partitions and rows come from `keyOf`. Rows of a partition are sorted by name. */
export interface Row {
  row: string
  body: string
  /** Identifies this version of the row. */
  etag: string
}

export type Change =
  /** The row must not exist. */
  | { kind: 'insert'; row: string; body: string }
  /** The row must still have this version. */
  | { kind: 'replace'; row: string; body: string; etag: string }
  /** Writes the row in any case. */
  | { kind: 'put'; row: string; body: string }
  /** The row must exist, and have this version if `etag` is set. */
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
   * Makes all changes or none: at most 100, each row once. `conflict` if a row does not meet the
   * condition of its change, else the new etag of each row, '' for a removed one. Throws
   * FoghornError `row_too_large` before it writes anything.
   */
  change(partition: string, changes: Change[]): Promise<string[] | 'conflict'>
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
 * Changes one row. Returns its new etag, or undefined if another writer was faster. After a conflict
 * it reads the row: if the answer to a write is lost, the client writes again and conflicts with its
 * own row.
 */
export async function changeOwn(
  rows: Rows,
  partition: string,
  change: RowChange,
): Promise<string | undefined> {
  const changed = await rows.change(partition, [change])
  if (changed !== 'conflict') return changed[0] ?? ''
  const found = await rows.read(partition, change.row)
  return found?.body === change.body ? found.etag : undefined
}
