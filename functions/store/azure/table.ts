// Texts in one table of Azure Storage, by its own client. Sizes are checked here, because Azure's
// error does not name the entity that is too large, and Azurite accepts it.
import {
  odata,
  RestError,
  type TableClient,
  type TableEntityResult,
  type TransactionAction,
} from '@azure/data-tables'
import { FoghornError, messageOf } from '../../../shared/errors.ts'

export interface Entity {
  row: string
  text: string
  /** Identifies this version of the entity. */
  etag: string
}

export type EntityChange =
  /** The entity must not exist. */
  | { kind: 'insert'; row: string; text: string }
  /** The entity must still have this version. */
  | { kind: 'replace'; row: string; text: string; etag: string }
  /** Writes the entity in any case. */
  | { kind: 'put'; row: string; text: string }
  /** The entity must exist, and have this version if `etag` is set. */
  | { kind: 'remove'; row: string; etag?: string }

/** What the rows on Azure need of a table. It is small, so that the simulation can replace it. */
export interface Table {
  read(partition: string, row: string): Promise<Entity | undefined>
  /** Lists rows from `from` to before `to`, in order, at most `limit`. */
  list(partition: string, from: string, to: string, limit?: number): Promise<Entity[]>
  /**
   * Makes all changes or none: at most 100, each entity once. `conflict` if an entity does not meet
   * the condition of its change, else the new etag of each, '' for a removed one.
   */
  change(partition: string, changes: EntityChange[]): Promise<string[] | 'conflict'>
}

/**
 * A text property holds 64 KiB of UTF-16:
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 */
const partLength = 32_000
/** An entity holds 1 MiB. This leaves room for its names and keys. */
const maxParts = 15
/** A transaction holds 4 MiB of UTF-8, including about `aroundEntityBytes` around each entity. */
const maxTransactionBytes = 4 * 1024 * 1024
const aroundEntityBytes = 2_048
/** Limit of one call, including the client's own retries. */
const callMs = 15_000

interface Stored {
  /** How many parts the text has, as properties `b0`, `b1` and so on. */
  parts: number
  [part: `b${number}`]: string
}

export class AzureTable implements Table {
  readonly #client: TableClient
  readonly #limitMs: number
  #created: Promise<void> | undefined

  constructor(client: TableClient, limitMs = callMs) {
    this.#client = client
    this.#limitMs = limitMs
  }

  async read(partition: string, row: string): Promise<Entity | undefined> {
    return this.#call(async (abortSignal) => {
      try {
        return toEntity(await this.#client.getEntity<Stored>(partition, row, { abortSignal }))
      } catch (error) {
        if (missing.includes(readCode(error) ?? '')) return undefined
        throw error
      }
    })
  }

  async list(partition: string, from: string, to: string, limit?: number): Promise<Entity[]> {
    const filter = odata`PartitionKey eq ${partition} and RowKey ge ${from} and RowKey lt ${to}`
    return this.#call(async (abortSignal) => {
      const rows: Entity[] = []
      const options = { queryOptions: { filter }, abortSignal }
      const pages = this.#client
        .listEntities<Stored>(options)
        .byPage({ maxPageSize: Math.min(1_000, limit ?? 1_000) })
      for await (const page of pages) {
        rows.push(...page.map(toEntity))
        if (limit !== undefined && rows.length >= limit) return rows.slice(0, limit)
      }
      return rows
    })
  }

  async change(partition: string, changes: EntityChange[]): Promise<string[] | 'conflict'> {
    if (changes.length === 0) return []
    const actions = changes.map((change) => toAction(partition, change))
    guardTransaction(partition, changes)
    return this.#call(async (abortSignal) => {
      try {
        const [only] = changes
        if (changes.length === 1 && only?.kind === 'remove') {
          // in a transaction, a removal cannot have a condition on the version
          await this.#client.deleteEntity(partition, only.row, {
            etag: only.etag ?? '*',
            abortSignal,
          })
          return ['']
        }
        const { subResponses } = await this.#client.submitTransaction(actions, { abortSignal })
        return changes.map((_, i) => subResponses[i]?.etag ?? '')
      } catch (error) {
        if (conflicts.includes(readCode(error) ?? '')) return 'conflict'
        throw error
      }
    })
  }

  /** Runs a call. If the table does not exist, creates it and runs the call again. */
  async #call<T>(run: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      try {
        return await run(AbortSignal.timeout(this.#limitMs))
      } catch (error) {
        if (readCode(error) !== 'TableNotFound') throw error
        await this.#create()
        return await run(AbortSignal.timeout(this.#limitMs))
      }
    } catch (error) {
      throw explain(error, this.#client.tableName, this.#limitMs)
    }
  }

  async #create(): Promise<void> {
    const create = () => {
      return this.#client.createTable({ abortSignal: AbortSignal.timeout(this.#limitMs) })
    }
    this.#created ??= create().finally(() => {
      this.#created = undefined
    })
    await this.#created
  }
}

