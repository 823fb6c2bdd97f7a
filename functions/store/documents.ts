// Small objects that workers replace by compare-and-set, one row each. That of an event is in the
// event's partition and is removed with it. The others of one kind share a partition.
import { eventPartition, keyOf } from './keys.ts'
import { insertOrReplace, type Row, type Rows } from './rows.ts'
import type { Memo, MemoKey, MemoKind } from './store.ts'

export class Documents {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async read(key: MemoKey): Promise<Memo | undefined> {
    const row = await this.#row(key)
    return row && toMemo(row)
  }

  async list(kind: MemoKind): Promise<Memo[]> {
    return (await this.#rows.list(keyOf(kind), '', '~')).map(toMemo)
  }

  async write(key: MemoKey, fields: object, basedOn: number): Promise<'written' | 'conflict'> {
    const row = await this.#row(key)
    if ((row === undefined ? 0 : toMemo(row).version) !== basedOn) return 'conflict'
    const { partition, name } = placeOf(key)
    const body = JSON.stringify({ version: basedOn + 1, ...fields })
    const written = await this.#rows.change(partition, [insertOrReplace(row, name, body)])
    return written === 'conflict' ? 'conflict' : 'written'
  }

  async remove(key: MemoKey): Promise<void> {
    for (;;) {
      const was = await this.#row(key)
      if (was === undefined) return
      const removed = await this.#rows.change(was.partition, [{ kind: 'remove', was }])
      if (removed !== 'conflict') return
    }
  }

  #row(key: MemoKey): Promise<Row | undefined> {
    const { partition, name } = placeOf(key)
    return this.#rows.read(partition, name)
  }
}

function placeOf({ kind, event, name }: MemoKey): { partition: string; name: string } {
  if (event === undefined) return { partition: keyOf(kind), name: keyOf(...name) }
  return { partition: eventPartition(event), name: keyOf('own', kind, ...name) }
}

function toMemo({ body }: Row): Memo {
  return JSON.parse(body) as Memo
}
