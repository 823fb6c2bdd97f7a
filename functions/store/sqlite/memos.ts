// Memos as rows of SQLite. A host that is alone on the file keeps those that it reads often.
import type { Memo, MemoKey, MemoKind } from '../store.ts'
import { parse } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

/** As many as the subscriptions of a relay and the health of their channels. */
const maxKept = 2_048

export class Memos {
  readonly #statements: Statements
  /** Undefined if another process may write the file. A value is undefined if there is no row. */
  readonly #kept: Map<string, Memo | undefined> | undefined

  constructor(statements: Statements, alone: boolean) {
    this.#statements = statements
    this.#kept = alone ? new Map() : undefined
  }

  read(key: MemoKey): Memo | undefined {
    const values = valuesOf(key)
    const name = values.join('\n')
    if (this.#kept?.has(name)) return this.#kept.get(name)
    const row = this.#statements.get(sql.readMemo, ...values)
    const memo = row && parse<Memo>(row.body)
    if (this.#kept !== undefined && this.#kept.size >= maxKept) this.#kept.clear()
    this.#kept?.set(name, memo)
    return memo
  }

  list(kind: MemoKind): Memo[] {
    return this.#statements.all(sql.listMemos, kind).map(({ body }) => parse<Memo>(body))
  }

  /** Call this within a transaction, and so the other ones that write. */
  write(key: MemoKey, fields: object, basedOn: number): 'written' | 'conflict' {
    const version = basedOn + 1
    const values = [version, JSON.stringify({ version, ...fields }), ...this.#dropped(key)]
    const written =
      basedOn === 0
        ? this.#statements.run(sql.insertMemo, ...values)
        : this.#statements.run(sql.updateMemo, ...values, basedOn)
    return written === 0 ? 'conflict' : 'written'
  }

  remove(key: MemoKey): void {
    this.#statements.run(sql.removeMemo, ...this.#dropped(key))
  }

  forget(fleet: string, eventId: string): void {
    this.#kept?.clear()
    this.#statements.run(sql.forgetMemos, fleet, eventId)
  }

  /** Nothing reads within the transaction, so what is read after it is what was committed. */
  #dropped(key: MemoKey): string[] {
    const values = valuesOf(key)
    this.#kept?.delete(values.join('\n'))
    return values
  }
}

function valuesOf({ kind, event, name }: MemoKey): string[] {
  return [event?.fleet ?? '', event?.eventId ?? '', kind, JSON.stringify(name)]
}
