// Opens the storage account of the function app, with the app's identity or, on a developer's
// machine, a connection string. The settings are those of the Functions host itself.
import { TableClient } from '@azure/data-tables'
import type { TokenCredential } from '@azure/identity'
import type { QueueClient } from '@azure/storage-queue'
import { FoghornError } from '../../../shared/errors.ts'
import { AzureTable, explain } from '../../store/azure/table.ts'
import type { Environment } from '../settings.ts'

const tableName = 'foghorn'
export const queueName = 'foghorn-wake'
/** Azure moves messages here that failed `maxDequeueCount` times, and chose this name. */
export const poisonQueueName = `${queueName}-poison`
/** The prefix of the settings, and the connection of the queue trigger. */
export const connectionName = 'AzureWebJobsStorage'

/** After this time a wake-up is useless: the timer has run many times. */
const messageLifeSeconds = 600
const callMs = 10_000
/** The client's own retries, short enough to end within `callMs`. */
const retryOptions = { maxRetries: 3, retryDelayInMs: 100, maxRetryDelayInMs: 1_000 }

type StorageSettings =
  | { kind: 'connection'; connection: string }
  | { kind: 'identity'; tables: string; queues: string; clientId: string | undefined }

/** Does not connect yet. Throws FoghornError `storage_unset` or `storage_invalid`. */
export function openStorage(environment: Environment): { table: AzureTable; queue: WakeQueue } {
  const settings = readStorage(environment)
  try {
    return { table: openTable(settings), queue: new WakeQueue(settings) }
  } catch {
    // replaces the error of the client, which does not name the setting
    const remedy =
      settings.kind === 'connection'
        ? `${connectionName} is not a connection string for tables and queues; copy it from ` +
          'the storage account ("Access keys"), or write "UseDevelopmentStorage=true" for Azurite'
        : `${connectionName}__accountName, __tableServiceUri or __queueServiceUri is not valid; ` +
          'accountName is the name of the storage account, the others are whole addresses'
    throw new FoghornError('storage_invalid', remedy)
  }
}

function readStorage(environment: Environment): StorageSettings {
  const connection = environment[connectionName]
  if (connection) return { kind: 'connection', connection }
  const setting = (name: string) => environment[`${connectionName}__${name}`]
  const account = setting('accountName')
  const tables =
    setting('tableServiceUri') ?? (account && `https://${account}.table.core.windows.net`)
  const queues =
    setting('queueServiceUri') ?? (account && `https://${account}.queue.core.windows.net`)
  if (tables && queues) return { kind: 'identity', tables, queues, clientId: setting('clientId') }
  throw new FoghornError(
    'storage_unset',
    `neither ${connectionName}__accountName nor ${connectionName} is set; on Azure, set ` +
      `${connectionName}__accountName to the name of the storage account; locally, set ` +
      `${connectionName} to a connection string`,
  )
}

function openTable(settings: StorageSettings): AzureTable {
  if (settings.kind === 'identity') {
    const credential = identity(settings.clientId)
    return new AzureTable(new TableClient(settings.tables, tableName, credential, { retryOptions }))
  }
  const options = { allowInsecureConnection: true, retryOptions }
  return new AzureTable(TableClient.fromConnectionString(settings.connection, tableName, options))
}

export class WakeQueue {
  readonly #settings: StorageSettings
  #opened: Promise<Queues> | undefined

  constructor(settings: StorageSettings) {
    this.#settings = settings
  }

  /** Loads the library with the first use: few requests need it, and none needs it to start. */
  #open(): Promise<Queues> {
    this.#opened ??= openQueues(this.#settings)
    return this.#opened
  }

  /** Queues a message for the `wake` function after `delayMs`, rounded up to seconds. */
  async set(delayMs: number): Promise<void> {
    const visibilityTimeout = Math.ceil(delayMs / 1_000)
    const messageTimeToLive = visibilityTimeout + messageLifeSeconds
    await this.#call(async ({ queue }) => {
      const send = () =>
        queue.sendMessage(wakeMessage, { ...limit(), visibilityTimeout, messageTimeToLive })
      try {
        await send()
      } catch (error) {
        if ((error as { code?: string }).code !== 'QueueNotFound') throw error
        await queue.createIfNotExists(limit())
        await send()
      }
    })
  }

  /** About how many messages failed for good. */
  async poisoned(): Promise<number> {
    return this.#call(async ({ poison }) => {
      if (!(await poison.exists(limit()))) return 0
      return (await poison.getProperties(limit())).approximateMessagesCount ?? 0
    })
  }

  async #call<T>(run: (queues: Queues) => Promise<T>): Promise<T> {
    const queues = await this.#open()
    try {
      return await run(queues)
    } catch (error) {
      throw explain(error, queueName, callMs)
    }
  }
}

interface Queues {
  queue: QueueClient
  poison: QueueClient
}

async function openQueues(settings: StorageSettings): Promise<Queues> {
  const { QueueClient } = await import('@azure/storage-queue')
  const options = { retryOptions: queueRetries }
  const open = (name: string) => {
    if (settings.kind === 'connection') return new QueueClient(settings.connection, name, options)
    const url = `${settings.queues.replace(/\/$/, '')}/${name}`
    return new QueueClient(url, identity(settings.clientId), options)
  }
  return { queue: open(queueName), poison: open(poisonQueueName) }
}

const wakeMessage = JSON.stringify({ wake: 1 })

/** Whether the relay sent a message of the queue. The host has parsed it. */
export function isWakeMessage(message: unknown): boolean {
  return JSON.stringify(message) === wakeMessage
}

const queueRetries = {
  maxTries: 3,
  tryTimeoutInMs: 3_000,
  retryDelayInMs: 100,
  maxRetryDelayInMs: 1_000,
}

function limit() {
  return { abortSignal: AbortSignal.timeout(callMs) }
}

/** Loads the library with the first token: it is large, and not needed without an identity. */
function identity(clientId: string | undefined): TokenCredential {
  let loaded: Promise<TokenCredential> | undefined
  const load = async () => {
    const { ManagedIdentityCredential } = await import('@azure/identity')
    return clientId === undefined
      ? new ManagedIdentityCredential()
      : new ManagedIdentityCredential({ clientId })
  }
  return {
    async getToken(scopes, options) {
      loaded ??= load()
      return (await loaded).getToken(scopes, options)
    },
  }
}
