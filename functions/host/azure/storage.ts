// Opens the storage account of the function app, with the app's identity or, on a developer's
// machine, a connection string. The settings are those of the Functions host itself.
import { TableClient } from '@azure/data-tables'
import type { TokenCredential } from '@azure/identity'
import { QueueClient } from '@azure/storage-queue'
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
export function openStorage(environment: Environment): { rows: AzureTable; queue: WakeQueue } {
  const settings = readStorage(environment)
  try {
    return { rows: openTable(settings), queue: new WakeQueue(settings) }
  } catch {
    // replaces the error of the client, which does not name the setting
    const remedy =
      settings.kind === 'connection'
        ? `${connectionName} is not a connection string for tables and queues; copy it from ` +
          'the storage account ("Access keys"), or write "UseDevelopmentStorage=true" for Azurite'
        : `${connectionName}__accountName, __tableServiceUri or __queueServiceUri is not valid; ` +
          'set the first to the name of the storage account, or the others to whole addresses'
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
    `neither ${connectionName}__accountName nor ${connectionName} is set; set the first to the ` +
      'name of the storage account, or, for local use, the second to a connection string',
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
  readonly #queue: QueueClient
  readonly #poison: QueueClient

  constructor(settings: StorageSettings) {
    const open = (name: string) =>
      settings.kind === 'connection'
        ? new QueueClient(settings.connection, name, { retryOptions: queueRetries })
        : new QueueClient(
            `${settings.queues.replace(/\/$/, '')}/${name}`,
            identity(settings.clientId),
            {
              retryOptions: queueRetries,
            },
          )
    this.#queue = open(queueName)
    this.#poison = open(poisonQueueName)
  }

  /** Queues a message for the `wake` function after `delayMs`, rounded up to seconds. */
  async set(delayMs: number): Promise<void> {
    const visibilityTimeout = Math.ceil(delayMs / 1_000)
    const messageTimeToLive = visibilityTimeout + messageLifeSeconds
    const send = () =>
      this.#queue.sendMessage(wakeMessage, { ...limit(), visibilityTimeout, messageTimeToLive })
    await this.#call(async () => {
      try {
        await send()
      } catch (error) {
        if ((error as { code?: string }).code !== 'QueueNotFound') throw error
        await this.#queue.createIfNotExists(limit())
        await send()
      }
    })
  }

  /** About how many messages failed for good. */
  async poisoned(): Promise<number> {
    return this.#call(async () => {
      if (!(await this.#poison.exists(limit()))) return 0
      return (await this.#poison.getProperties(limit())).approximateMessagesCount ?? 0
    })
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw explain(error, queueName, callMs)
    }
  }
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
