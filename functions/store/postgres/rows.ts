// Rows in PostgreSQL, for any number of relays. The function of the schema checks the version of each row within the
// transaction that writes it, so writers need no lock: one of two conflicts, and decides again. Changes that come while
// others are being written share the next transaction.
import { FoghornError } from '../../../shared/errors.ts'
import {
  buildRow,
  type Change,
  checkSizes,
  type Found,
  type Key,
  Positions,
  type Row,
  type Rows,
  toFound,
  toRow,
} from '../rows.ts'
import { sql } from './schema.ts'

/**
 * Runs a statement. `values` are asked for once there is a connection. Throws FoghornError `storage_unavailable` if the
 * database does not answer.
 */
export type Query = (
  text: string,
  values: unknown[] | (() => unknown[]),
) => Promise<Record<string, unknown>[]>

/**
 * What was committed this long ago is visible to all: a change is numbered when it is sent, and a statement takes less
 * (`statementMs` in connect.ts). The clocks of the relays differ by less than the rest. Only a commit that waits for a
 * standby takes longer.
 */
const usualLagMs = 5_000
/** Positions of what is sent are no older. */
const oldMs = 50
/** Transactions under way at once. */
const maxWrites = 2
/** Callers in one transaction. PostgreSQL keeps 64 of their parts at hand. */
const maxUnits = 32
/** Characters in one transaction, but at least one caller. */
const maxLength = 2_000_000
/** Two relays that wait for each other's rows: one of them tries again. */
const maxTries = 5

interface Unit {
  partition: string
  changes: Change[]
  later: (oldMs: number) => Change[] | undefined
  resolve: (outcome: Row[] | 'conflict') => void
  reject: (error: unknown) => void
}

/** What is sent, and the rows as they are then. */
interface Plan {
  sent: object
  rows: Row[]
}

interface Options {
  query: Query
  /** A text that no other process used on this database. It makes versions unique. */
  nonce: string
  lagMs?: number
}

export class PostgresRows implements Rows {
  readonly lagMs: number
  readonly positions = new Positions()
  readonly #query: Query
  readonly #nonce: string
  #waiting: Unit[] = []
  #writes = 0
  #versions = 0

  constructor({ query, nonce, lagMs = usualLagMs }: Options) {
    this.#query = query
    this.#nonce = nonce
    this.lagMs = lagMs
  }

  async read(partition: string, row: string): Promise<Row | undefined> {
    const [found] = await this.#query(sql.read, [partition, row])
    return found && toRow(found)
  }

  async list(partition: string, from: string, to: string, limit?: number): Promise<Row[]> {
    const found = await this.#query(sql.list, [partition, from, to, limit ?? null])
    return found.map(toRow)
  }

  async find(index: string, from: string, to: string, limit: number): Promise<Found[]> {
    const found = await this.#query(sql.find, [index, from, to, limit])
    return found.map((entry) => toFound(index, entry))
  }

  /** A transaction writes rows and entries, so every entry is named. */
  async tidy(): Promise<void> {}

  async change(
    partition: string,
    changes: Change[],
    later: Unit['later'] = () => undefined,
  ): Promise<Row[] | 'conflict'> {
    if (changes.length === 0) return []
    checkSizes(partition, changes)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ partition, changes, later, resolve, reject })
      // others of this moment join
      queueMicrotask(() => void this.#work())
    })
  }

  async #work(): Promise<void> {
    if (this.#writes >= maxWrites) return
    this.#writes += 1
    while (this.#waiting.length > 0) await this.#write(takeTogether(this.#waiting))
    this.#writes -= 1
  }

  /** Throws no error: each caller gets its own outcome. */
  async #write(units: Unit[]): Promise<void> {
    // in one order everywhere, so that relays rarely wait for each other
    units.sort((one, other) => (one.partition < other.partition ? -1 : 1))
    try {
      const { found, plans } = await this.#change(units)
      const outcomes = found!.outcomes as boolean[]
      for (const [i, { resolve }] of units.entries())
        resolve(outcomes[i] ? plans[i]!.rows : 'conflict')
    } catch (error) {
      // the callers behind these would wait as long again
      const behind = isUnavailable(error) ? this.#waiting.splice(0) : []
      for (const { reject } of [...units, ...behind]) reject(error)
    }
  }

  async #change(units: Unit[]) {
    for (let tries = 1; ; tries++) {
      let plans: Plan[] = []
      const values = () => {
        plans = units.map((unit) => this.#planOf(unit))
        return [JSON.stringify(plans.map(({ sent }) => sent))]
      }
      try {
        const [found] = await this.#query(sql.change, values)
        return { found, plans }
      } catch (error) {
        if (!isDeadlock(error) || tries === maxTries) throw error
      }
    }
  }

  /** What is sent, and the rows as they are then. */
  #planOf({ partition, changes, later }: Unit): Plan {
    const all = (later(oldMs) ?? changes).map((change) => this.#writeOf(partition, change))
    return {
      sent: { partition, changes: all.map(({ sent }) => sent) },
      rows: all.map(({ row }) => row),
    }
  }

  #writeOf(partition: string, change: Change): { sent: object; row: Row } {
    const row = buildRow(change)
    if (change.kind === 'remove') {
      const { was } = change
      const dropped = was.keys.map(({ index, key }) => ({ name: index, key }))
      return { sent: { kind: 'remove', row, was: was.version, dropped, added: [] }, row: was }
    }
    const { kind, body } = change
    const keys = (kind === 'put' ? undefined : change.keys) ?? []
    const version = `${this.#nonce}-${++this.#versions}`
    const before = kind === 'replace' ? change.was.keys : []
    const sent = {
      ...{ kind, row, version, body, keys: keys.length === 0 ? '' : JSON.stringify(keys) },
      ...(kind === 'replace' && { was: change.was.version }),
      ...entriesOf(before, keys),
    }
    return { sent, row: { partition, row, body, keys, version } }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof FoghornError && error.code === 'storage_unavailable'
}

/** Removes the first units that fit into one transaction, at least one. */
function takeTogether(waiting: Unit[]): Unit[] {
  let length = 0
  let count = 0
  for (const { changes } of waiting) {
    for (const change of changes) length += 'body' in change ? change.body.length : 0
    if (count > 0 && (count === maxUnits || length > maxLength)) break
    count += 1
  }
  return waiting.splice(0, count)
}

/** The entries of a row that are no longer, and those that are new or have another summary. */
function entriesOf(before: readonly Key[], after: readonly Key[]) {
  const nameOf = ({ index, key }: Key) => `${index} ${key}`
  const old = new Map(before.map((one) => [nameOf(one), one]))
  const kept = new Set(after.map(nameOf))
  const added = [...new Map(after.map((one) => [nameOf(one), one])).values()].filter((one) => {
    const known = old.get(nameOf(one))
    return known === undefined || known.summary !== one.summary
  })
  return {
    dropped: before
      .filter((one) => !kept.has(nameOf(one)))
      .map(({ index, key }) => ({ name: index, key })),
    added: added.map(({ index, key, summary = '' }) => ({ name: index, key, summary })),
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof PostgresError && error.state === '40P01'
}

/** What PostgreSQL refused. `state`: postgresql.org/docs/current/errcodes-appendix.html */
export class PostgresError extends FoghornError {
  readonly state: string

  constructor(code: string, message: string, state: string) {
    super(code, message)
    this.state = state
  }
}
