// What the relays of a world keep their rows in. Each process has its own view of it: slow, deadly, and
// watched. A call of SQLite is one step; a call of the store on Azure is many, and may end after each.

import type { HealthRow } from '../../functions/core/delivery/channel-health.ts'
import type { Claimed, Delivery } from '../../functions/core/delivery/delivery.ts'
import type { Subscription } from '../../functions/core/delivery/subscription.ts'
import type { Rows } from '../../functions/store/azure/rows.ts'
import { AzureStore } from '../../functions/store/azure/store.ts'
import { openFile } from '../../functions/store/sqlite/file.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import type { ClaimRequest, Commit, Store } from '../../functions/store/store.ts'
import { frozen } from '../support/freeze.ts'
import { around } from './around.ts'
import type { Caller } from './followers.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import { Table, togetherIn } from './table.ts'

export interface Storage {
  storeOf(worker: Caller, judge: Judge): Store
  /** Without faults, for a look at the end. */
  plain: Store
  /** All relays have ended: what they kept in memory is gone. */
  restart(): void
  close(): void
}

export const storages = {
  sqlite(_kernel: Kernel): Storage {
    const file = openFile(':memory:')
    const random = namesOf('lease')
    const open = () => new SqliteStore(file, { random })
    let store = open()
    const call =
      (name: keyof Store) =>
      (...args: never[]) =>
        (store[name] as (...args: never[]) => unknown)(...args)
    const plain = new Proxy(store, { get: (_, name) => call(name as keyof Store) })
    return {
      plain,
      restart() {
        store = open()
      },
      storeOf(worker, judge) {
        const { name } = worker.process
        const watched = around(watch(plain, judge), async (method, args, call) => {
          const result = await call()
          if (isShared.has(method)) frozen([args, result])
          if (method === 'commit') judge.committed(name, args[0] as Commit, result as string)
          if (method === 'claim') judge.claimed(name, result as Claimed[][])
          if (method === 'writeMemo' && result === 'written') {
            const [{ kind }, fields] = args as Noting
            const { channel, health } = fields as HealthRow
            if (kind === 'health') judge.marks.written(channel, health)
            if (kind === 'subscription') judge.subscriptions.written(fields as Subscription)
          }
          if (method === 'removeMemo') {
            const [{ kind, name: names }] = args as Parameters<Store['removeMemo']>
            if (kind === 'subscription') judge.subscriptions.removed(String(names[0]))
          }
          if (method === 'addDeliveries') judge.planned(args[0] as Delivery[])
          if (method === 'settle' && result === 'settled') judge.settled(...(args as Settling))
          return result
        })
        return around(watched, async (method, _args, call) => {
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
  azure(kernel: Kernel, spoil: (rows: Rows) => Rows = (rows) => rows): Storage {
    const table = new Table()
    const newId = namesOf('id')
    const wait = () => Promise.resolve()
    const plain = new AzureStore({ rows: table.plain(), newId, random: () => 0.5, wait })
    return {
      plain,
      storeOf(worker, judge) {
        const { process } = worker
        const store = new AzureStore({
          rows: spoil(table.viewOf(worker, judge)),
          newId,
          random: () => worker.chance(),
          wait: (ms) => kernel.pause(process, ms),
          together: togetherIn(kernel, process),
        })
        // a host on Azure claims what it has just committed without a look at the index
        return Object.assign(watch(store, judge), {
          claimOf: async (...args: Parameters<AzureStore['claimOf']>) => {
            const claimed = await store.claimOf(...args)
            judge.turns(claimed.requests, args[1])
            return claimed
          },
        })
      },
      restart() {},
      close() {},
    }
  },
}

/** What these take and give stays in the memory of the store. */
const isShared = new Set<keyof Store>([
  'readEvent',
  'commit',
  'readObservers',
  'readBeacon',
  'readSightings',
  'writeBeacon',
  'replaceBeacon',
])

type Noting = Parameters<Store['writeMemo']>
type Settling = Parameters<Store['settle']>

/** The judge hears of everything but what it has to hear of at the moment when it takes effect. */
function watch(store: Store, judge: Judge): Store {
  return around(store, async (method, args, call) => {
    // on Azure, a replay takes effect row by row
    const replayed = () => {
      const [which] = args as Parameters<Store['replay']>
      judge.replayed('channel' in which ? which.channel : undefined)
    }
    if (method === 'replay') replayed()
    const result = await call()
    if (method === 'claim') judge.turns(result as Claimed[][], args[0] as ClaimRequest)
    if (method === 'replay') replayed()
    if (method === 'settle' && result === 'lost') {
      const [claimed, settlement] = args as Settling
      judge.settleLost(claimed, settlement)
    }
    return result
  })
}

function namesOf(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${++count}`
}
