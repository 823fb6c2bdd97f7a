// The store on Azure Tables for tests: handles on one table of an Azurite, a process that dies between two
// calls, and a look at what is in the index and what is not.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TableClient } from '@azure/data-tables'
import { subscriptionOf } from '../../functions/core/delivery/delivery.ts'
import { keyOf } from '../../functions/store/azure/keys.ts'
import type { Change, Rows } from '../../functions/store/azure/rows.ts'
import { AzureStore } from '../../functions/store/azure/store.ts'
import {
  deliveryPartition,
  entriesOf,
  type HeldEvent,
  isSameEntry,
  ranges,
  toHeldEvent,
} from '../../functions/store/azure/stored.ts'
import { AzureTable } from '../../functions/store/azure/table.ts'
import { type Entry, partitions } from '../../functions/store/azure/time-index.ts'
import type { Together } from '../../functions/store/azure/together.ts'
import type { EventKey } from '../../functions/store/store.ts'
import type { Azurite } from './azurite.ts'

/** A client of a table that does not exist yet. */
export function newClient(azurite: Azurite): TableClient {
  const name = `t${randomUUID().replaceAll('-', '')}`
  return TableClient.fromConnectionString(azurite.connection, name, {
    allowInsecureConnection: true,
  })
}

export function newRows(azurite: Azurite): Rows {
  return new AzureTable(newClient(azurite))
}

/** A worker's handle. */
export function storeOn(rows: Rows, together?: Together): AzureStore {
  const runs = together && { together }
  return new AzureStore({ rows, newId: randomUUID, random: Math.random, wait: sleep, ...runs })
}

type Make = (partition: string, changes: Change[]) => ReturnType<Rows['change']>

/** Rows with something around each change. */
export function around(
  rows: Rows,
  wrap: (change: () => ReturnType<Make>, ...args: Parameters<Make>) => ReturnType<Make>,
): Rows {
  return {
    read: (partition, row) => rows.read(partition, row),
    list: (partition, range) => rows.list(partition, range),
    change: (partition, changes) => wrap(() => rows.change(partition, changes), partition, changes),
  }
}

/** The process dies at its n-th change, before or after it took effect, and changes nothing from then on. */
export function dyingAt(rows: Rows, n: number, when: 'before' | 'after') {
  const life = { changes: 0 }
  const dying = around(rows, async (change) => {
    const own = ++life.changes
    if (own > n || (own === n && when === 'before')) throw new Error('the process is dead')
    const outcome = await change()
    if (own === n) throw new Error('the process is dead')
    return outcome
  })
  return { rows: dying, isDead: () => life.changes >= n }
}

/** Each write of these partitions is made again by the client, which never saw the first answer. */
export function losingAnswers(rows: Rows, isLost: (partition: string) => boolean): Rows {
  return around(rows, async (change, partition) => {
    const outcome = await change()
    return isLost(partition) ? change() : outcome
  })
}

const all = { from: '', to: '~' }

/** The one subscription that tests of the table have. */
export const subscription = 's1'

/** The partition of an event, or of its deliveries to a subscription. */
type PartitionKey = EventKey & { channel?: string }

/** Every entry of every index. */
export async function entriesIn(rows: Rows, fleets = ['prod', 'test']): Promise<Entry[]> {
  const indexes = (['due', 'owed', 'heard'] as const).flatMap((index) => partitions.all(index))
  const lists = [partitions.listed(), ...fleets.map((fleet) => partitions.listed(fleet))]
  const open = fleets.map((fleet) => partitions.open(fleet))
  const history = [partitions.history(), partitions.history(subscription)]
  const names = [...indexes, ...lists, ...open, ...history, partitions.failed, partitions.ended]
  const found = names.map(async (partition) => {
    return (await rows.list(partition, all)).map(({ row }) => ({ partition, row }))
  })
  return (await Promise.all(found)).flat()
}

/** What has to be found by time, and is not: each as a sentence. */
export async function unfound(rows: Rows, keys: PartitionKey[]): Promise<string[]> {
  const entries = await entriesIn(rows)
  const isThere = (own: Entry | undefined) => entries.some((one) => isSameEntry(own, one))
  const missing = keys.map(async (key) => {
    const found = toHeldEvent(await rows.list(deliveryPartition(key), all))
    return [...unnamed(found), ...entriesOf(found).filter((own) => !isThere(own))]
  })
  const shards = [0, 1, 2, 3].map((shard) => keyOf('beacons', 'prod', shard))
  const beacons = shards.map(async (partition) => {
    const held = await rows.list(partition, { from: 'beacon|', to: 'beacon|~' })
    return held.filter(({ body }) => !isThere(JSON.parse(body).heard)).map(({ row }) => row)
  })
  const whole = await Promise.all([...missing, ...beacons])
  return whole.flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
}

/** Rows that name no entry although somebody has to find them, or one that comes too late. */
function unnamed({ event, deliveries }: HeldEvent): string[] {
  const late = (entry: Entry | undefined, at: number) =>
    entry === undefined || Number(entry.row.split('|').at(-2)) > at
  const { record, due, ended, open, listed = [] } = event?.stored ?? {}
  const wrong: string[] = []
  if (record?.dueAt !== undefined && late(due, record.dueAt)) wrong.push('due')
  if (record?.ended && late(ended, record.ended.at)) wrong.push('ended')
  if (record && listed.length < 2) wrong.push('listed')
  if (record && !record.ended && open === undefined) wrong.push('open')
  for (const { stored } of deliveries) {
    const { id, state, nextAt, plannedAt } = stored.delivery
    if (state === 'pending' && late(stored.entry, nextAt)) wrong.push(`${id} is owed`)
    const failed = state === 'refused' || state === 'given_up'
    if (failed && late(stored.entry, plannedAt)) wrong.push(`${id} failed`)
    const isListed = stored.history?.length === 2
    if (isListed === (subscriptionOf(stored.delivery.channel) === undefined)) {
      wrong.push(`${id} has the wrong history`)
    }
  }
  return wrong
}

/** All rows of an event, or of its deliveries to a subscription. */
export async function rowsOf(rows: Rows, key: PartitionKey): Promise<string[]> {
  return (await rows.list(deliveryPartition(key), { ...ranges.whole, ...all })).map(
    ({ row }) => row,
  )
}
