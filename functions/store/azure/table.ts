// Rows in one table of Azure Storage, by its own client. Sizes are checked here, because Azure's
// error does not name the row that is too large, and Azurite accepts it.
import {
  odata,
  RestError,
  type TableClient,
  type TableEntityResult,
  type TransactionAction,
} from '@azure/data-tables'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { type Change, maxChanges, type Range, type Row, type Rows } from './rows.ts'

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
  /** How many parts the body has, as properties `b0`, `b1` and so on. */
  parts: number
  [part: `b${number}`]: string
}

export class AzureTable implements Rows {
  readonly #client: TableClient
  readonly #limitMs: number
  #created: Promise<void> | undefined

  constructor(client: TableClient, limitMs = callMs) {
    this.#client = client
    this.#limitMs = limitMs
  }

  async read(partition: string, row: string): Promise<Row | undefined> {
    return this.#call(async (abortSignal) => {
      try {
        return toRow(await this.#client.getEntity<Stored>(partition, row, { abortSignal }))
      } catch (error) {
        if (missing.includes(codeOf(error) ?? '')) return undefined
        throw error
      }
    })
  }

  async list(partition: string, { from, to, limit }: Range): Promise<Row[]> {
    const filter = odata`PartitionKey eq ${partition} and RowKey ge ${from} and RowKey lt ${to}`
    return this.#call(async (abortSignal) => {
      const rows: Row[] = []
      const options = { queryOptions: { filter }, abortSignal }
      const pages = this.#client
        .listEntities<Stored>(options)
        .byPage({ maxPageSize: Math.min(1_000, limit ?? 1_000) })
      for await (const page of pages) {
        rows.push(...page.map(toRow))
        if (limit !== undefined && rows.length >= limit) return rows.slice(0, limit)
      }
      return rows
    })
  }

  async change(partition: string, changes: Change[]): Promise<string[] | 'conflict'> {
    if (changes.length === 0) return []
    if (changes.length > maxChanges) {
      const what = `${changes.length} changes in partition "${partition}"`
      throw new FoghornError('row_too_large', `${what}; a transaction holds ${maxChanges}`)
    }
    const actions = changes.map((change) => actionOf(partition, change))
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
        if (conflicts.includes(codeOf(error) ?? '')) return 'conflict'
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
        if (codeOf(error) !== 'TableNotFound') throw error
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

function codeOf(error: unknown): string | undefined {
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
    const what = `Azure Storage refused access to "${resource}" (${codeOf(error)})`
    return new FoghornError('storage_forbidden', `${what}; ${remedy}`)
  }
  if (error instanceof RestError) {
    const what = `Azure Storage answered ${error.statusCode ?? 'nothing'} for "${resource}"`
    const code = codeOf(error) ?? 'no code'
    return new FoghornError('storage_unavailable', `${what}: ${code}; ${waitAndSee}`)
  }
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
    const what = `Azure Storage did not answer for "${resource}" within ${limitMs / 1_000} s`
    return new FoghornError('storage_unavailable', `${what}; ${waitAndSee}`)
  }
  return error instanceof Error ? error : new Error(messageOf(error))
}

function toRow(entity: TableEntityResult<Stored>): Row {
  const parts = Array.from({ length: entity.parts }, (_, i) => entity[`b${i}`] ?? '')
  return { row: entity.rowKey!, body: parts.join(''), etag: entity.etag }
}

function actionOf(partition: string, change: Change): TransactionAction {
  const key = { partitionKey: partition, rowKey: change.row }
  if (change.kind === 'remove') return ['delete', key]
  const entity = { ...key, ...toStored(partition, change) }
  if (change.kind === 'insert') return ['create', entity]
  if (change.kind === 'put') return ['upsert', entity, 'Replace']
  return ['update', entity, 'Replace', { etag: change.etag }]
}

function toStored(partition: string, { row, body }: { row: string; body: string }): Stored {
  const stored: Stored = { parts: 0 }
  for (let from = 0; from < body.length; stored.parts++) {
    const to = endOfPart(body, from)
    stored[`b${stored.parts}`] = body.slice(from, to)
    from = to
  }
  if (stored.parts <= maxParts) return stored
  const what = `row "${row}" of partition "${partition}" has ${body.length} characters`
  throw new FoghornError('row_too_large', `${what}; a row holds about ${maxParts * partLength}`)
}

/** Does not split a surrogate pair. */
function endOfPart(body: string, from: number): number {
  const to = from + partLength
  const next = body.charCodeAt(to)
  return next >= 0xdc00 && next <= 0xdfff ? to - 1 : to
}

function guardTransaction(partition: string, changes: Change[]): void {
  const bodies = changes.map((change) => ('body' in change ? JSON.stringify(change.body) : ''))
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body) + aroundEntityBytes, 0)
  if (bytes <= maxTransactionBytes) return
  const what = `a transaction in partition "${partition}" has ${bytes} bytes`
  throw new FoghornError('row_too_large', `${what}; it holds ${maxTransactionBytes}`)
}
