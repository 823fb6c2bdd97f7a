// What the SQLite store needs of a database. There are two: a file (file.ts), and the storage of a
// Durable Object (durable-object.ts).

export type Row = Record<string, unknown>
export type Value = string | number | null

export interface Statement {
  /** Returns how many rows it changed. */
  run(...values: Value[]): number
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
  /** One row after the other, so that not all are in memory. Read them at once. */
  each(...values: Value[]): Iterable<Row>
}

export interface Database {
  /** No other process can write. */
  readonly isAlone: boolean
  prepare(text: string): Statement
  /** Stores all writes of `work`, or none if it throws. Later ones are never durable before them. */
  transaction<Result>(work: () => Result): Result
  /** Runs `work`, which begins a transaction, at once or as soon as a copy of the database allows it. */
  between(work: () => void): void
  /** Resolves once all transactions so far are durable; undefined if they are. */
  durable(): Promise<void> | undefined
  /** Replaces an error of the database by one that names the cause and a remedy, if it knows them. */
  explain(error: unknown): unknown
  close(): void
}
