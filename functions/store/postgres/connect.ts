// The connections to a database of PostgreSQL: some that work, and one that hears what other relays say. Every wait
// has an end, so that a database that hangs costs a request seconds, and no more.
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient } from 'pg'
import { FoghornError } from '../../../shared/errors.ts'
import { maskOf } from '../../../shared/mask.ts'
import { visible } from '../../../shared/presentable.ts'
import { cut } from '../../../shared/text.ts'
import type { DatabaseAddress } from './address.ts'
import { PostgresError, type Query } from './rows.ts'
import { schema, schemaName, sql } from './schema.ts'

/** Requests of beacons end after 5 s or more. */
const connectMs = 3_000
const statementMs = 4_000
const maxConnections = 8
/** A connection to a server that was replaced is not used longer than this. */
const maxLifeSeconds = 600
const keepAliveMs = 10_000
/** A connection that only hears asks something this often, as nothing else shows that it is dead. */
const askMs = 5_000
/** A database that hangs does not keep a relay from stopping. */
const closeMs = 2_000
const reconnectMs = 1_000
/** PostgreSQL 14: its makers supported it until November 2026. */
const leastVersion = 140_000
/** Any number: who makes the schema at the same time waits. */
const setUpLock = 7_146_010_001

interface Options {
  address: DatabaseAddress
  /** A token in place of the password, for each new connection. */
  readToken?: (() => Promise<string>) | undefined
  /** Certificates that may sign the server's. Absent: those that Node knows. */
  certificates?: string[] | undefined
  /** Told to the log: a connection ended by itself. */
  onLost: (error: unknown) => void
}

export interface Database {
  query: Query
  /** All statements of `work` in one transaction, while no relay can change anything. */
  alone<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  /** Calls `hear` with each text that another connection tells, and `onState` if hearing ends or begins again. */
  listen(hear: (text: string) => void, onState: (hears: boolean) => void): Promise<void>
  /** At most 7,000 bytes. */
  tell(text: string): Promise<void>
  close(): Promise<void>
}

/** Makes what is missing. Throws FoghornError `storage_unavailable`, `storage_forbidden` or `data_version`. */
export async function openDatabase(options: Options): Promise<Database> {
  const { address, onLost, readToken } = options
  let token: string | undefined
  const keepToken = async () => {
    token = await readToken!()
    return token
  }
  const config = configFor({ ...options, readToken: readToken && keepToken })
  const pool = new Pool({
    ...config,
    ...{ max: maxConnections, maxLifetimeSeconds: maxLifeSeconds, idleTimeoutMillis: 60_000 },
  })
  pool.on('error', onLost)
  pool.on('connect', (client) => {
    // also while it works: without a listener, the error would end the process
    client.on('error', onLost)
    client.query(session).catch(onLost)
  })
  const where = `${address.host}:${address.port}/${address.database}`
  const { user, password } = address
  // a database may repeat what it was sent
  const mask = (text: string) => {
    const known = password ?? token
    return maskOf(known === undefined ? [] : [known, `${user}:${known}`])(text)
  }
  let remedy = 'check that FOGHORN_DATABASE leads to a PostgreSQL that runs'
  const on = async <Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> => {
    let client: PoolClient | undefined
    try {
      client = await pool.connect()
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      // what the server still does on it is over with the connection
      client?.release(true)
      throw explain(error, where, remedy, mask)
    }
  }
  const query: Query = (text, values) => on((client) => ask(client, text, values))
  try {
    await setUp(query, where)
  } catch (error) {
    await pool.end()
    throw error
  }
  remedy = waitAndSee
  let hearing: Hearing | undefined
  return {
    query,
    alone: (work) =>
      on(async (client) => {
        await client.query('BEGIN; SET LOCAL statement_timeout = 0')
        const [got] = await ask(client, 'SELECT pg_try_advisory_xact_lock($1) AS alone', [
          listenLock,
        ])
        if (got?.alone !== true)
          throw new FoghornError(
            'data_in_use',
            'a relay uses the database in PostgreSQL; stop it first',
          )
        await client.query(locked)
        const result = await work((text, values) => ask(client, text, values))
        await client.query('COMMIT')
        return result
      }),
    async listen(hear, onState) {
      hearing = new Hearing(config, hear, onState, onLost)
      await hearing.start()
    },
    async tell(text) {
      await query('SELECT pg_notify($1, $2)', [schemaName, text])
    },
    async close() {
      const closed = Promise.all([hearing?.close(), pool.end()])
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, closeMs).unref())])
    },
  }
}

