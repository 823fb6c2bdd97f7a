// What calls queue and timer functions in Azure, by the rules of the shipped host.json: polls the queue, hides a
// message while its function runs, deletes it after success, and moves it to the poison queue after
// too many failures. Timers run once a minute, the only schedule that this host knows.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DequeuedMessageItem, QueueClient } from '@azure/storage-queue'
import type { FunctionsHost } from './functions-host.ts'

const hostFile = new URL('../../infra/azure/host.json', import.meta.url)
const everyMinute = '0 * * * * *'
const minuteMs = 60_000
/** The real host polls an empty queue less and less often, up to its maxPollingInterval. */
const firstPollMs = 100

interface TriggerOptions {
  /** `queueTrigger`, `timerTrigger`; others never fire by themselves. */
  types: string[]
  /** How long a message that failed is hidden; as host.json says, where nothing is said. */
  hiddenSeconds?: number
}

export class Triggers {
  readonly #host: FunctionsHost
  readonly #connection: string
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #hiddenSeconds: number
  readonly #queues = JSON.parse(readFileSync(hostFile, 'utf8')).extensions.queues

  constructor(host: FunctionsHost, connection: string, options: TriggerOptions) {
    this.#host = host
    this.#connection = connection
    this.#hiddenSeconds = options.hiddenSeconds ?? secondsOf(this.#queues.visibilityTimeout)
    for (const { name, bindings } of host.functions) {
      for (const { type, queueName, schedule } of Object.values(bindings)) {
        if (!options.types.includes(type)) continue
        if (type === 'queueTrigger') this.#running.push(this.#poll(name, String(queueName)))
        if (type === 'timerTrigger') this.#running.push(this.#tick(name, String(schedule)))
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  async #poll(name: string, queueName: string): Promise<void> {
    const queue = new QueueClient(this.#connection, queueName)
    const longestMs = secondsOf(this.#queues.maxPollingInterval) * 1_000
    const { batchSize, newBatchThreshold } = this.#queues
    const running = new Set<Promise<void>>()
    let waitMs = firstPollMs
    while (!this.#stopping.signal.aborted) {
      const messages = await this.#receive(queue, batchSize)
      for (const message of messages) {
        const run = this.#run(name, queue, message).finally(() => running.delete(run))
        running.add(run)
      }
      waitMs = messages.length === 0 ? Math.min(longestMs, waitMs * 2) : firstPollMs
      while (running.size > newBatchThreshold) await Promise.race(running)
      await this.#pause(waitMs)
    }
    await Promise.all(running)
  }

  async #receive(queue: QueueClient, numberOfMessages: number): Promise<DequeuedMessageItem[]> {
    try {
      const options = { visibilityTimeout: 60, numberOfMessages }
      return (await queue.receiveMessages(options)).receivedMessageItems
    } catch {
      // there is no queue yet, or no storage: a host goes on asking
      return []
    }
  }

  async #run(name: string, queue: QueueClient, message: DequeuedMessageItem): Promise<void> {
    const { messageId, popReceipt, dequeueCount, messageText } = message
    try {
      await this.#host.invokeQueue(name, messageText, { id: messageId, popReceipt, dequeueCount })
      await queue.deleteMessage(messageId, popReceipt).catch(() => undefined)
    } catch {
      if (dequeueCount < this.#queues.maxDequeueCount) {
        const seconds = this.#hiddenSeconds
        await queue.updateMessage(messageId, popReceipt, messageText, seconds).catch(() => {})
        return
      }
      const poison = new QueueClient(this.#connection, `${queue.name}-poison`)
      await poison.createIfNotExists()
      await poison.sendMessage(messageText)
      await queue.deleteMessage(messageId, popReceipt)
    }
  }

  async #tick(name: string, schedule: string): Promise<void> {
    if (schedule !== everyMinute) throw new Error(`${name} has the schedule "${schedule}"`)
    while (!this.#stopping.signal.aborted) {
      await this.#pause(minuteMs - (Date.now() % minuteMs))
      // what a timer function throws is in the telemetry, and it runs again at its time
      if (!this.#stopping.signal.aborted) await this.#host.invokeTimer(name).catch(() => undefined)
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }
}

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number)
  return hours * 3_600 + minutes * 60 + seconds
}
