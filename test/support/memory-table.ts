// A table as Azure keeps it, in memory: what the rows on Azure are tried on where a real Azurite would
// take too long, and what the simulation breaks.
import type { Entity, EntityChange, Table } from '../../functions/store/azure/table.ts'
import { maxChanges } from '../../functions/store/rows.ts'
import { FoghornError } from '../../shared/errors.ts'

/** As in functions/store/azure/table.ts. */
const maxLength = 15 * 32_000

export interface Written {
  entity: Entity
  before: Entity | undefined
}

export class MemoryTable implements Table {
  readonly #partitions = new Map<string, Map<string, Entity>>()
  #versions = 0

  async read(partition: string, row: string): Promise<Entity | undefined> {
    return this.readNow(partition, row)
  }

  async list(partition: string, from: string, to: string, limit?: number): Promise<Entity[]> {
    return this.listNow(partition, from, to, limit)
  }

  async change(partition: string, changes: EntityChange[]): Promise<string[] | 'conflict'> {
    return this.changeNow(partition, changes).outcome
  }

  readNow(partition: string, row: string): Entity | undefined {
    return this.#partitions.get(partition)?.get(row)
  }

  listNow(partition: string, from: string, to: string, limit?: number): Entity[] {
    const all = [...(this.#partitions.get(partition)?.values() ?? [])]
    return all
      .filter(({ row }) => row >= from && row < to)
      .sort((a, b) => (a.row < b.row ? -1 : 1))
      .slice(0, limit)
  }

  contents(): unknown {
    const isNoted = ({ row }: Entity) => row.startsWith('own|opened')
    return [...this.#partitions].map(([name, entities]) => {
      return [name, [...entities.values()].filter((one) => !isNoted(one))]
    })
  }

  changeNow(partition: string, changes: EntityChange[]) {
    const entities = this.#partitions.get(partition) ?? new Map<string, Entity>()
    this.#partitions.set(partition, entities)
    const names = new Set(changes.map(({ row }) => row))
    const large = changes.find((change) => 'text' in change && change.text.length > maxLength)
    if (large !== undefined) throw new FoghornError('row_too_large', `row "${large.row}"`)
    if (changes.length > maxChanges || names.size < changes.length) {
      throw new Error(`no transaction takes these ${changes.length} changes of "${partition}"`)
    }
    const fits = changes.every((change) => {
      const known = entities.get(change.row)
      if (change.kind === 'insert') return known === undefined
      if (change.kind === 'put') return true
      return known !== undefined && (change.etag ?? known.etag) === known.etag
    })
    if (!fits) return { outcome: 'conflict' as const, written: [] }
    const written: Written[] = []
    const etags: string[] = []
    for (const change of changes) {
      if (change.kind === 'remove') {
        entities.delete(change.row)
        etags.push('')
      } else {
        const entity = { row: change.row, text: change.text, etag: `v${++this.#versions}` }
        written.push({ entity, before: entities.get(change.row) })
        entities.set(change.row, entity)
        etags.push(entity.etag)
      }
    }
    return { outcome: etags, written }
  }
}
