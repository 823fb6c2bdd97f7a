// Rows in Azure Tables, for any number of workers. All entries of all indexes share one partition, so
// that a row costs one further call: its entries are written before it, and old ones are removed
// after. A crash may leave an entry that no row names, but never a row without its entries. Each
// entry has a name of its own, so that removing it never removes another worker's.
import { FoghornError } from '../../../shared/errors.ts'
import {
  buildRow,
  type Change,
  checkSizes,
  type Found,
  type Key,
  maxChanges,
  Positions,
  type Row,
  type Rows,
} from '../rows.ts'
import type { Entity, EntityChange, Table } from './table.ts'

/** A slow write may take this long. A younger entry that no row names may belong to it. */
const graceMs = 10 * 60_000
/** What was committed this long ago is visible to all workers. */
const usualLagMs = 5_000
const indexPartition = 'index'
/** No row has it. */
const pastEtag = `W/"datetime'2000-01-01T00%3A00%3A00.0000000Z'"`
/** How often entries of one write are written anew because they came late. */
const maxMoves = 5

/** A key, and what makes the name of its entry its own. */
interface Entry extends Key {
  name: string
}

interface FoundEntry extends Found {
  entry: string
  writtenAt: number
}

interface EntryBody {
  partition: string
  row: string
  summary?: string | undefined
  writtenAt: number
}

interface AzureOptions {
  table: Table
  /** Returns a new text at each call. */
  newId: () => string
  now: () => number
  lagMs?: number
}

export class AzureRows implements Rows {
  readonly lagMs: number
  readonly positions = new Positions()
  readonly #table: Table
  readonly #newId: () => string
  readonly #now: () => number

  constructor({ table, newId, now, lagMs = usualLagMs }: AzureOptions) {
    this.lagMs = lagMs
    this.#table = table
    this.#newId = newId
    this.#now = now
  }

  async read(partition: string, row: string): Promise<Row | undefined> {
    const found = await this.#table.read(partition, row)
    return found && toRow(partition, found)
  }

  async list(partition: string, from: string, to: string, limit?: number): Promise<Row[]> {
    const found = await this.#table.list(partition, from, to, limit)
    return found.map((one) => toRow(partition, one))
  }

  async find(index: string, from: string, to: string, limit: number): Promise<Found[]> {
    // while an entry is being replaced, or after a crash, there are two: the newer one counts
    const newest = new Map<string, FoundEntry>()
    const end = `${index}|${to}`
    for (let start = `${index}|${from}`; newest.size < limit; ) {
      const size = limit - newest.size
      const page = await this.#table.list(indexPartition, start, end, size)
      for (const one of page.map((entity) => toFound(index, entity))) {
        const name = `${one.key} ${one.partition} ${one.row}`
        if ((newest.get(name)?.writtenAt ?? 0) <= one.writtenAt) newest.set(name, one)
      }
      if (page.length < size) break
      start = `${page.at(-1)!.row} `
    }
    return [...newest.values()]
  }

  async tidy(unnamed: Found[], now: number): Promise<void> {
    const old = (unnamed as FoundEntry[]).filter(({ writtenAt }) => now - writtenAt > graceMs)
    await this.#drop(old.map(({ entry }) => entry))
  }

