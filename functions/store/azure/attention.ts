// Which events somebody has just looked at, for all workers: who looks, and whom beacons report to, are seldom the
// same. The row stands with its event, and goes with it.
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
