// Memos, one row each. The memo of an event is in the event's partition and is removed with it. The
// other memos of one kind share a partition.
import type { Memo, MemoKey, MemoKind } from '../store.ts'
import { keyOf } from './keys.ts'
import { changeOwn, insertOrReplace, type Row, type Rows } from './rows.ts'
import { eventPartition } from './stored.ts'

export class Memos {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async read(key: MemoKey): Promise<Memo | undefined> {
    const { partition, row } = placeOf(key)
    const found = await this.#rows.read(partition, row)
    return found && toMemo(found)
  }

  async list(kind: MemoKind): Promise<Memo[]> {
    return (await this.#rows.list(listPartition(kind), { from: '', to: '~' })).map(toMemo)
  }

  async write(key: MemoKey, fields: object, basedOn: number): Promise<'written' | 'conflict'> {
    const { partition, row } = placeOf(key)
    const found = await this.#rows.read(partition, row)
    if ((found ? toMemo(found).version : 0) !== basedOn) return 'conflict'
    const body = JSON.stringify({ version: basedOn + 1, ...fields })
    const change = insertOrReplace(found, row, body)
    const etag = await changeOwn(this.#rows, partition, change)
    return etag === undefined ? 'conflict' : 'written'
  }

  async remove(key: MemoKey): Promise<void> {
    const { partition, row } = placeOf(key)
    // a conflict means that the row is not there
    await this.#rows.change(partition, [{ kind: 'remove', row }])
  }
}

export function listPartition(kind: MemoKind): string {
  return keyOf(kind)
}

function placeOf({ kind, event, name }: MemoKey): { partition: string; row: string } {
  if (event === undefined) return { partition: listPartition(kind), row: keyOf(...name) }
  return { partition: eventPartition(event), row: keyOf(kind, ...name) }
}

function toMemo({ body }: Row): Memo {
  return JSON.parse(body) as Memo
}
