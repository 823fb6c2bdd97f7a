// Joins changes of one partition into one transaction: those of one moment, and those that come
// while another transaction of the partition is under way. So many reports at once need few calls.
// A conflict of one change refuses all, so then each is made for itself.
import { FoghornError } from '../../../shared/errors.ts'
import { maxChanges } from '../rows.ts'
import type { Entity, EntityChange, Table } from './table.ts'

/** Characters of one transaction: stays below 4 MiB even if each character takes three bytes. */
const maxLength = 1_000_000
/** A transaction that takes longer no longer holds up the next one. */
const patienceMs = 1_000

type Outcome = Awaited<ReturnType<Table['change']>>

/** The changes of one caller: all or nothing. */
interface Unit {
  changes: EntityChange[]
  resolve: (outcome: Outcome) => void
  reject: (error: unknown) => void
}

export class JoinedTable implements Table {
  readonly #table: Table
  readonly #wait: (ms: number) => Promise<void>
  readonly #reads = new Map<string, Promise<Entity | undefined>>()
  /** Changes that wait, by partition. A partition has an entry while its changes are being made. */
  readonly #queues = new Map<string, Unit[]>()

  constructor(table: Table, wait: (ms: number) => Promise<void>) {
    this.#table = table
    this.#wait = wait
  }

  /** Callers of one moment share a call, which begins after all of them have asked. */
  read(partition: string, row: string): Promise<Entity | undefined> {
    const name = JSON.stringify([partition, row])
    const known = this.#reads.get(name)
    if (known !== undefined) return known
    const read = Promise.resolve().then(() => {
      this.#reads.delete(name)
      return this.#table.read(partition, row)
    })
    this.#reads.set(name, read)
    return read
  }

  list(partition: string, from: string, to: string, limit?: number) {
    return this.#table.list(partition, from, to, limit)
  }

  change(partition: string, changes: EntityChange[]): Promise<Outcome> {
    // in a transaction, a removal cannot have a condition on the version
    const isAlone = changes.some((one) => one.kind === 'remove' && one.etag !== undefined)
    if (isAlone || changes.length === 0) return this.#table.change(partition, changes)
    return new Promise((resolve, reject) => {
      const unit = { changes, resolve, reject }
      const queue = this.#queues.get(partition)
      if (queue !== undefined) queue.push(unit)
      else {
        const own = [unit]
        this.#queues.set(partition, own)
        void this.#work(partition, own)
      }
    })
  }

  async #work(partition: string, queue: Unit[]): Promise<void> {
    // other changes of the same moment join
    await null
    while (queue.length > 0) {
      const sent = this.#send(partition, takeTogether(queue))
      await Promise.race([sent, this.#wait(patienceMs)])
    }
    this.#queues.delete(partition)
  }

  /** Throws no error: each caller gets its own outcome. */
  async #send(partition: string, units: Unit[]): Promise<void> {
    const [first] = units as [Unit]
    if (units.length === 1) return this.#sendOne(partition, first)
    const all = units.flatMap(({ changes }) => changes)
    try {
      const outcome = await this.#table.change(partition, all)
      if (outcome !== 'conflict') {
        let from = 0
        for (const { changes, resolve } of units) {
          resolve(outcome.slice(from, from + changes.length))
          from += changes.length
        }
        return
      }
    } catch (error) {
      const isOutage = error instanceof FoghornError && error.code !== 'row_too_large'
      if (isOutage) {
        for (const { reject } of units) reject(error)
        return
      }
    }
    await Promise.all(units.map((unit) => this.#sendOne(partition, unit)))
  }

  #sendOne(partition: string, { changes, resolve, reject }: Unit): Promise<void> {
    return this.#table.change(partition, changes).then(resolve, reject)
  }
}

/** Removes the first units that fit into one transaction, at least one. Each row is changed once. */
function takeTogether(queue: Unit[]): Unit[] {
  const rows = new Set<string>()
  let length = 0
  let count = 0
  for (const { changes } of queue) {
    length += changes.reduce((sum, one) => sum + ('text' in one ? one.text.length : 0), 0)
    const fits = rows.size + changes.length <= maxChanges && length <= maxLength
    if (count > 0 && !(fits && changes.every(({ row }) => !rows.has(row)))) break
    for (const { row } of changes) rows.add(row)
    count += 1
  }
  return queue.splice(0, count)
}