const names = new Map(Object.entries(sql).map(([name, text]) => [text, `foghorn_${name}`]))

async function ask(client: ClientBase, text: string, values: Parameters<Query>[1]) {
  const name = names.get(text)
  const given = typeof values === 'function' ? values() : values
  return (await client.query({ ...(name && { name }), text, values: given })).rows
}

/** What a report was answered for is durable, and a change sees what others have committed. */
const session = `
  SET statement_timeout = ${statementMs};
  SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')`

/** A relay that listens shares this lock, so nobody is alone then. */
const listenLock = 7_146_010_002
const locked = `LOCK TABLE ${schemaName}.rows, ${schemaName}.entries IN ACCESS EXCLUSIVE MODE`

function configFor({ address, readToken, certificates }: Options): ClientConfig {
  const { host, port, user, database, password, tls } = address
  const ca = certificates === undefined ? {} : { ca: certificates }
  return {
    ...{ host, port, user, database, application_name: 'foghorn' },
    ...(password !== undefined ? { password } : readToken && { password: readToken }),
    ssl: tls && { rejectUnauthorized: true, ...ca },
    ...{ connectionTimeoutMillis: connectMs, query_timeout: statementMs + 500 },
    ...{ keepAlive: true, keepAliveInitialDelayMillis: keepAliveMs },
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
  const hasSchema = 'SELECT to_regnamespace($1) IS NOT NULL AS found'
  const [own] = await query(hasSchema, [schemaName])
  // if an owner made the schema, the relay's user needs no right to make one
  const first = own?.found === true ? '' : `CREATE SCHEMA IF NOT EXISTS ${schemaName};`
  // two relays may start at once
  await query(`BEGIN; SELECT pg_advisory_xact_lock(${setUpLock}); ${first} ${schema} COMMIT`, [])
}

/** The connection that hears. If it is lost, another one takes its place. */
class Hearing {
  readonly #config: ClientConfig
  readonly #hear: (text: string) => void
  readonly #onState: (hears: boolean) => void
  readonly #onLost: (error: unknown) => void
  #client: Client | undefined
  #asking: NodeJS.Timeout | undefined
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
      await client.query(`LISTEN ${schemaName}; SELECT pg_advisory_lock_shared(${listenLock})`)
      this.#onState(true)
      this.#asking = setInterval(() => {
        client.query('SELECT 1').catch((error: unknown) => {
          this.#onLost(error)
          this.#again(client)
        })
      }, askMs).unref()
    } catch (error) {
      this.#onLost(error)
      this.#again(client)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#asking)
    await this.#client?.end()
  }

  #again(client: Client): void {
    if (this.#client !== client || this.#isClosed) return
    this.#client = undefined
    clearInterval(this.#asking)
    this.#onState(false)
    client.end().catch(() => {})
    setTimeout(() => {
      if (!this.#isClosed) void this.start()
    }, reconnectMs).unref()
  }
}

/** Characters that are looked at, and that are shown. */
const maxRead = 10_000
const maxSaid = 300
const waitAndSee = 'the relay retries, and loses no report that it accepted'

/** Postgres' own errors name no remedy. Codes: postgresql.org/docs/current/errcodes-appendix.html */
function explain(
  error: unknown,
  where: string,
  remedy: string,
  mask: (text: string) => string,
): unknown {
  if (error instanceof FoghornError) return error
  const given = error instanceof Error && 'code' in error ? String(error.code) : ''
  const code = /^\w{1,64}$/.test(given) ? given : ''
  // what a server says may have anything in it
  const whole = error instanceof Error ? error.message || error.name : String(error)
  const text = visible(cut(mask(cut(whole, maxRead)), maxSaid))
  const said = `PostgreSQL "${where}": ${text}${code === '' || text.includes(code) ? '' : ` (${code})`}`
  const made = (own: string, what: string) => new PostgresError(own, `${said}; ${what}`, code)
  if (code === '53100') return made('disk_full', 'free space on the disk of the database')
  if (code === '42501')
    return made(
      'storage_forbidden',
      `let its user make the schema "${schemaName}" (GRANT CREATE ON DATABASE), or make it and give it to the user`,
    )
  if (code.startsWith('28') || code === '3D000')
    return made('storage_forbidden', 'check user, password and database of FOGHORN_DATABASE')
  return made('storage_unavailable', remedy)
}
