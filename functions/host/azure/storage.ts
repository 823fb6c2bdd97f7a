// The storage account of the function app: by the app's identity, or by a connection string on a developer's
// machine. The settings are those that the Functions host itself uses.
import { TableClient } from '@azure/data-tables'
import type { TokenCredential } from '@azure/identity'
import { QueueClient } from '@azure/storage-queue'
import { FoghornError } from '../../../shared/errors.ts'
import { AzureTable, explain } from '../../store/azure/table.ts'
import type { Environment } from '../settings.ts'

const tableName = 'foghorn'
export const queueName = 'foghorn-wake'
/** Azure's own name for where messages go that failed `maxDequeueCount` times. */
export const poisonQueueName = `${queueName}-poison`
/** Prefix of the settings; also what the queue trigger is told. */
export const connectionName = 'AzureWebJobsStorage'

/** A wake-up that nobody took is worthless after this: the timer has come many times. */
const messageLifeSeconds = 600
const callMs = 10_000
/** Of the client: with the waits between them well within one call. */
const retryOptions = { maxRetries: 3, retryDelayInMs: 100, maxRetryDelayInMs: 1_000 }

type StorageSettings =
  | { kind: 'connection'; connection: string }
  | { kind: 'identity'; tables: string; queues: string; clientId: string | undefined }

/** Connects to nothing yet. Throws FoghornError `storage_unset` or `storage_invalid`. */
export function openStorage(environment: Environment): { rows: AzureTable; queue: WakeQueue } {
  const settings = readStorage(environment)
  try {
    return { rows: openTable(settings), queue: new WakeQueue(settings) }
  } catch {
    // what the clients say of it names no setting
    const remedy =
      settings.kind === 'connection'
        ? `${connectionName} is no connection string that tables and queues can be reached by; copy it from ` +
          'the storage account ("Access keys"), or write "UseDevelopmentStorage=true" for Azurite'
        : `${connectionName}__accountName, __tableServiceUri or __queueServiceUri makes no address; ` +
          'write the name of the storage account into the first, or whole addresses into the others'
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
    `neither ${connectionName}__accountName nor ${connectionName} is set; write the name of the ` +
      'storage account into the first, or a connection string into the second for local use',
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

/** The queue of wake-ups. */
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

  /** Sets a message that the `wake` function gets after so many ms, rounded up to seconds. */
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

  /** How many messages failed for good; about. */
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

/** Whether a message of the queue is one of ours; the host has parsed it. */
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

/** The library is large, and needed only where there is an identity: it is loaded with the first token. */
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
