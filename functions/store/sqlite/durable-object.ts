// The SQLite of a Durable Object. It refuses BEGIN, SAVEPOINT and most pragmas, so the format's
// version is in a table. The surprise: a write is not durable when it returns, but Cloudflare holds
// back every answer and request that follows it until it is
// (developers.cloudflare.com/durable-objects/reference/glossary, "output gate").
import { FoghornError } from '../../../shared/errors.ts'
import type { Database, Row, Value } from './database.ts'
import { schema, schemaVersion } from './sql.ts'

/** The part of `DurableObjectStorage` that it uses. */
export interface ObjectStorage {
  sql: { exec(text: string, ...values: Value[]): Iterable<Row> & { toArray(): Row[] } }
  transactionSync<Result>(work: () => Result): Result
}

const formatTable =
  'CREATE TABLE IF NOT EXISTS format (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT'
const writeFormat = 'INSERT INTO format VALUES (1, ?) ON CONFLICT DO UPDATE SET version = ?'

/** Throws FoghornError `data_version` if another version of the relay wrote the object. */
export function openStorage(storage: ObjectStorage): Database {
  const { sql } = storage
  const all = (text: string, values: Value[]) => sql.exec(text, ...values).toArray()
  storage.transactionSync(() => {
    sql.exec(formatTable)
    const found = Number(all('SELECT version FROM format', [])[0]?.version ?? schemaVersion)
    if (found !== schemaVersion) throw wrongVersion(found)
    sql.exec(schema)
    sql.exec(writeFormat, schemaVersion, schemaVersion)
  })
  return {
    isAlone: true,
    between: (work) => work(),
    durable: () => undefined,
    prepare: (text) => ({
      run(...values) {
        sql.exec(text, ...values)
        return Number(all('SELECT changes() AS n', [])[0]?.n)
      },
      get: (...values) => all(text, values)[0],
      all: (...values) => all(text, values),
      each: (...values) => sql.exec(text, ...values),
    }),
    transaction: (work) => storage.transactionSync(work),
    explain: (error) => error,
    close() {},
  }
}

function wrongVersion(found: number): FoghornError {
  const what = `the object has format ${found}, but this relay needs format ${schemaVersion}`
  return new FoghornError('data_version', `${what}; deploy the version that wrote it`)
}
