// Prepares each statement once: preparing takes longer than running most of them.
import type { Row } from './rows.ts'

type Value = string | number | null

interface Statement {
  run(...values: Value[]): { changes: number | bigint }
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

/** The part of a SQLite database that it uses. */
interface Database {
  prepare(text: string): Statement
}

export class Statements {
  readonly #db: Database
  readonly #prepared = new Map<string, Statement>()

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns how many rows it changed. */
  run(text: string, ...values: Value[]): number {
    return Number(this.#statement(text).run(...values).changes)
  }

  get(text: string, ...values: Value[]): Row | undefined {
    return this.#statement(text).get(...values)
  }

  all(text: string, ...values: Value[]): Row[] {
    return this.#statement(text).all(...values)
  }

  #statement(text: string): Statement {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#db.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}
