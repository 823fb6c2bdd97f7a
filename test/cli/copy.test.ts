// `foghorn copy`: an owner moves from a file to PostgreSQL and back, with an open event.
import { linkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copy } from '../../functions/cli/copy.ts'
import { assertOwnFiles } from '../../functions/cli/owner-rights.ts'
import { databaseName } from '../../functions/store/sqlite-file.ts'
import { claim } from '../support/claims.ts'
import { playCommand, refusalOf } from '../support/command.ts'
import { newFolder } from '../support/folder.ts'
import {
  connect,
  noPostgres,
  type Postgres,
  postgresNeeded,
  postgresRows,
  startPostgres,
} from '../support/postgres.ts'
import { at, commitOf, delivery, record } from '../support/records.ts'
import { openStore, storeOver } from '../support/stores.ts'

const key = { fleet: 'prod', eventId: 'moved' }

describe('what it refuses', () => {
  test.each([
    [[], {}, '--to is missing'],
    [['--to', 'mars'], {}, '--to is "mars"; write postgres or file'],
    [['--to', 'file'], {}, 'FOGHORN_DATABASE is not set'],
    [
      ['--to', 'postgres'],
      { FOGHORN_DATABASE: 'postgres://a@127.0.0.1:1/b', FOGHORN_DATA: '/nowhere' },
      'there is no database at "/nowhere/foghorn.sqlite"',
    ],
  ])('%j', async (words, environment, said) => {
    expect(await refusalOf(copy, words, environment)).toContain(said)
  })
})

test('certificates that cannot be read are refused before anything is opened', async () => {
  const folder = newFolder('copy-certificates')
  openStore(join(folder, databaseName)).close()
  const FOGHORN_DATABASE = 'postgres://a@127.0.0.1:1/b?sslmode=verify-full&sslrootcert=/nowhere.pem'
  const said = await refusalOf(copy, ['--to', 'postgres'], {
    FOGHORN_DATABASE,
    FOGHORN_DATA: folder,
  })
  expect(said).toMatch(/the certificates of FOGHORN_DATABASE cannot be read/)
})

test('what is no file of the folder is not opened, where root opens it for the relay', () => {
  const folder = newFolder('copy-root')
  const [own, target] = [join(folder, 'own'), join(folder, 'target')]
  for (const path of [own, target]) writeFileSync(path, '')
  const [link, second] = [join(folder, 'link'), join(folder, 'second')]
  symlinkSync(target, link)
  linkSync(target, second)
  expect(() => assertOwnFiles([own, join(folder, 'absent')], folder)).not.toThrow()
  for (const path of [link, second, folder])
    expect(() => assertOwnFiles([own, path], folder)).toThrow(`"${path}" is no file of the folder`)
})

describe.skipIf(noPostgres)(`to another database: ${postgresNeeded}`, () => {
  let server: Postgres
  beforeAll(async () => {
    server = await startPostgres()
  }, 120_000)
  afterAll(() => server?.stop())

  test('an open event and what waits to be sent move to PostgreSQL, and back', async () => {
    const folder = newFolder('copy')
    const store = openStore(join(folder, databaseName))
    const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
    await store.commit(commitOf({ record: record({ eventId: 'moved' }), deliveries }))
    const before = await store.readEvent(key)
    store.close()
    const FOGHORN_DATABASE = await server.newDatabase()
    const play = (to: string, data: string) =>
      playCommand('copy', copy, ['--to', to], { FOGHORN_DATABASE, FOGHORN_DATA: data })
    expect((await play('postgres', folder)).out).toMatch(/rows are copied to PostgreSQL/)
    const database = await connect(FOGHORN_DATABASE)
    const moved = storeOver(postgresRows(database))
    expect(await moved.readEvent(key)).toEqual(before)
    expect(await moved.listOpen(['prod'], 9)).toHaveLength(1)
    expect(await claim(moved, { now: at, leaseMs: 1, limit: 9 })).toHaveLength(2)
    // a second time, it is not empty
    expect(
      await refusalOf(copy, ['--to', 'postgres'], { FOGHORN_DATABASE, FOGHORN_DATA: folder }),
    ).toContain('the database in PostgreSQL has rows already')
    const back = newFolder('copy-back')
    expect((await play('file', back)).code).toBe(0)
    const again = openStore(join(back, databaseName))
    expect(await again.readEvent(key)).toEqual(before)
    expect(await again.listOpen(['prod'], 9)).toHaveLength(1)
    again.close()
    await database.listen(
      () => {},
      () => {},
    )
    expect(
      await refusalOf(copy, ['--to', 'file'], {
        FOGHORN_DATABASE,
        FOGHORN_DATA: newFolder('third'),
      }),
    ).toContain('a relay uses the database in PostgreSQL; stop it first')
    await database.close()
  })

  test('a row whose bits flipped: nothing is copied, and the row is named', async () => {
    const folder = newFolder('copy-damaged')
    const store = openStore(join(folder, databaseName))
    await store.commit(commitOf({ record: record({ eventId: 'moved' }) }))
    store.close()
    const file = new DatabaseSync(join(folder, databaseName))
    file.exec(`UPDATE rows SET body = replace(body, '"prod"', '"prof"') WHERE row = 'event'`)
    file.close()
    const FOGHORN_DATABASE = await server.newDatabase()
    const environment = { FOGHORN_DATABASE, FOGHORN_DATA: folder }
    expect(await refusalOf(copy, ['--to', 'postgres'], environment)).toContain(
      'row "event" of "event|prod|moved" is damaged, so nothing was copied',
    )
  })
})
