// A relay in this process for tests: the real app, use cases, notifiers and SQLite, with a clock that
// the test moves and channels that are a function.
import { randomUUID } from 'node:crypto'
import { createApp } from '../../functions/app.ts'
import { readConfig, secretsOf } from '../../functions/config/config.ts'
import { unlimited } from '../../functions/core/delivery/rate.ts'
import { createBell } from '../../functions/host/bell.ts'
import type { Identity } from '../../functions/identity/identity.ts'
import { type Notifiers, notifiers } from '../../functions/notify/registry.ts'
import { createSlackDesk } from '../../functions/notify/slack/desk.ts'
import { createAttention } from '../../functions/store/attention.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import { claimDue, deliverTogether } from '../../functions/use-cases/deliver.ts'
import { expandMoments } from '../../functions/use-cases/expand-moments.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import { sweep } from '../../functions/use-cases/sweep.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import { createLog } from '../../shared/log.ts'
import {
  type Answer,
  type Change,
  fleetHeader,
  type HookRun,
  type Report,
  reportPath,
  type Start,
} from '../../shared/report.ts'
import { sign, webHmac } from '../../shared/signature.ts'

export const prodKey = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const testKey = 'whsec_dGVzdGtleXRlc3RrZXl0ZXN0a2V5dGVzdGtleQ=='
export const hookSecret = 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0'
export const routingKey = '0123456789abcdef0123456789abcdef'
export const adminKey = 'admin-key-admin-key-admin-key-32'
/** Saturday, 2026-11-21 12:00:00 UTC */
export const startAt = Date.UTC(2026, 10, 21, 12)

export const baseConfig = {
  publicUrl: 'https://foghorn.example',
  fleets: { prod: { key: prodKey }, test: { key: testKey } },
  channels: {
    chat: { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' },
    team: { kind: 'teams', url: 'https://teams.example/workflow?sig=teams-secret' },
    pager: { kind: 'pagerduty', routingKey, endpoint: 'https://pager.example/v2/enqueue' },
    hook: { kind: 'webhook', url: 'https://hook.example/in', secret: hookSecret },
  },
  routes: [{ match: {}, channels: ['chat', 'team', 'pager', 'hook'] }],
} as Record<string, unknown>

export interface Sent {
  method?: string
  url: string
  headers: Record<string, string>
  body: string
  json: ReturnType<typeof JSON.parse>
}

export interface World extends Awaited<ReturnType<typeof createWorld>> {}

/** For worlds whose beacons have the key of their fleet. */
export const noIdentity: Identity = {
  verify: async () => ({ outcome: 'unavailable', reason: 'no keys of any tenant are here' }),
}

/** Channels that take whatever comes: a clock that stands still while messages go out brings no turns. */
const patient = mapValues(notifiers, (notifier) => ({ ...notifier, rate: unlimited })) as Notifiers

function mapValues<T extends object>(from: T, map: (value: T[keyof T]) => unknown) {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, map(value)]))
}

/** `paced`: channels take as much as real ones do, and what has to wait is told together. */
export async function createWorld(
  options: { config?: object; path?: string; paced?: boolean; identity?: Identity } = {},
) {
  const clock = { now: startAt }
  const lines: string[] = []
  const sent: Sent[] = []
  const config = readConfig(JSON.stringify({ ...baseConfig, ...options.config }), {})
  const store = new SqliteStore(options.path ?? ':memory:', { random: randomUUID })
  const channels = { answer: usualAnswer as (request: Sent) => Response | Promise<Response> }
  const relay: Relay = {
    config,
    store,
    notifiers: options.paced ? notifiers : patient,
    async send(url, init) {
      const { method = 'GET', body: sentBody } = init
      const body = typeof sentBody === 'string' ? sentBody : ''
      const headers = Object.fromEntries(new Headers(init.headers))
      const request = { method, url, headers, body, json: body === '' ? {} : JSON.parse(body) }
      sent.push(request)
      return channels.answer(request)
    },
    slackDesk: createSlackDesk(webHmac),
    hmac: webHmac,
    identity: options.identity ?? noIdentity,
    linkKeys: [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)],
    adminKey,
    attention: createAttention(),
    now: () => clock.now,
    random: () => 0.5,
    log: createLog({
      write: (line) => lines.push(line),
      now: () => clock.now,
      level: 'debug',
      secrets: secretsOf(config),
    }),
    listeningSince: 0,
    idlePaceMs: 15 * 60_000,
    wake: () => {},
    bell: createBell(),
    holdsConnections: true,
    troubles: async () => [],
  }
  const app = createApp(relay)

  /** Sends all that is due, one after another, and draws due conclusions. */
  async function drain(expands = true): Promise<void> {
    for (let rounds = 0; rounds < 1_000; rounds++) {
      await sweep(relay)
      const mayGrow = expands && (await expandMoments(relay))
      const requests = await claimDue(relay, 10)
      if (requests.length === 0 && !mayGrow) return
      for (const group of requests) await deliverTogether(relay, group)
    }
    throw new Error('the relay never stops sending')
  }

  return {
    app,
    relay,
    store,
    clock,
    lines,
    sent,
    channels,
    drain: () => drain(),
    /** As `drain`, without new messages for subscriptions. */
    drainOnly: () => drain(false),
    /** Moves the clock and lets everything due happen. */
    async pass(ms: number): Promise<void> {
      clock.now += ms
      await drain()
    },
    async getEvent(eventId: string, fleet = 'prod') {
      const headers = { authorization: `Bearer ${adminKey}` }
      const response = await app.request(`/v1/events/${fleet}/${eventId}`, { headers })
      return {
        status: response.status,
        body: (await response.json()) as ReturnType<typeof JSON.parse>,
      }
    },
    /** The event types that the webhook channel was sent, in order. */
    told(): string[] {
      return sent
        .filter(({ url }) => url === 'https://hook.example/in')
        .map(({ json }) => json.type)
    },
  }
}

