// Marks of channels in trouble: a row for each, all in one partition. An answer that never came may have been a
// success, so who wrote a row knows its own.
import type { ChannelHealth, HealthRow } from '../core/outage.ts'
import { keyOf } from './azure-keys.ts'
import type { Row, Rows } from './azure-rows.ts'

export const marksPartition = keyOf('marks')

export class Marks {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async all(): Promise<HealthRow[]> {
    return (await this.#rows.list(marksPartition, { from: '', to: '~' })).map(toMark)
  }

  async write(channel: string, health: ChannelHealth, basedOn: number) {
    const row = keyOf(channel)
    const found = await this.#rows.read(marksPartition, row)
    if ((found && toMark(found).version) !== (basedOn || undefined)) return 'conflict'
    const mark: HealthRow = { version: basedOn + 1, channel, health }
    const body = JSON.stringify(mark)
    const change =
      found === undefined
        ? { kind: 'insert' as const, row, body }
        : { kind: 'replace' as const, row, body, etag: found.etag }
    if ((await this.#rows.change(marksPartition, [change])) === 'changed') return 'written'
    return (await this.#rows.read(marksPartition, row))?.body === body ? 'written' : 'conflict'
  }
}

function toMark({ body }: Row): HealthRow {
  return JSON.parse(body) as HealthRow
}
