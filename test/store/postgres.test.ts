// The contracts on a real PostgreSQL: rows, and the store with a second relay on the same database.

import { createServer } from 'node:net'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresRows } from '../../functions/store/postgres/rows.ts'
import { sql } from '../../functions/store/postgres/schema.ts'
import { FoghornError } from '../../shared/errors.ts'
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
    const own = await emptied()
    let calls = 0
    const rows = postgresRows({
      query: (...statement) => {
        calls += 1
        return own.query(...statement)
      },
    })
    const insert = (row: string, body: string) => rows.change('p', [{ kind: 'insert', row, body }])
    const outcomes = await Promise.all([insert('a', '1'), insert('a', '2'), insert('b', '3')])
    expect([calls, ...outcomes.map((one) => one === 'conflict')]).toEqual([1, false, true, false])
    expect((await rows.list('p', '', '~')).map(({ body }) => body)).toEqual(['1', '3'])
  })

  test('a change that the database ended as a deadlock is sent again, five times at most', async () => {
    const own = await emptied()
    const deadlock = "DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$"
    const after = (deadlocks: number) => {
      let calls = 0
      return postgresRows({
        query: (text, values) => {
          calls += 1
          return calls > deadlocks ? own.query(text, values) : own.query(deadlock, [])
        },
      })
    }
    const change = { kind: 'put' as const, row: 'a', body: '1' }
    expect(await after(4).change('p', [change])).toHaveLength(1)
    await expect(after(5).change('p', [change])).rejects.toMatchObject({ state: '40P01' })
  })

  test('two relays may open an empty database at once', async () => {
    const empty = await server.newDatabase()
    const both = await Promise.all([connect(empty), connect(empty)])
    const [one, other] = both.map((each) => postgresRows(each))
    await one!.change('p', [{ kind: 'insert', row: 'a', body: '1' }])
    expect(await other!.read('p', 'a')).toMatchObject({ body: '1' })
    for (const each of both) await each.close()
  })

  const nameOf = (own: string) => own.slice(own.lastIndexOf('/') + 1)

  test('a user without the right to make a schema uses the one that an owner made', async () => {
    const own = await server.newDatabase()
    await server.run('CREATE ROLE plain LOGIN')
    const plain = own.replace('postgres@', 'plain@')
    await expect(connect(plain)).rejects.toMatchObject({ code: 'storage_forbidden' })
    const owner = new Client({ connectionString: own })
    await owner.connect()
    await owner.query('CREATE SCHEMA foghorn AUTHORIZATION plain')
    await owner.end()
    const user = await connect(plain)
    const change = { kind: 'put' as const, row: 'a', body: '1' }
    expect(await postgresRows(user).change('p', [change])).toHaveLength(1)
    await user.close()
  })

  test('what is answered is durable, and conflicts are seen, whatever the database has as default', async () => {
    const own = await server.newDatabase()
    for (const setting of [
      'synchronous_commit = off',
      "default_transaction_isolation = 'repeatable read'",
    ])
      await server.run(`ALTER DATABASE ${nameOf(own)} SET ${setting}`)
    const one = await connect(own)
    const settings =
      "SELECT current_setting('synchronous_commit') AS durable, current_setting('transaction_isolation') AS level"
    expect(await one.query(settings, [])).toEqual([{ durable: 'on', level: 'read committed' }])
    await one.close()
  })

  test('positions are those of the moment in which a change is sent', async () => {
    const own = await emptied()
    const asked: (number | undefined)[] = []
    const rows = postgresRows(own)
    const changes = [{ kind: 'insert' as const, row: 'a', body: '1', keys: [] }]
    const later = (oldMs?: number) => {
      asked.push(oldMs)
      return [{ ...changes[0]!, keys: [{ index: 'log', key: '2' }] }]
    }
    await rows.change('p', changes, later)
    expect(asked).toEqual([50])
    expect(await rows.find('log', '', '~', 9)).toMatchObject([{ key: '2' }])
  })

  describe('a database that fails', () => {
    const change = { kind: 'put' as const, row: 'a', body: '1' }
    const refusal = async (work: Promise<unknown>) => work.catch((error: unknown) => error)

    test('one that hangs: those that wait behind are refused with the first, and ask nothing more', async () => {
      let calls = 0
      let refuse = () => {}
      const hangs = new Promise<never>((_, reject) => {
        refuse = () => reject(new FoghornError('storage_unavailable', 'no answer'))
      })
      const rows = postgresRows({
        query: () => {
          calls += 1
          return hangs
        },
      })
      const all: Promise<unknown>[] = []
      // two transactions are under way, and the other three changes wait behind them
      for (const partition of ['a', 'b', 'c', 'd', 'e']) {
        all.push(refusal(rows.change(partition, [change])))
        await new Promise(setImmediate)
      }
      refuse()
      for (const error of await Promise.all(all))
        expect(error).toMatchObject({ code: 'storage_unavailable' })
      expect(calls).toBe(2)
    })

    test('one that is full: nothing is written, and the error says so', async () => {
      const database = await connect(await server.newDatabase())
      const full = `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON foghorn.entries FOR EACH ROW EXECUTE FUNCTION full_disk()`
      await database.query(full, [])
      const rows = postgresRows(database)
      const withKey = {
        kind: 'insert' as const,
        row: 'b',
        body: '1',
        keys: [{ index: 'x', key: 'y' }],
      }
      expect(await refusal(rows.change('p', [withKey]))).toMatchObject({
        code: 'disk_full',
        message: expect.stringContaining('free space on the disk of the database'),
      })
      expect(await rows.read('p', 'b')).toBeUndefined()
      await database.query('DROP TRIGGER full_disk ON foghorn.entries', [])
      expect(await rows.change('p', [withKey])).toHaveLength(1)
      await database.close()
    })

    test('one whose answer is lost after its commit: the same change conflicts, and is not made twice', async () => {
      const database = await connect(await server.newDatabase())
      let isLost = true
      const rows = postgresRows({
        query: async (text, values) => {
          const found = await database.query(text, values)
          if (isLost && text === sql.change)
            throw new FoghornError('storage_unavailable', 'reset in the middle')
          return found
        },
      })
      const insert = { kind: 'insert' as const, row: 'a', body: '1' }
      expect(await refusal(rows.change('p', [insert]))).toMatchObject({
        code: 'storage_unavailable',
      })
      isLost = false
      expect(await rows.change('p', [insert])).toBe('conflict')
      const was = (await rows.read('p', 'a'))!
      isLost = true
      await refusal(rows.change('p', [{ kind: 'replace', was, body: '2' }]))
      isLost = false
      expect(await rows.change('p', [{ kind: 'replace', was, body: '2' }])).toBe('conflict')
      expect(await rows.read('p', 'a')).toMatchObject({ body: '2' })
      await database.close()
    })

    test('one that only reads, as after a failover', async () => {
      const own = await server.newDatabase()
      const writing = await connect(own)
      await server.run(`ALTER DATABASE ${nameOf(own)} SET default_transaction_read_only = on`)
      const reading = await connect(own)
      expect(await refusal(postgresRows(reading).change('p', [change]))).toMatchObject({
        code: 'storage_unavailable',
        message: expect.stringMatching(/read-only transaction \(25006\); the relay retries/),
      })
      expect(await postgresRows(reading).read('p', 'a')).toBeUndefined()
      for (const each of [writing, reading]) await each.close()
    })

    test('one that is busy for a moment: the change waits', async () => {
      const own = await server.newDatabase()
      const [one, other] = [await connect(own), await connect(own)]
      // two statements in one transaction of this connection
      const locked = other.query(
        'BEGIN; LOCK TABLE foghorn.rows IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1); COMMIT',
        [],
      )
      const rows = new PostgresRows({ query: one.query, nonce: 'a' })
      await expect
        .poll(() =>
          server.run("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"),
        )
        .not.toEqual([])
      const waits = rows.change('p', [change])
      await locked
      expect(await waits).toHaveLength(1)
      for (const each of [one, other]) await each.close()
    })

    test('one that accepts a connection and says nothing: nobody waits for it long', async () => {
      const silent = createServer()
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      const { port } = silent.address() as { port: number }
      expect(await refusal(connect(`postgres://a@127.0.0.1:${port}/b`))).toMatchObject({
        code: 'storage_unavailable',
        message: expect.stringContaining('timeout'),
      })
      silent.close()
    })

    test('one without a free connection, and its error names no password', async () => {
      const own = await server.newDatabase()
      await server.run(`ALTER DATABASE ${nameOf(own)} CONNECTION LIMIT 0`)
      await server.run("CREATE ROLE somebody LOGIN PASSWORD 'pa55-of-somebody'")
      const error = await refusal(connect(own.replace('postgres@', 'somebody:pa55-of-somebody@')))
      expect(error).toMatchObject({ code: 'storage_unavailable' })
      expect(JSON.stringify(error) + String(error)).not.toContain('pa55')
    })
  })
})
