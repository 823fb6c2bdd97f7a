// `foghorn copy`: moves what a stopped relay on Node has stored between its file and PostgreSQL.
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lchownSync,
  mkdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { rootCertificates } from 'node:tls'
import { crc32 } from 'node:zlib'
import { FoghornError } from '../../shared/errors.ts'
import { readDatabaseAddress } from '../store/postgres/address.ts'
import { readCertificates } from '../store/postgres/certificates.ts'
import { openDatabase } from '../store/postgres/connect.ts'
import { copyToPostgres, copyToSqlite } from '../store/postgres/copy.ts'
import { PostgresRows } from '../store/postgres/rows.ts'
import { RelayStore } from '../store/relay-store.ts'
import { databaseName, openFile } from '../store/sqlite-file.ts'
import { command, exitCodes, text, wrong } from './command.ts'
import { actAsOwner, assertOwnFiles, findPlace } from './owner-rights.ts'

const parts = ['', '-wal', '-shm', '-journal']

export const copy = command({
  usage: '--to postgres|file',
  about: `
Copies all that a relay on Node has stored: from the file in FOGHORN_DATA to the PostgreSQL of
FOGHORN_DATABASE, or back. Stop the relays first. What is copied stays where it was, and the place
that it is copied to must be empty. Start the relay with FOGHORN_DATABASE afterwards, or without.

Environment: FOGHORN_DATA (.foghorn) is the folder of the file, FOGHORN_DATABASE the address of
PostgreSQL with its password.

Exit codes: 0 if all is copied, 2 if a place cannot be used, otherwise 1.

Example:
  FOGHORN_DATA=/var/lib/foghorn-relay FOGHORN_DATABASE=postgres://… foghorn copy --to postgres`,
  options: { to: text },
  async run({ options: { to }, io }) {
    if (to !== 'postgres' && to !== 'file')
      throw wrong(to === undefined ? '--to is missing' : `--to is "${to}"; write postgres or file`)
    const { environment } = io
    const { FOGHORN_DATABASE: given, FOGHORN_DATABASE_PASSWORD: password } = environment
    const { FOGHORN_DATA: data } = environment
    if (!given) throw wrong('FOGHORN_DATABASE is not set')
    const address = readDatabaseAddress(given, password)
    const { folder, ...existing } = findPlace(resolve(data || '.foghorn'))
    const path = join(folder, databaseName)
    if (to === 'postgres' && !existsSync(path)) throw wrong(`there is no database at "${path}"`)
    if (to === 'file' && existsSync(path))
      throw wrong(
        `there is a database at "${path}"; move it away, or set FOGHORN_DATA to another folder`,
      )
    const owner = giveUpRights(path, existing)
    const certificates = await readCertificates(address, rootCertificates, (file) =>
      readFile(file, 'utf8'),
    ).catch(refused)
    const database = await openDatabase({ address, certificates, onLost: () => {} }).catch(refused)
    try {
      // the rows of another version
      const rowsThere = new PostgresRows({ query: database.query, nonce: randomUUID() })
      await new RelayStore({ rows: rowsThere, newId: randomUUID, random: Math.random }).open()
      const rows =
        to === 'file' ? await toFile(database, path, owner) : await toPostgres(path, database)
      io.print(`${rows} rows are copied to ${to === 'file' ? path : 'PostgreSQL'}.`)
      return exitCodes.fine
    } catch (error) {
      return refused(error)
    } finally {
      await database.close()
    }
  },
})

type Owner = Pick<Stats, 'uid' | 'gid'>

/** Returns whose the file must be, if root goes on: it alone gets to the folder. */
function giveUpRights(path: string, existing: { real: string; named: string }): Owner | undefined {
  const folder = dirname(path)
  const acts = actAsOwner(existing)
  if (acts === 'shared') {
    throw wrong(
      `others may write in "${folder}", which is root's, or above it; copy as the user of the relay`,
    )
  }
  if (acts === 'acts') return undefined
  assertOwnFiles(
    parts.flatMap((part) => [path + part, `${path}.copying${part}`]),
    folder,
  )
  return statSync(existing.real)
}

/** A place that cannot be used is for the user to mend. */
function refused(error: unknown): never {
  throw error instanceof FoghornError ? wrong(error.message) : error
}

type Database = Awaited<ReturnType<typeof openDatabase>>

async function toPostgres(path: string, database: Database): Promise<number> {
  const file = openFile(path)
  try {
    return await copyToPostgres(file, database, crc32)
  } finally {
    file.close()
  }
}

/** The file has its name once it is whole. */
async function toFile(database: Database, path: string, owner: Owner | undefined): Promise<number> {
  mkdirSync(resolve(path, '..'), { recursive: true, mode: 0o700 })
  const fresh = `${path}.copying`
  const remove = () => {
    for (const part of parts) rmSync(fresh + part, { force: true })
  }
  // one that was ended in the middle left it
  remove()
  const file = openFile(fresh)
  try {
    const rows = await copyToSqlite(database, file, crc32).finally(() => file.close())
    if (owner !== undefined) lchownSync(fresh, owner.uid, owner.gid)
    renameSync(fresh, path)
    return rows
  } finally {
    remove()
  }
}
