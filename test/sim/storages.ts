// What the relays of a world keep their rows in. Each process has its own view of it: slow, deadly, and
// watched. A call of SQLite is one step; a call of the store on Azure is many, and may end after each.
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import type { Claimed } from '../../functions/core/delivery/delivery.ts'
import { AzureRows } from '../../functions/store/azure/rows.ts'
import type { Table } from '../../functions/store/azure/table.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import { buildRow, type Change, type Row, type Rows } from '../../functions/store/rows.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import { openFile } from '../../functions/store/sqlite-file.ts'
import type { Claim, ClaimRequest, Store } from '../../functions/store/store.ts'
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
  close(): void
}

export const storages = {
  sqlite(kernel: Kernel): Storage {
    const file = openFile(':memory:')
    const rows = new SqlRows(file, { nonce: 'world' })
    const newId = namesOf('lease')
    const body = 'SELECT body FROM rows WHERE partition = ? AND row = ?'
    const seen = new RowWatch((...of) => file.all(body, ...of)[0]?.body as string | undefined)
    const options = { newId, random: () => 0.5, elapsed: () => kernel.now }
    return {
      plain: new RelayStore({ rows, ...options }),
      storeOf(worker, judge) {
        const change = async (partition: string, changes: Change[]) => {
          const outcome = await rows.change(partition, changes)
          if (outcome !== 'conflict') {
            seen.tell(judge, worker.process.name, partition, ...effectOf(changes, outcome))
          }
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
      close: () => file.close(),
    }
  },

  /** `spoil` changes what each process makes of the table. */
  azure(kernel: Kernel, spoil: (table: Table) => Table = (table) => table): Storage {
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
