// The contracts on a real PostgreSQL: rows, and the store with a second relay on the same database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  connect,
  noPostgres,
  type Postgres,
  postgresNeeded,
  postgresRows,
  startPostgres,
} from '../support/postgres.ts'
import { storeOver } from '../support/stores.ts'
import { storeContract } from './contract.ts'
import { rowsContract } from './rows-contract.ts'

describe.skipIf(noPostgres)(postgresNeeded, () => {
  let server: Postgres
  let address: string
  let database: Awaited<ReturnType<typeof connect>>
  beforeAll(async () => {
    server = await startPostgres()
    address = await server.newDatabase()
    database = await connect(address)
  })
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })
  const emptied = async () => {
    await database.query('TRUNCATE foghorn.rows, foghorn.entries', [])
    return database
  }

  rowsContract('PostgreSQL', async () => ({ rows: postgresRows(await emptied()), close() {} }))
  storeContract('PostgreSQL', async () => {
    const own = await emptied()
    const open = () => storeOver(postgresRows(own))
    return { store: open(), reopen: async () => open(), close: async () => {} }
  })

  test('callers of one moment share a transaction, and a conflict of one spares the others', async () => {
    const rows = postgresRows(await emptied())
    const insert = (row: string, body: string) => rows.change('p', [{ kind: 'insert', row, body }])
    const before = await server.run('SELECT pg_current_xact_id()::text AS id')
    const outcomes = await Promise.all([insert('a', '1'), insert('a', '2'), insert('b', '3')])
    expect(outcomes.map((one) => one === 'conflict')).toEqual([false, true, false])
    expect((await rows.list('p', '', '~')).map(({ body }) => body)).toEqual(['1', '3'])
    expect(before).toHaveLength(1)
  })
})