/**
 * Azure documents the first and answers the second:
 * https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes
 */
const missing = ['EntityNotFound', 'ResourceNotFound']
const conflicts = ['UpdateConditionNotSatisfied', 'EntityAlreadyExists', ...missing]

function readCode(error: unknown): string | undefined {
  if (!(error instanceof RestError)) return undefined
  // errors of calls outside a transaction have their code in `details`
  const details = error.details as { odataError?: { code?: string } } | undefined
  return error.code ?? details?.odataError?.code
}

const waitAndSee =
  'the relay retries, and loses no report that it accepted; if this goes on, check the ' +
  'availability and throttling of the storage account'

/** Names the remedy, and leaves out the request and its headers. */
export function explain(error: unknown, resource: string, limitMs: number): Error {
  if (error instanceof FoghornError) return error
  if (error instanceof RestError && (error.statusCode === 403 || error.statusCode === 401)) {
    const remedy =
      'give the identity of the relay the roles "Storage Table Data Contributor" and "Storage Queue ' +
      'Data Contributor" on the storage account; a new role takes up to 10 minutes'
    const what = `Azure Storage refused access to "${resource}" (${readCode(error)})`
    return new FoghornError('storage_forbidden', `${what}; ${remedy}`)
  }
  if (error instanceof RestError) {
    const what = `Azure Storage answered ${error.statusCode ?? 'nothing'} for "${resource}"`
    const code = readCode(error) ?? 'no code'
    return new FoghornError('storage_unavailable', `${what}: ${code}; ${waitAndSee}`)
  }
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
    const what = `Azure Storage did not answer for "${resource}" within ${limitMs / 1_000} s`
    return new FoghornError('storage_unavailable', `${what}; ${waitAndSee}`)
  }
  return error instanceof Error ? error : new Error(messageOf(error))
}

function toEntity(entity: TableEntityResult<Stored>): Entity {
  const parts = Array.from({ length: entity.parts }, (_, i) => entity[`b${i}`] ?? '')
  return { row: entity.rowKey!, text: parts.join(''), etag: entity.etag }
}

function toAction(partition: string, change: EntityChange): TransactionAction {
  const key = { partitionKey: partition, rowKey: change.row }
  if (change.kind === 'remove') return ['delete', key]
  const entity = { ...key, ...toStored(partition, change) }
  if (change.kind === 'insert') return ['create', entity]
  if (change.kind === 'put') return ['upsert', entity, 'Replace']
  return ['update', entity, 'Replace', { etag: change.etag }]
}

function toStored(partition: string, { row, text }: { row: string; text: string }): Stored {
  const stored: Stored = { parts: 0 }
  for (let from = 0; from < text.length; stored.parts++) {
    const to = endOfPart(text, from)
    stored[`b${stored.parts}`] = text.slice(from, to)
    from = to
  }
  if (stored.parts <= maxParts) return stored
  const what = `row "${row}" of partition "${partition}" has ${text.length} characters`
  throw new FoghornError('row_too_large', `${what}; a row holds about ${maxParts * partLength}`)
}

/** Does not split a surrogate pair. */
function endOfPart(text: string, from: number): number {
  const to = from + partLength
  const next = text.charCodeAt(to)
  return next >= 0xdc00 && next <= 0xdfff ? to - 1 : to
}

function guardTransaction(partition: string, changes: EntityChange[]): void {
  const bodies = changes.map((change) => ('text' in change ? JSON.stringify(change.text) : ''))
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body) + aroundEntityBytes, 0)
  if (bytes <= maxTransactionBytes) return
  const what = `a transaction in partition "${partition}" has ${bytes} bytes`
  throw new FoghornError('row_too_large', `${what}; it holds ${maxTransactionBytes}`)
}
