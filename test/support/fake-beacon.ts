// A beacon's part of the conversation with a relay, the events that it sees, and the configuration
// that its relay has. Needs no Node, so tests in workerd use it, too.
import type { ScheduledEvent } from '../../shared/document.ts'
import {
  type Answer,
  type Change,
  fleetHeader,
  type HookRun,
  type Report,
  reportPath,
  type Start,
} from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'

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

/** What a beacon needs of a world: a relay, and the time. */
export interface Reachable {
  app: { request(path: string, init: RequestInit): Response | Promise<Response> }
  clock: { now: number }
}

/** Of all VMs. */
export const subscription = '1e1e1e1e-0000-4000-8000-000000000001'

/** Counts its reports and signs them. */
export class FakeBeacon {
  readonly #world: Reachable
  readonly name: string
  readonly fleet: string
  readonly key: string
  /** Shown instead of a signature, where there is one. */
  token: string | undefined
  readonly vm: Partial<Report['vm']>
  readonly version: string
  bootId: string = crypto.randomUUID()
  counter = 0
  uptimeMs = 86_400_000
  /** Of the VM's clock, by that of the relay. */
  clockAheadMs = 0

  constructor(
    world: Reachable,
    name: string,
    options: {
      fleet?: string
      key?: string
      token?: string
      vm?: Partial<Report['vm']>
      version?: string
    } = {},
  ) {
    this.#world = world
    this.name = name
    this.fleet = options.fleet ?? 'prod'
    this.key = options.key ?? prodKey
    this.token = options.token
    this.vm = options.vm ?? {}
    this.version = options.version ?? 'test'
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
      subscriptionId: subscription,
      scaleSet: '',
      placementGroup: '',
      location: 'westeurope',
      zone: '',
      tags: {},
    }
    const { bootId, uptimeMs, version } = this
    const clock = this.#world.clock.now + this.clockAheadMs
    return {
      version: 1,
      vm: { ...vm, ...this.vm },
      beacon: { version, bootId, counter: ++this.counter, uptimeMs, clock },
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
      : await sign([this.key], crypto.randomUUID(), at, body)
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
