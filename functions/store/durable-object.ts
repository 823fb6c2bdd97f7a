// The SQLite of a Durable Object. It refuses BEGIN, SAVEPOINT and most pragmas, so the format's
// version is in a table. Note: a write is not durable when it returns, but Cloudflare holds back
// every answer and request that follows it until it is
// (developers.cloudflare.com/durable-objects/reference/glossary, "output gate").
import { FoghornError } from '../../shared/errors.ts'
import { type Database, formatVersion, schema } from './sqlite.ts'

/** The part of `DurableObjectStorage` that it uses. */
export interface ObjectStorage {
  sql: {
    exec(text: string, ...values: (string | number)[]): { toArray(): Record<string, unknown>[] }
  }
  transactionSync<Result>(work: () => Result): Result
}

const formatTable =
  'CREATE TABLE IF NOT EXISTS format (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT'
const writeFormat = 'INSERT INTO format VALUES (1, ?) ON CONFLICT DO UPDATE SET version = ?'

/** Throws FoghornError `data_version` if another version of the relay wrote the object. */
export function openStorage(storage: ObjectStorage): Database {
  const { sql } = storage
  storage.transactionSync(() => {
    sql.exec(formatTable)
    const [format] = sql.exec('SELECT version FROM format').toArray()
    const found = Number(format?.version ?? formatVersion)
    if (found !== formatVersion) throw wrongVersion(found)
    sql.exec(schema)
    sql.exec(writeFormat, formatVersion, formatVersion)
  })
  return {
    run: (text, ...values) => void sql.exec(text, ...values),
    all: (text, ...values) => sql.exec(text, ...values).toArray(),
    transaction: (work) => storage.transactionSync(work),
    whenFree: (work) => work(),
    explain: (error) => error,
    // Cloudflare keeps what it got
    tellDamaged: () => {},
    damaged: (what) => new FoghornError('data_damaged', `${what} is damaged`),
  }
}

function wrongVersion(found: number): FoghornError {
  const what = `the object has format ${found}, but this relay needs format ${formatVersion}`
  return new FoghornError('data_version', `${what}; deploy the version that wrote it`)
}
