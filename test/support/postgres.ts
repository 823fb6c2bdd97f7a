// A real PostgreSQL for tests, in a folder of its own, gone with the test. It serves on a socket and on a port of this
// machine. Where its programs cannot be found, the tests are skipped.

import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import { readDatabaseAddress } from '../../functions/store/postgres/address.ts'
import { type Database, openDatabase } from '../../functions/store/postgres/connect.ts'
import { PostgresRows } from '../../functions/store/postgres/rows.ts'
import { newFolder } from './folder.ts'
import { attempt, postgresNeeded, programs } from './postgres-programs.ts'

export { noPostgres, postgresNeeded } from './postgres-programs.ts'

export interface Postgres {
  port: number
  /** The address of a new, empty database. */
  newDatabase(): Promise<string>
  /** Runs SQL in the database `postgres`, as its superuser. */
  run(text: string): Promise<Record<string, unknown>[]>
  /** SIGKILL, as a machine that is gone. */
  kill(): Promise<void>
  /** On the same port, with what it had. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root. */
const runsAs = process.getuid?.() === 0 ? (readUser('postgres') ?? readUser('nobody')) : undefined

function readUser(name: string): { uid: number; gid: number } | undefined {
  return attempt(() => {
    const id = (what: string) => Number(execFileSync('id', [what, name], { encoding: 'utf8' }))
    return { uid: id('-u'), gid: id('-g') }
  }, undefined)
}

const startMs = 60_000

export async function startPostgres(settings: Record<string, string> = {}): Promise<Postgres> {
  if (programs === undefined) throw new Error(postgresNeeded)
  const postgres = join(programs, 'postgres')
  const home = newFolder('postgres')
  // the folder of the test run is closed to other users
  if (runsAs !== undefined && process.env.FOGHORN_TEST_MEMORY !== undefined)
    chmodSync(process.env.FOGHORN_TEST_MEMORY, 0o711)
  const folder = join(home, 'data')
  mkdirSync(folder)
  if (runsAs !== undefined)
    for (const path of [home, folder]) chownSync(path, runsAs.uid, runsAs.gid)
  const options = { ...runsAs, cwd: home }
  const initdb = [
    '-D',
    folder,
    '-U',
    'postgres',
    '--auth=trust',
    '--no-sync',
    '-E',
    'UTF8',
    '--locale=C',
  ]
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'ignore' })
  const port = await freePort()
  // nothing here outlives a machine
  const own = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: home,
    fsync: 'off',
    ...settings,
  }
  const words = Object.entries(own).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const run = (text: string) => runOn(port, text)
  let server: ReturnType<typeof launch> | undefined
  const launch = () => {
    const args = ['-D', folder, '-p', String(port), ...words]
    const child = spawn(postgres, args, { ...options, stdio: 'ignore' })
    return { child, ended: new Promise<void>((resolve) => child.once('exit', () => resolve())) }
  }
  const end = async (signal: NodeJS.Signals) => {
    server?.child.kill(signal)
    await server?.ended
    server = undefined
  }
  const start = async () => {
    server = launch()
    const until = Date.now() + startMs
    for (;;) {
      try {
        await run('SELECT 1')
        return
      } catch (error) {
        if (Date.now() > until) throw error
        await sleep(50)
      }
    }
  }
  await start()
  return {
    port,
    run,
    start,
    newDatabase: () => newDatabaseOn(port),
    // its children end as they lose it
    kill: () => end('SIGKILL'),
    async stop() {
      await end('SIGQUIT')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const address = (port: number, database: string) =>
  `postgres://postgres@127.0.0.1:${port}/${database}`

async function runOn(port: number, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: address(port, 'postgres') })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** The address of a new, empty database. */
async function newDatabaseOn(port: number): Promise<string> {
  const name = `t${randomUUID().replaceAll('-', '')}`
  await runOn(port, `CREATE DATABASE ${name}`)
  return address(port, name)
}

interface OwnDatabase extends Pick<Database, 'query'> {
  drop(): Promise<void>
}

/** A new database on a server, perhaps of another thread. It is there once the first statement needs it. */
export function ownDatabase(port: number): OwnDatabase {
  const opened = (async () => {
    const at = await newDatabaseOn(port)
    await (await connect(at)).close()
    // without the limits of a relay: a world takes the time that the machine needs
    const pool = new Pool({ connectionString: at, max: 4 })
    // the database is dropped while a connection ends
    pool.on('error', () => {})
    return { at, pool }
  })()
  return {
    async query(text, values) {
      const { pool } = await opened
      return (await pool.query(text, typeof values === 'function' ? values() : values)).rows
    },
    async drop() {
      const { at, pool } = await opened
      await pool.end()
      await runOn(port, `DROP DATABASE ${nameIn(at)} WITH (FORCE)`)
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function connect(address: string): Promise<Database> {
  return openDatabase({ address: readDatabaseAddress(address), onLost: () => {} })
}

export function postgresRows({ query }: Pick<Database, 'query'>): PostgresRows {
  return new PostgresRows({ query, nonce: randomUUID() })
}

let shared: Promise<Postgres> | undefined
/** Databases of tests before this one, the oldest first. Each takes some megabytes. */
const used: Promise<Database & { address: string }>[] = []
const maxUsed = 12

/** A database on a server that all tests of this process share. It is there once the first statement needs it. */
export function newTestDatabase(): Pick<Database, 'query'> {
  shared ??= startPostgres({ max_connections: '400' })
  const server = shared
  const own = (async () => {
    const old = used.length > maxUsed ? await used.shift() : undefined
    const { newDatabase, run } = await server
    await old?.close()
    if (old !== undefined) await run(`DROP DATABASE ${nameIn(old.address)} WITH (FORCE)`)
    const address = await newDatabase()
    return { ...(await connect(address)), address }
  })()
  used.push(own)
  return { query: async (text, values) => (await own).query(text, values) }
}

const nameIn = (address: string) => address.slice(address.lastIndexOf('/') + 1)