  async change(
    partition: string,
    changes: Change[],
    later: () => Change[] | undefined = () => undefined,
  ): Promise<Row[] | 'conflict'> {
    if (changes.length === 0) return []
    let plan = this.#planOf(partition, changes)
    /** Entries of earlier plans. */
    const passed: string[] = []
    for (let moves = 0; ; moves++) {
      await this.#add(partition, plan.added)
      const moved = later()
      if (moved === undefined) break
      passed.push(...plan.added.map(({ key }) => toEntry(key)))
      if (moves === maxMoves) {
        await this.#drop(passed)
        throw slow()
      }
      plan = this.#planOf(partition, moved)
    }
    const { writes, added, late } = plan
    const outcome = await this.#table.change(
      partition,
      writes.map(({ change }) => change),
    )
    // if an answer was lost, the client writes again and conflicts with its own row
    const etags = outcome === 'conflict' ? await this.#etagsOfOwn(partition, writes) : outcome
    if (etags === undefined) {
      await this.#drop([...passed, ...added.map(({ key }) => toEntry(key))])
      return 'conflict'
    }
    const dropped = writes.flatMap((write) => write.dropped)
    await this.#drop([...passed, ...dropped], this.#putsOf(partition, late))
    return plan.changes.map((change, i) => {
      if (change.kind === 'remove') return change.was
      const { keys } = writes[i]!
      return { partition, row: buildRow(change), body: change.body, keys, version: etags[i]! }
    })
  }

  #planOf(partition: string, changes: Change[]): Plan {
    checkSizes(partition, changes)
    const id = this.#newId()
    const writes = changes.map((change, i) => this.#writeOf(change, `${id}.${i}`, changes.length))
    const all = writes.flatMap(({ added, change }) =>
      added.map((key) => ({ key, row: change.row })),
    )
    return {
      changes,
      writes,
      added: all.filter(({ key }) => !key.mayBeLost),
      late: all.filter(({ key }) => key.mayBeLost),
    }
  }

  #writeOf(change: Change, id: string, count: number): Write {
    if (change.kind === 'remove') {
      const { row, version } = change.was
      // in a transaction, a removal cannot have a condition
      const etag = count === 1 ? { etag: version } : {}
      const removal = { kind: 'remove' as const, row, ...etag }
      return { change: removal, id, keys: [], added: [], dropped: listEntries(change.was) }
    }
    const { kind, body } = change
    const row = buildRow(change)
    if (kind === 'put') {
      return { change: { kind, row, text: `\n${body}` }, id, keys: [], added: [], dropped: [] }
    }
    const before = kind === 'replace' ? (change.was.keys as Entry[]) : []
    const known = new Map(before.map((one) => [`${one.index} ${one.key}`, one]))
    const keys = (change.keys ?? []).map((one): Entry => {
      const old = known.get(`${one.index} ${one.key}`)
      // an entry is never replaced: if this write loses, the winner's entry must be as it was
      return { ...one, name: old !== undefined && old.summary === one.summary ? old.name : id }
    })
    const names = new Set(keys.map(toEntry))
    const text = `${JSON.stringify({ id, keys })}\n${body}`
    return {
      change:
        kind === 'insert' ? { kind, row, text } : { kind, row, text, etag: change.was.version },
      id,
      keys,
      added: keys.filter(({ name }) => name === id),
      dropped: before.map(toEntry).filter((entry) => !names.has(entry)),
    }
  }

  async #add(partition: string, added: Added[]): Promise<void> {
    const puts = this.#putsOf(partition, added)
    for (let i = 0; i < puts.length; i += maxChanges) {
      const outcome = await this.#table.change(indexPartition, puts.slice(i, i + maxChanges))
      if (outcome === 'conflict') throw refused()
    }
  }

  #putsOf(partition: string, added: Added[]): EntityChange[] {
    const writtenAt = this.#now()
    return added.map(({ key, row }) => {
      const body: EntryBody = { partition, row, summary: key.summary, writtenAt }
      return { kind: 'put', row: toEntry(key), text: JSON.stringify(body) }
    })
  }

  /** Throws no error: a later reader finds that no row names the entry. */
  async #drop(entries: string[], puts: EntityChange[] = []): Promise<void> {
    const removals = entries.map((row): EntityChange => ({ kind: 'remove', row }))
    const changes = [...puts, ...removals]
    for (let i = 0; i < changes.length; i += maxChanges) {
      const some = changes.slice(i, i + maxChanges)
      try {
        const outcome = await this.#table.change(indexPartition, some)
        if (outcome !== 'conflict' || some.length === 1) continue
        // one of them is gone already
        for (const one of some) await this.#table.change(indexPartition, [one])
      } catch {
        return
      }
    }
  }

  /**
   * The etags of what was written after all, or undefined if another worker was faster. A worker that
   * has changed a row since has kept the names of our entries. Then the row is not ours any more, so
   * our next change of it must conflict.
   */
  async #etagsOfOwn(partition: string, writes: Write[]): Promise<string[] | undefined> {
    let isOwn = false
    const etags: string[] = []
    for (const { change, id } of writes) {
      const found = await this.#table.read(partition, change.row)
      const isAsWritten = change.kind !== 'remove' && found?.text === change.text
      if (change.kind === 'remove') isOwn ||= found === undefined && writes.length === 1
      else if (found !== undefined) {
        isOwn ||= isAsWritten || entriesIn(found).some(({ name }) => name === id)
      }
      etags.push(isAsWritten ? found!.etag : pastEtag)
    }
    return isOwn ? etags : undefined
  }
}

/** No condition was set, so this is a fault of the storage. */
function refused(): FoghornError {
  return new FoghornError(
    'storage_unavailable',
    'Azure Storage refused entries that nobody else has',
  )
}

function slow(): FoghornError {
  const what = 'Azure Storage took too long for a write, several times in a row'
  return new FoghornError('storage_unavailable', `${what}; the relay tries again`)
}

interface Plan {
  changes: Change[]
  writes: Write[]
  /** Entries to write before the rows, and after them. */
  added: Added[]
  late: Added[]
}

interface Added {
  key: Entry
  row: string
}

interface Write {
  change: EntityChange
  /** The names of its new entries. */
  id: string
  keys: Entry[]
  /** Entries to write before the row, and to remove after it. */
  added: Entry[]
  dropped: string[]
}

function listEntries({ keys }: Row): string[] {
  return (keys as Entry[]).map(toEntry)
}

function toEntry({ index, key, name }: Entry): string {
  return `${index}|${key}|${name}`
}

function toFound(index: string, { row: entry, text }: Entity): FoundEntry {
  const { partition, row, summary = '', writtenAt } = JSON.parse(text) as EntryBody
  const key = entry.slice(index.length + 1, entry.lastIndexOf('|'))
  return { index, key, summary, partition, row, entry, writtenAt }
}

function toRow(partition: string, entity: Entity): Row {
  const { row, text, etag } = entity
  const body = text.slice(text.indexOf('\n') + 1)
  return { partition, row, body, keys: entriesIn(entity), version: etag }
}

function entriesIn({ text }: Entity): Entry[] {
  const end = text.indexOf('\n')
  return end <= 0 ? [] : ((JSON.parse(text.slice(0, end)) as { keys?: Entry[] }).keys ?? [])
}
