// The connections to a database of PostgreSQL: some that work, and one that hears what other relays say. Every wait
// has an end, so that a database that hangs costs a request seconds, and no more.
import { Client, type ClientConfig, Pool } from 'pg'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import type { DatabaseAddress } from './address.ts'
import type { Query } from './rows.ts'
import { schema, schemaName, sql } from './schema.ts'

/** Requests of beacons end after 5 s or more. */
const connectMs = 3_000
const statementMs = 4_000
const maxConnections = 8
/** A connection to a server that was replaced is not used longer than this. */
const maxLifeSeconds = 600
const reconnectMs = 1_000
/** PostgreSQL 14 is supported until November 2026. */
const leastVersion = 140_000
/** Any number: who makes the schema at the same time waits. */
const setUpLock = 7_146_010_001

interface Options {
  address: DatabaseAddress
  /** A token in place of the password, for each new connection. */
  readToken?: (() => Promise<string>) | undefined
  /** Those that may sign the server's, beside those that Node knows. */
  certificates?: string | undefined
  /** Told to the log: a connection ended by itself. */
  onLost: (error: unknown) => void
}

export interface Database {
  query: Query
  /** Calls `hear` with each text that another connection tells, and `onState` if hearing ends or begins again. */
  listen(hear: (text: string) => void, onState: (hears: boolean) => void): Promise<void>
  /** At most 7,000 bytes. */
  tell(text: string): Promise<void>
  close(): Promise<void>
}

/**
 * Makes what is missing. Throws FoghornError `storage_unavailable`, `storage_forbidden`, `data_version` or
 * `data_unusable`.
 */
export async function openDatabase(options: Options): Promise<Database> {
  const { address, onLost } = options
  const config = configFor(options)
  const pool = new Pool({
    ...config,
    ...{ max: maxConnections, maxLifetimeSeconds: maxLifeSeconds, idleTimeoutMillis: 60_000 },
  })
  pool.on('error', onLost)
  const where = `${address.host}/${address.database}`
  const run = async (name: string | undefined, text: string, values: unknown[]) => {
    try {
      return (await pool.query({ ...(name && { name }), text, values })).rows
    } catch (error) {
      throw explain(error, where)
    }
  }
  const names = new Map(Object.entries(sql).map(([name, text]) => [text, `foghorn_${name}`]))
  const query: Query = (text, values) => run(names.get(text), text, values)
  try {
    await setUp(query, where)
  } catch (error) {
    await pool.end()
    throw error
  }
  let hearing: Hearing | undefined
  return {
    query,
    async listen(hear, onState) {
      hearing = new Hearing(config, hear, onState, onLost)
      await hearing.start()
    },
    async tell(text) {
      await run(undefined, 'SELECT pg_notify($1, $2)', [schemaName, text])
    },
    async close() {
      await hearing?.close()
      await pool.end()
    },
  }
}

function configFor({ address, readToken, certificates }: Options): ClientConfig {
  const { host, port, user, database, password, tls } = address
  const ca = certificates === undefined ? {} : { ca: certificates }
  return {
    ...{ host, port, user, database, application_name: 'foghorn' },
    ...(password !== undefined ? { password } : readToken && { password: readToken }),
    ssl: tls && { rejectUnauthorized: true, ...ca },
    ...{ connectionTimeoutMillis: connectMs, keepAlive: true },
    ...{ statement_timeout: statementMs, query_timeout: statementMs + 500 },
  }
}

async function setUp(query: Query, where: string): Promise<void> {
  const [found] = await query("SELECT current_setting('server_version_num')::int AS version", [])
  const version = Number(found?.version)
  if (version < leastVersion) {
    const what = `"${where}" is PostgreSQL ${Math.floor(version / 10_000)}`
    throw new FoghornError('data_version', `${what}; Foghorn needs 14 or newer`)
  }
  const isMade = async () => (await query(sql.isMade, []))[0]?.made === true
  if (await isMade()) return
  // two relays may start at once
  await query(`BEGIN; SELECT pg_advisory_xact_lock(${setUpLock}); ${schema} COMMIT`, [])
}

/** The connection that hears. If it is lost, another one takes its place. */
class Hearing {
  readonly #config: ClientConfig
  readonly #hear: (text: string) => void
  readonly #onState: (hears: boolean) => void
  readonly #onLost: (error: unknown) => void
  #client: Client | undefined
  #isClosed = false

  constructor(
    config: ClientConfig,
    hear: (text: string) => void,
    onState: (hears: boolean) => void,
    onLost: (error: unknown) => void,
  ) {
    this.#config = config
    this.#hear = hear
    this.#onState = onState
    this.#onLost = onLost
  }

  async start(): Promise<void> {
    const client = new Client(this.#config)
    client.on('notification', ({ payload = '' }) => this.#hear(payload))
    client.once('end', () => this.#again(client))
    client.on('error', (error) => {
      this.#onLost(error)
      this.#again(client)
    })
    this.#client = client
    try {
      await client.connect()
      await client.query(`LISTEN ${schemaName}`)
      this.#onState(true)
    } catch (error) {
      this.#onLost(error)
      this.#again(client)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#client?.end()
  }

  #again(client: Client): void {
    if (this.#client !== client || this.#isClosed) return
    this.#client = undefined
    this.#onState(false)
    client.end().catch(() => {})
    setTimeout(() => {
      if (!this.#isClosed) void this.start()
    }, reconnectMs).unref()
  }
}

const waitAndSee = 'the relay retries, and loses no report that it accepted'

/** Postgres' own errors name no remedy. Codes: postgresql.org/docs/current/errcodes-appendix.html */
function explain(error: unknown, where: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const said = `PostgreSQL "${where}": ${messageOf(error)}${code === '' ? '' : ` (${code})`}`
  const made = (own: string, remedy: string) =>
    new FoghornError(own, `${said}; ${remedy}`, { cause: error })
  if (code === '53100') return made('disk_full', 'free space on the disk of the database')
  if (code === '42501')
    return made(
      'storage_forbidden',
      `let its user make the schema "${schemaName}" (GRANT CREATE ON DATABASE), or make it and give it to the user`,
    )
  if (code.startsWith('28') || code === '3D000')
    return made('storage_forbidden', 'check user, password and database of FOGHORN_DATABASE')
  return made('storage_unavailable', waitAndSee)
}
