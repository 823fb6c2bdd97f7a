// Prepares each statement once: preparing takes longer than running most of them.
import type { Database, Row, Statement, Value } from './database.ts'

export class Statements {
  readonly #db: Pick<Database, 'prepare'>
  readonly #prepared = new Map<string, Statement>()

  constructor(db: Pick<Database, 'prepare'>) {
    this.#db = db
  }

  /** Returns how many rows it changed. */
  run(text: string, ...values: Value[]): number {
    return this.#statement(text).run(...values)
  }

  get(text: string, ...values: Value[]): Row | undefined {
    return this.#statement(text).get(...values)
  }

  all(text: string, ...values: Value[]): Row[] {
    return this.#statement(text).all(...values)
  }

  each(text: string, ...values: Value[]): Iterable<Row> {
    return this.#statement(text).each(...values)
  }

  #statement(text: string): Statement {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#db.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}