export function usualAnswer({ url, json }: Sent): Response {
  if (/^https:\/\/(slack|hooks\.slack)\./.test(url)) return new Response('ok')
  if (url.startsWith('https://teams.')) return new Response(null, { status: 202 })
  if (url.startsWith('https://pager.')) {
    return Response.json({ status: 'success', dedup_key: json.dedup_key }, { status: 202 })
  }
  return new Response(null, { status: 204 })
}

/** What a beacon needs of a world: a relay, and the time. */
export interface Reachable {
  app: { request(path: string, init: RequestInit): Response | Promise<Response> }
  clock: { now: number }
}

/** A beacon's part of the conversation: counts its reports and signs them. */
export class FakeBeacon {
  readonly #world: Reachable
  readonly name: string
  readonly fleet: string
  readonly key: string
  /** Shown instead of a signature, where there is one. */
  token: string | undefined
  readonly vm: Partial<Report['vm']>
  bootId: string = randomUUID()
  counter = 0
  uptimeMs = 86_400_000

  constructor(
    world: Reachable,
    name: string,
    options: { fleet?: string; key?: string; token?: string; vm?: Partial<Report['vm']> } = {},
  ) {
    this.#world = world
    this.name = name
    this.fleet = options.fleet ?? 'prod'
    this.key = options.key ?? prodKey
    this.token = options.token
    this.vm = options.vm ?? {}
  }

  body(
    events: ScheduledEvent[] | null,
    extra: { changes?: Change[]; starts?: Start[]; ageMs?: number; hooks?: Report['hooks'] } = {},
  ): Report {
    const { changes = [], starts = [], ageMs = 0, hooks } = extra
    const vm = {
      name: this.name,
      vmId: `id-${this.fleet}-${this.name}`,
      resourceGroup: 'rg',
      subscriptionId: 'sub',
      scaleSet: '',
      placementGroup: '',
      location: 'westeurope',
      zone: '',
      tags: {},
    }
    const { bootId, uptimeMs } = this
    return {
      version: 1,
      vm: { ...vm, ...this.vm },
      beacon: { version: 'test', bootId, counter: ++this.counter, uptimeMs },
      document:
        events === null
          ? null
          : { ageMs, incarnation: 1, apiVersion: '2020-07-01', events, unreadable: 0, hidden: [] },
      changes,
      starts,
      ...(hooks && { hooks }),
    }
  }

  async post(report: unknown, change: { headers?: Record<string, string>; at?: number } = {}) {
    const body = typeof report === 'string' ? report : JSON.stringify(report)
    const at = change.at ?? this.#world.clock.now
    const shown = this.token
      ? { authorization: `Bearer ${this.token}` }
      : await sign([this.key], randomUUID(), at, body)
    const headers = { ...shown, ...change.headers }
    return this.#world.app.request(reportPath, {
      method: 'POST',
      body,
      headers: { [fleetHeader]: this.fleet, ...headers },
    })
  }

  /** Reports the document and one run of `prepare`; without a run, the VM has no hook. */
  runs(
    events: ScheduledEvent[],
    state: HookRun['state'],
    more: Partial<Omit<HookRun, 'state'>> = {},
  ): Promise<Answer> {
    const of = more.eventId ?? events[0]?.eventId ?? eventId
    const run = { hook: 'prepare' as const, ageMs: 0, ...more, eventId: of, state }
    return this.sees(events, { hooks: { available: ['prepare', 'restore'], runs: [run] } })
  }

  /** Reports the document and returns the answer; throws where it was not accepted. */
  async sees(
    events: ScheduledEvent[] | null,
    extra?: Parameters<FakeBeacon['body']>[1],
  ): Promise<Answer> {
    const response = await this.post(this.body(events, extra))
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }
}

export const eventId = 'c7061bac-afdc-4513-b24b-aa5f13a16123'

export function event(changes: Partial<ScheduledEvent> = {}): ScheduledEvent {
  return {
    eventId,
    eventType: 'Reboot',
    status: 'Scheduled',
    resources: ['web_0'],
    notBeforeAt: startAt + 15 * 60_000,
    description: 'Virtual machine is going to be restarted.',
    source: 'Platform',
    durationSeconds: -1,
    ...changes,
  }
}

/** As Azure shows it once it started: NotBefore is empty. */
export function started(changes: Partial<ScheduledEvent> = {}): ScheduledEvent {
  const { notBeforeAt: _, ...rest } = event({ status: 'Started', ...changes })
  return rest
}
