// What stands in channels that are edited: a row for each epoch and channel in the partition of its event, with
// which it goes. An answer that never came may have been a success, so who wrote a row knows its own.
import type { Post, PostKey, PostState } from '../core/post.ts'
import { keyOf } from './azure-keys.ts'
import type { Rows } from './azure-rows.ts'
import { eventPartition } from './azure-stored.ts'

export class Posts {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async read(key: PostKey): Promise<Post | undefined> {
    return (await this.#find(key))?.post
  }

  async write(key: PostKey, state: PostState, basedOn: number): Promise<'written' | 'conflict'> {
    const row = rowOf(key)
    const found = await this.#find(key)
    if ((found?.post.version ?? 0) !== basedOn) return 'conflict'
    const body = JSON.stringify({ version: basedOn + 1, state } satisfies Post)
    const change =
      found === undefined
        ? { kind: 'insert' as const, row, body }
        : { kind: 'replace' as const, row, body, etag: found.etag }
    if ((await this.#rows.change(eventPartition(key), [change])) === 'changed') return 'written'
    return (await this.#find(key))?.body === body ? 'written' : 'conflict'
  }

  async #find(key: PostKey) {
    const row = await this.#rows.read(eventPartition(key), rowOf(key))
    return row && { post: JSON.parse(row.body) as Post, body: row.body, etag: row.etag }
  }
}

function rowOf({ epoch, channel }: PostKey): string {
  return keyOf('post', epoch, channel)
}
