// What the relays of a world keep their rows in. Each process has its own view of it: slow, deadly, and
// watched. A call of SQLite is one step; a call of the store on Azure is many, and may end after each.
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import type { Claimed } from '../../functions/core/delivery/delivery.ts'
import { AzureRows } from '../../functions/store/azure/rows.ts'
import type { Table } from '../../functions/store/azure/table.ts'
import { PostgresRows } from '../../functions/store/postgres/rows.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import { buildRow, type Change, type Row, type Rows } from '../../functions/store/rows.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import { openFile } from '../../functions/store/sqlite-file.ts'
import type { Claim, ClaimRequest, Store } from '../../functions/store/store.ts'
import { ownDatabase, postgresNeeded } from '../support/postgres.ts'
import { around } from './around.ts'
import type { Caller } from './followers.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import { RowWatch, type WrittenRow } from './row-watch.ts'
import { togetherIn, WorldTable } from './table.ts'

export interface Storage {
  storeOf(worker: Caller, judge: Judge): Store
  /** Without faults, for a look at the end. */
  plain: Store
  close(): void | Promise<void>
}

interface Ground {
  /** Changes what each process makes of a table of Azure. */
  spoilTable?: ((table: Table) => Table) | undefined
  /** Where a PostgreSQL listens. */
  postgresPort?: number | undefined
}

export const storages = {
  sqlite(kernel: Kernel): Storage {
    const file = openFile(':memory:')
    const rows = new SqlRows(file, { nonce: 'world' })
    return stepByStep(kernel, rows, () => file.close())
  },

  /** The statements are real, and what the network does to them is not: a call is one step, as with SQLite. */
  postgres(kernel: Kernel, { postgresPort }: Ground): Storage {
    if (postgresPort === undefined) throw new Error(postgresNeeded)
    const database = ownDatabase(postgresPort)
    const rows = new PostgresRows({ query: database.query, nonce: 'world' })
    return stepByStep(kernel, rows, () => database.drop())
  },

  azure(kernel: Kernel, { spoilTable: spoil = (table: Table) => table }: Ground): Storage {
    const table = new WorldTable()
    const newId = namesOf('id')
    const now = () => kernel.now
    const rowsOn = (view: Table) => new AzureRows({ table: view, newId, now })
    const options = { newId, elapsed: now }
    return {
      plain: new RelayStore({ rows: rowsOn(table.plain), ...options, random: () => 0.5 }),
      storeOf(worker, judge) {
        const { process } = worker
        const store = new RelayStore({
          rows: rowsOn(spoil(table.viewOf(worker, judge))),
          ...options,
          random: () => worker.chance(),
          wait: (ms) => kernel.pause(process, ms),
          together: togetherIn(kernel, process),
          waitForEdit: (register) => kernel.park<void>(process, (go) => register(() => go())),
        })
        return watch(store, judge)
      },
      close() {},
    }
  },
}

/** A call of the store is one step of its process, which may end before and after it. */
function stepByStep(kernel: Kernel, rows: Rows, close: Storage['close']): Storage {
  const newId = namesOf('lease')
  const bodies = new Map<string, string>()
  const seen = new RowWatch((...of) => bodies.get(JSON.stringify(of)))
  const options = { newId, random: () => 0.5, elapsed: () => kernel.now }
  return {
    plain: new RelayStore({ rows, ...options }),
    storeOf(worker, judge) {
      const change: Rows['change'] = async (partition, changes, later) => {
        const outcome = await rows.change(partition, changes, later)
        if (outcome === 'conflict') return outcome
        const [written, removed] = effectOf(changes, outcome)
        for (const { row } of written) bodies.set(JSON.stringify([partition, row.row]), row.body)
        for (const row of removed) bodies.delete(JSON.stringify([partition, row]))
        seen.tell(judge, worker.process.name, partition, written, removed)
        return outcome
      }
      const random = () => worker.chance()
      const store = new RelayStore({ rows: withChange(rows, change), ...options, random })
      return around(watch(store, judge), async (method, _args, call) => {
        // looked at all the time, and hardly ever found: no step, or a seed would make another world
        const isNothing = method === 'dueBeacons' && ((await call()) as unknown[]).length === 0
        if (isNothing) return []
        await worker.step()
        const result = await call()
        await worker.step()
        return result
      })
    },
    close,
  }
}

function withChange(rows: Rows, change: Rows['change']): Rows {
  return {
    lagMs: rows.lagMs,
    positions: rows.positions,
    read: (...of) => rows.read(...of),
    list: (...of) => rows.list(...of),
    find: (...of) => rows.find(...of),
    tidy: (...of) => rows.tidy(...of),
    change,
  }
}

/** What a transaction wrote and removed. */
function effectOf(changes: Change[], rows: Row[]): [WrittenRow[], string[]] {
  const written = changes.flatMap((change, i): WrittenRow[] => {
    if (change.kind === 'remove') return []
    return [{ row: rows[i]!, before: change.kind === 'replace' ? change.was.body : undefined }]
  })
  return [written, changes.filter(({ kind }) => kind === 'remove').map(buildRow)]
}

/** The judge hears of what rows do not show. */
function watch(store: Store, judge: Judge): Store {
  return around(store, async (method, args, call) => {
    // a replay takes effect row by row
    const replayed = () => {
      const [which] = args as Parameters<Store['replay']>
      judge.replayed('channel' in which ? which.channel : undefined)
    }
    if (method === 'replay') replayed()
    const result = await call()
    if (method === 'claim') judge.turns((result as Claim).requests, args[0] as ClaimRequest)
    if (method === 'giveBack') judge.gaveBack(args[0] as string)
    if (method === 'replay') replayed()
    if (method === 'settle' && result === 'lost') {
      const [claimed, settlement] = args as [Claimed, Settlement, ...unknown[]]
      judge.settleLost(claimed, settlement)
    }
    return result
  })
}

function namesOf(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${++count}`
}
