// Tells the judge what took effect in the rows, at the moment it did, whatever becomes of the process
// that wrote it: commits, plans, claims, ends of attempts, the health of channels, subscriptions.
import type { Delivery } from '../../functions/core/delivery/delivery.ts'
import type { MomentEntry } from '../../functions/core/delivery/moment-log.ts'
import type { ChannelState } from '../../functions/store/channels.ts'
import {
  type StoredDeliveries,
  type StoredDelivery,
  toDelivery,
} from '../../functions/store/delivery-rows.ts'
import { eventRow, momentRow, parseRecord, viewOfMoment } from '../../functions/store/events.ts'
import type { Key, Row } from '../../functions/store/rows.ts'
import type { Judge } from './judge.ts'
import type { StoredSubscription } from './subscriptions.ts'

/** A row as it is now, and its body before. */
export interface WrittenRow {
  row: Pick<Row, 'row' | 'body'> & { keys: readonly Key[] }
  before: string | undefined
}

export class RowWatch {
  readonly #bodyOf: (partition: string, row: string) => string | undefined

  /** `readBody`: of a row, as it is now. */
  constructor(bodyOf: (partition: string, row: string) => string | undefined) {
    this.#bodyOf = bodyOf
  }

  tell(
    judge: Judge,
    process: string,
    partition: string,
    written: WrittenRow[],
    removed: string[],
  ): void {
    if (partition === 'channels') {
      for (const { row } of written) {
        const { channel, health } = parse<ChannelState>(row.body)
        if (health !== undefined) judge.marks.written(channel, health)
      }
    }
    for (const book of judge.books.values()) {
      for (const { row, before } of written) book.written?.(partition, row.body, before)
    }
    if (partition === 'subscription') {
      for (const { row } of written)
        judge.subscriptions.written(parse<StoredSubscription>(row.body))
      for (const row of removed) judge.subscriptions.removed(row)
    }
    if (!partition.startsWith('event|')) return
    const event = written.find(({ row }) => row.row === eventRow)
    const rows = written.filter(({ row }) => /^(deliveries|subscribed)\|/.test(row.row))
    if (event !== undefined) {
      const record = parseRecord(event.row)
      const planned = rows.flatMap(({ row }) => this.#deliveriesIn(partition, row.body))
      const commit = { record, deliveries: planned, basedOn: 0, now: 0 }
      judge.committed(process, { ...commit, moments: momentsIn(written) }, 'committed')
      return
    }
    for (const { row, before } of rows)
      this.#tellDeliveries(judge, process, partition, row.body, before)
  }

  #tellDeliveries(
    judge: Judge,
    process: string,
    partition: string,
    body: string,
    before: string | undefined,
  ): void {
    const now = parse<StoredDeliveries>(body)
    const old = before === undefined ? [] : parse<StoredDeliveries>(before).deliveries
    for (const is of now.deliveries) {
      const delivery = this.#delivery(partition, now, is)
      const was = old.find(({ id }) => id === is.id)
      if (delivery === undefined) continue
      if (was === undefined) judge.planned([delivery])
      else if (is.lease !== undefined && is.lease !== was.lease) {
        judge.claimedOne(
          process,
          { ...delivery, lease: is.lease, leaseUntil: is.nextAt },
          is.nextAt,
        )
      } else if (is.lease === undefined && was.lease !== undefined) {
        const attempt = this.#delivery(partition, now, was)!
        judge.settledOne({ ...attempt, lease: was.lease, leaseUntil: was.nextAt }, is)
      }
    }
  }

  #deliveriesIn(partition: string, body: string): Delivery[] {
    const stored = parse<StoredDeliveries>(body)
    return stored.deliveries.flatMap((one) => this.#delivery(partition, stored, one) ?? [])
  }

  #delivery(
    partition: string,
    stored: StoredDeliveries,
    one: StoredDelivery,
  ): Delivery | undefined {
    if (one.event !== undefined) return toDelivery(stored, one, one.event)
    const body = this.#bodyOf(partition, momentRow(one.sequence ?? 0))
    const view = body === undefined ? undefined : viewOfMoment({ body })
    return view && toDelivery(stored, one, view)
  }
}

function momentsIn(written: WrittenRow[]): MomentEntry[] {
  return written
    .filter(({ row }) => row.row.startsWith('moment|'))
    .flatMap(({ row }) => {
      const logged = row.keys.filter(({ index }) => index === 'log')
      return logged.map(({ summary = '' }): MomentEntry => {
        const [id, moment, at] = JSON.parse(summary)
        return { id, notification: { moment, at, event: viewOfMoment(row)! } }
      })
    })
}

function parse<T>(body: string): T {
  return JSON.parse(body) as T
}
