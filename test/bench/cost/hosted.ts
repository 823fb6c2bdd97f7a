// The relay as functions/host/azure.ts composes it, on a counting table and queue, with a clock of its own: an
// invocation takes no time, and what it costs is written down. One instance, so no two writers meet.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { InvocationContext } from '@azure/functions'
import { createApp } from '../../../functions/app.ts'
import { readConfig, secretsOf } from '../../../functions/config.ts'
import { createAzureLog } from '../../../functions/host/azure-log.ts'
import { Rounds, timerMs } from '../../../functions/host/azure-rounds.ts'
import { nodeHmac } from '../../../functions/host/node-hmac.ts'
import { createToken } from '../../../functions/link.ts'
import { notifiers } from '../../../functions/notify/kinds.ts'
import { createSlackDesk } from '../../../functions/notify/slack/desk.ts'
import type { Relay } from '../../../functions/relay.ts'
import { forgetOld } from '../../../functions/retention.ts'
import { AzureStore } from '../../../functions/store/azure.ts'
import { adminKey, noIdentity, type Sent, startAt, usualAnswer } from '../../support/world.ts'
import { Agenda } from './agenda.ts'
import { assumed } from './assumptions.ts'
import { CountedRows, operations } from './counted.ts'

const functionNames = ['relay', 'wake', 'sweep'] as const
export type FunctionName = (typeof functionNames)[number]

export interface Invocation {
  name: FunctionName
  at: number
  /** On Azure, as the assumptions say. */
  durationMs: number
  tableOperations: number
  queueOperations: number
  messages: number
  lines: number
  lineBytes: number
}

interface HostedOptions {
  config: object
  /** Without it, nothing but the timer finds what is due. */
  wakeUps?: boolean
  timer?: boolean
}

export class Hosted {
  readonly agenda = new Agenda(startAt)
  readonly clock = this.agenda
  readonly rows = new CountedRows()
  readonly sent: Sent[] = []
  readonly invocations: Invocation[] = []
  readonly #logs: ReturnType<typeof createAzureLog>
  readonly #relay: Relay
  readonly #store: AzureStore
  readonly #rounds: Rounds
  readonly #fetch: ReturnType<typeof createApp>['request']
  readonly #current = new AsyncLocalStorage<{ lines: string[] }>()
  #queueOperations = 0

  constructor({ config: text, wakeUps = true, timer = true }: HostedOptions) {
    const config = readConfig(JSON.stringify(text), {})
    const now = () => this.clock.now
    const write = (line: string) => void this.#current.getStore()?.lines.push(line)
    this.#logs = createAzureLog({ write, now, level: 'info', secrets: secretsOf(config) })
    const wait = async () => {}
    this.#store = new AzureStore({ rows: this.rows, newId: randomUUID, random: () => 0.5, wait })
    this.#relay = {
      ...{ config, store: this.#store, notifiers, hmac: nodeHmac, identity: noIdentity, now },
      ...{ adminKey, linkKeys: [new Uint8Array(32).fill(7)], attention: this.#store.attention },
      send: async (url, init) => {
        const body = String(init.body)
        const request = { url, headers: {}, body, json: JSON.parse(body) }
        this.sent.push(request)
        return usualAnswer(request)
      },
      slackDesk: createSlackDesk(nodeHmac),
      random: () => 0.5,
      log: this.#logs.log,
      listeningSince: 0,
      wake: (owed) => this.#rounds.hint(owed),
      troubles: async () => [],
    }
    this.#rounds = new Rounds(this.#relay, async (delayMs) => {
      this.#queueOperations += 1
      if (wakeUps) this.#setWakeUp(delayMs)
    })
    this.#fetch = createApp(this.#relay).request
    if (timer) this.agenda.every(timerMs, () => this.runTimer())
  }

  /** As a beacon or a browser would. */
  readonly app = {
    request: (path: string, init: RequestInit): Promise<Response> =>
      this.#invoke('relay', () => this.#rounds.during(async () => this.#fetch(path, init))),
  }

  /** As in the message. */
  async linkTo(eventId: string): Promise<string> {
    const { linkKeys, config } = this.#relay
    const token = { fleet: 'prod', eventId, channel: 'chat', issuedAt: this.clock.now }
    return `${config.publicUrl}/approve/${await createToken(linkKeys, token)}`
  }

  runTimer(): Promise<void> {
    return this.#invoke('sweep', async () => {
      await this.#turn()
      // whether there is a queue of what failed for good
      this.#queueOperations += 1
      if (new Date(this.clock.now).getUTCMinutes() === 0) await forgetOld(this.#relay)
    })
  }

  /** The host takes a message from the queue and removes it afterwards. */
  #setWakeUp(delayMs: number): void {
    this.agenda.at(this.clock.now + Math.ceil(delayMs / 1_000) * 1_000, () =>
      this.#invoke('wake', async () => {
        this.#queueOperations += 2
        await this.#turn()
      }),
    )
  }

  async #turn(): Promise<void> {
    this.#relay.listeningSince = await this.#store.listeningSince(this.clock.now, 4 * timerMs)
    await this.#rounds.turn()
  }

  async #invoke<T>(name: FunctionName, work: () => Promise<T>): Promise<T> {
    const own = { lines: [] as string[] }
    const waitsBefore = this.rows.counts.waits
    const before = operations(this.rows.counts)
    const [queueBefore, sentBefore] = [this.#queueOperations, this.sent.length]
    const keep = (line: string) => own.lines.push(line)
    const levels = { debug: keep, info: keep, warn: keep, error: keep }
    const context = { invocationId: randomUUID(), ...levels } as unknown as InvocationContext
    const result = await this.#current.run(own, () =>
      Promise.resolve(this.#logs.during(() => work())(undefined, context)),
    )
    const queueOperations = this.#queueOperations - queueBefore
    const messages = this.sent.length - sentBefore
    const waits = this.rows.counts.waits - waitsBefore + queueOperations
    this.invocations.push({
      ...{ name, at: this.clock.now, queueOperations, messages },
      durationMs:
        assumed.ownMs + waits * assumed.storageCallMs + (messages > 0 ? assumed.channelMs : 0),
      tableOperations: operations(this.rows.counts) - before,
      lines: own.lines.length,
      lineBytes: own.lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0),
    })
    return result
  }
}
