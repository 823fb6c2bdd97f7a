// The table of a world: as Azure Tables keeps it, in memory. Each call takes its time, before and after
// it takes effect, and the process may end in either: what it had begun to write stays as far as it
// came. The answer to a write may be lost, and the client then writes again by itself, as Azure's does.
import type { Entity, EntityChange, Table } from '../../functions/store/azure/table.ts'
import type { Together } from '../../functions/store/parts.ts'
import type { Key } from '../../functions/store/rows.ts'
import { MemoryTable, type Written } from '../support/memory-table.ts'
import type { Caller } from './followers.ts'
import type { Judge } from './judge.ts'
import type { Kernel, Process } from './kernel.ts'
import { RowWatch, type WrittenRow } from './row-watch.ts'

/** A call of the store makes about so many of the table. */
const callsEach = 6

export class WorldTable {
  readonly plain = new MemoryTable()
  readonly #watch = new RowWatch((partition, row) => {
    const found = this.plain.readNow(partition, row)
    return found && bodyOf(found)
  })

  viewOf(worker: Caller, judge: Judge): Table {
    const { plain } = this
    const step = async <T>(call: () => T): Promise<T> => {
      await worker.step(1 / callsEach)
      const result = call()
      await worker.step(1 / callsEach)
      return result
    }
    return {
      read: (partition, row) => step(() => plain.readNow(partition, row)),
      list: (...range) => step(() => plain.listNow(...range)),
      change: (partition, changes) =>
        step(() => {
          const { outcome, written } = plain.changeNow(partition, changes)
          if (outcome !== 'conflict')
            this.#tell(judge, worker.process.name, partition, changes, written)
          return worker.losesAnswer() ? plain.changeNow(partition, changes).outcome : outcome
        }),
    }
  }

  #tell(
    judge: Judge,
    process: string,
    partition: string,
    changes: EntityChange[],
    written: Written[],
  ): void {
    const rows = written.map(({ entity, before }): WrittenRow => {
      const row = { row: entity.row, body: bodyOf(entity), keys: keysOf(entity) }
      return { row, before: before && bodyOf(before) }
    })
    const removed = changes.filter(({ kind }) => kind === 'remove').map(({ row }) => row)
    this.#watch.tell(judge, process, partition, rows, removed)
  }
}

function bodyOf({ text }: Entity): string {
  return text.slice(text.indexOf('\n') + 1)
}

function keysOf({ text }: Entity): Key[] {
  const end = text.indexOf('\n')
  return end <= 0 ? [] : (JSON.parse(text.slice(0, end)) as { keys: Key[] }).keys
}

/** Several tasks of one process, each with its own waits. */
export function togetherIn(kernel: Kernel, process: Process): Together {
  return async <T>(works: (() => Promise<T>)[]) => {
    if (works.length === 0) return []
    const results: T[] = []
    const errors: unknown[] = []
    let left = works.length
    await kernel.park<void>(process, (resume) => {
      for (const [i, work] of works.entries()) {
        kernel.spawn(process, async () => {
          try {
            results[i] = await work()
          } catch (error) {
            errors.push(error)
          }
          left -= 1
          if (left === 0) resume()
        })
      }
    })
    if (errors.length > 0) throw errors[0]
    return results
  }
}
