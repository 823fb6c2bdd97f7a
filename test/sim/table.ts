// The table of a world: rows in memory, as Azure Tables keeps them. Each call takes its time, before and after
// it takes effect, and the process may end in either: what it had begun to write stays as far as it came. The answer
// to a write may be lost, and the client then writes again by itself, as Azure's does.
import type { HealthRow } from '../../functions/core/delivery/channel-health.ts'
import { listPartition } from '../../functions/store/azure/memos.ts'
import type { Change, Range, Row, Rows } from '../../functions/store/azure/rows.ts'
import { maxChanges } from '../../functions/store/azure/rows.ts'
import {
  eventRow,
  type HeldEvent,
  held,
  heldEvent,
  type StoredDelivery,
  toDelivery,
  toEntry,
  toHeldEvent,
} from '../../functions/store/azure/stored.ts'
import type { Together } from '../../functions/store/azure/together.ts'
import { FoghornError } from '../../shared/errors.ts'
import type { Caller } from './followers.ts'
import type { Judge } from './judge.ts'
import type { Kernel, Process } from './kernel.ts'

/** As in azure-table.ts. */
const maxRowLength = 15 * 32_000
/** A call of the store makes about so many of the table. */
const callsEach = 6

type Views = HeldEvent['views']

interface Written {
  row: Row
  before: Row | undefined
}

export class Table {
  readonly #partitions = new Map<string, Map<string, Row>>()
  #versions = 0

  /** Without a wait, and without a fault. */
  plain(): Rows {
    return {
      read: async (partition, row) => this.#read(partition, row),
      list: async (partition, range) => this.#list(partition, range),
      change: async (partition, changes) => this.#change(partition, changes).outcome,
    }
  }

  viewOf(worker: Caller, judge: Judge): Rows {
    const step = async <T>(call: () => T): Promise<T> => {
      await worker.step(1 / callsEach)
      const result = call()
      await worker.step(1 / callsEach)
      return result
    }
    return {
      read: (partition, row) => step(() => this.#read(partition, row)),
      list: (partition, range) => step(() => this.#list(partition, range)),
      change: (partition, changes) =>
        step(() => {
          const { outcome, written } = this.#change(partition, changes)
          this.#tell(judge, worker.process.name, partition, written)
          if (outcome !== 'conflict' && partition === listPartition('subscription')) {
            const removed = changes.filter(({ kind }) => kind === 'remove')
            for (const { row } of removed) judge.subscriptions.removed(row)
          }
          return worker.losesAnswer() ? this.#change(partition, changes).outcome : outcome
        }),
    }
  }

  #read(partition: string, row: string): Row | undefined {
    return this.#partitions.get(partition)?.get(row)
  }

  #list(partition: string, { from, to, limit }: Range): Row[] {
    const rows = [...(this.#partitions.get(partition)?.values() ?? [])]
    return rows
      .filter(({ row }) => row >= from && row < to)
      .sort((a, b) => (a.row < b.row ? -1 : 1))
      .slice(0, limit)
  }

  #change(partition: string, changes: Change[]) {
    const rows = this.#partitions.get(partition) ?? new Map<string, Row>()
    this.#partitions.set(partition, rows)
    const names = new Set(changes.map(({ row }) => row))
    const large = changes.find((change) => 'body' in change && change.body.length > maxRowLength)
    if (large !== undefined) throw new FoghornError('row_too_large', `row "${large.row}"`)
    if (changes.length > maxChanges || names.size < changes.length) {
      throw new Error(`no transaction takes these ${changes.length} changes of "${partition}"`)
    }
    const fits = changes.every((change) => {
      const known = rows.get(change.row)
      if (change.kind === 'insert') return known === undefined
      if (change.kind === 'put') return true
      return known !== undefined && (change.etag ?? known.etag) === known.etag
    })
    if (!fits) return { outcome: 'conflict' as const, written: [] }
    const written: Written[] = []
    const etags: string[] = []
    for (const change of changes) {
      if (change.kind === 'remove') {
        rows.delete(change.row)
        etags.push('')
      } else {
        const row = { row: change.row, body: change.body, etag: `v${++this.#versions}` }
        written.push({ row, before: rows.get(change.row) })
        rows.set(change.row, row)
        etags.push(row.etag)
      }
    }
    return { outcome: etags, written }
  }

  /** A worker has a delivery, or has ended its attempt. */
  #tellAttempt(judge: Judge, process: string, { row, before }: Written, views: Views): void {
    if (before === undefined || !row.row.startsWith('say|')) return
    const [was, is] = [held<StoredDelivery>(before).stored, held<StoredDelivery>(row).stored]
    const attemptOf = (stored: StoredDelivery, lease: string) => {
      const delivery = toDelivery(stored, views.get(stored.view))
      return { ...delivery, lease, leaseUntil: delivery.nextAt }
    }
    if (is.lease !== undefined && is.lease !== was.lease) {
      judge.claimedOne(process, attemptOf(is, is.lease), is.delivery.nextAt)
    } else if (is.lease === undefined && was.lease !== undefined) {
      judge.settledOne(attemptOf(was, was.lease), is.delivery)
    }
  }

  /** What is now on record, whatever becomes of the process that wrote it. */
  #tell(judge: Judge, process: string, partition: string, written: Written[]): void {
    if (partition === listPartition('health')) {
      for (const { row } of written) {
        const { channel, health } = JSON.parse(row.body) as HealthRow
        judge.marks.written(channel, health)
      }
    }
    if (partition === listPartition('subscription')) {
      for (const { row } of written) judge.subscriptions.written(JSON.parse(row.body))
    }
    if (!partition.startsWith('event|') && !partition.startsWith('subscription|')) return
    const { views } = toHeldEvent([...this.#partitions.get(partition)!.values()])
    const deliveries = written
      .filter(({ row, before }) => before === undefined && row.row.startsWith('say|'))
      .map(({ row }) => held<StoredDelivery>(row).stored)
      .map((stored) => toDelivery(stored, views.get(stored.view)))
    const event = written.find(({ row }) => row.row === eventRow)
    if (event === undefined) {
      judge.planned(deliveries)
      for (const one of written) this.#tellAttempt(judge, process, one, views)
    } else {
      const { record } = heldEvent(event.row).stored
      const moments = written
        .filter(({ row }) => row.row.startsWith('unlogged|'))
        .map(({ row }) => toEntry(row.body))
      const supersede = written
        .filter(({ row, before }) => before !== undefined && row.row.startsWith('say|'))
        .map(({ row }) => held<StoredDelivery>(row).stored.delivery)
        .filter(({ state }) => state === 'superseded')
      const commit = { record, deliveries, basedOn: 0, supersede, moments, now: 0 }
      judge.committed(process, commit, 'committed')
    }
  }
}

/** Several tasks of one process, each with its own waits. */
export function togetherIn(kernel: Kernel, process: Process): Together {
  return async <T>(works: (() => Promise<T>)[]) => {
    if (works.length === 0) return []
    const results: T[] = []
    const errors: unknown[] = []
    let left = works.length
    await kernel.park<void>(process, (resume) => {
      for (const [i, work] of works.entries()) {
        kernel.spawn(process, async () => {
          try {
            results[i] = await work()
          } catch (error) {
            errors.push(error)
          }
          left -= 1
          if (left === 0) resume()
        })
      }
    })
    if (errors.length > 0) throw errors[0]
    return results
  }
}
