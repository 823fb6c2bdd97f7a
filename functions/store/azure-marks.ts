// Marks of channels in trouble: a row for each, all in one partition. An answer that never came may have been a
// success, so who wrote a row knows its own.
import type { Mark, Outage } from '../core/outage.ts'
import { keyOf } from './azure-keys.ts'
import type { Row, Rows } from './azure-rows.ts'

export const marksPartition = keyOf('marks')

export class Marks {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async all(): Promise<Mark[]> {
    return (await this.#rows.list(marksPartition, { from: '', to: '~' })).map(toMark)
  }

  async write(channel: string, outage: Outage, basedOn: number) {
    const row = keyOf(channel)
    const found = await this.#rows.read(marksPartition, row)
    if ((found && toMark(found).version) !== (basedOn || undefined)) return 'conflict'
    const mark: Mark = { version: basedOn + 1, channel, outage }
    const body = JSON.stringify(mark)
    const change =
      found === undefined
        ? { kind: 'insert' as const, row, body }
        : { kind: 'replace' as const, row, body, etag: found.etag }
    if ((await this.#rows.change(marksPartition, [change])) === 'changed') return 'written'
    return (await this.#rows.read(marksPartition, row))?.body === body ? 'written' : 'conflict'
  }
}

function toMark({ body }: Row): Mark {
  return JSON.parse(body) as Mark
}
