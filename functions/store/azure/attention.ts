// Which event pages were opened lately, for all workers: the worker that shows a page is seldom the
// one that beacons report to. The row is in the event's partition and is removed with it.
import { type Attention, attentionMs } from '../attention.ts'
import type { EventKey } from '../store.ts'
import type { Rows } from './rows.ts'
import { eventPartition } from './stored.ts'

const row = 'opened'

export class AzureAttention implements Attention {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async note(key: EventKey, now: number): Promise<void> {
    const body = JSON.stringify({ openedAt: now })
    await this.#rows.change(eventPartition(key), [{ kind: 'put', row, body }])
  }

  async isOn(key: EventKey, now: number): Promise<boolean> {
    const found = await this.#rows.read(eventPartition(key), row)
    if (found === undefined) return false
    const { openedAt } = JSON.parse(found.body) as { openedAt: number }
    return now - openedAt < attentionMs
  }
}
