// A relay in this process for tests: the real app, use cases, notifiers and SQLite, with a clock that
// the test moves and channels that are a function.

import { createApp } from '../../functions/app.ts'
import { listSecrets, readConfig } from '../../functions/config/config.ts'
import { unlimited } from '../../functions/core/delivery/rate.ts'
import { createCommitSignal } from '../../functions/host/commit-signal.ts'
import { createHolds } from '../../functions/host/holds.ts'
import type { Identity } from '../../functions/identity/identity.ts'
import { createPresses } from '../../functions/notify/all-presses.ts'
import { type Notifiers, notifiers } from '../../functions/notify/registry.ts'
import { Changes } from '../../functions/use-cases/changes.ts'
import { ClockWatch } from '../../functions/use-cases/clock-watch.ts'
import { claimDue, deliverTogether } from '../../functions/use-cases/deliver.ts'
import { createFrequentLog } from '../../functions/use-cases/frequent-log.ts'
import { OpenLimits } from '../../functions/use-cases/open-limits.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import { sweep } from '../../functions/use-cases/sweep.ts'
import { createLog } from '../../shared/log.ts'
import { webHmac } from '../../shared/signature.ts'
import { adminKey, baseConfig, startAt } from './fake-beacon.ts'
import { openTestStore, type TestStore } from './stores.ts'

export type { Reachable } from './fake-beacon.ts'
export {
  adminKey,
  baseConfig,
  event,
  eventId,
  FakeBeacon,
  hookSecret,
  prodKey,
  routingKey,
  startAt,
  started,
  testKey,
} from './fake-beacon.ts'

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
  options: {
    config?: object
    path?: string
    store?: TestStore
    paced?: boolean
    identity?: Identity
  } = {},
) {
  const clock = { now: startAt }
  const lines: string[] = []
  const sent: Sent[] = []
  const config = readConfig(JSON.stringify({ ...baseConfig, ...options.config }), {})
  const store = options.store ?? openTestStore(options.path, () => clock.now)
  const channels = { answer: usualAnswer as (request: Sent) => Response | Promise<Response> }
  const log = createLog({
    write: (line) => lines.push(line),
    now: () => clock.now,
    level: 'debug',
    secrets: listSecrets(config),
  })
  const send: Relay['sending']['send'] = async (url, init) => {
    const { method = 'GET', body: sentBody } = init
    const body = typeof sentBody === 'string' ? sentBody : ''
    const headers = Object.fromEntries(new Headers(init.headers))
    const request = { method, url, headers, body, json: body === '' ? {} : JSON.parse(body) }
    sent.push(request)
    return channels.answer(request)
  }
  const relay: Relay = {
    config,
    store,
    log,
    now: () => clock.now,
    random: () => 0.5,
    wait: async () => {},
    listeningSince: 0,
    host: {
      ...{ name: 'node', abilities: {}, troubles: async () => [], holdsConnections: true },
      ...{ heartbeats: { paceMs: 15 * 60_000 }, pause: async () => {}, readPlaces: 4 },
    },
    credentials: {
      ...{ hmac: webHmac, identity: options.identity ?? noIdentity, adminKey },
      linkKeys: [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)],
    },
    presses: createPresses(webHmac),
    sending: {
      notifiers: options.paced ? notifiers : patient,
      send,
      sendForBound: (url, init) => relay.sending.send(url, init),
      retryLog: createFrequentLog({ now: () => clock.now, log }, 60_000),
      removedChannels: [],
    },
    work: {
      wake: () => {},
      commitSignal: createCommitSignal(),
      holds: createHolds(),
      changes: new Changes(),
      openLimits: new OpenLimits(store),
    },
    outside: { tokens: { read: async () => 'token-s3cret', drop: () => {} } },
    clockWatch: new ClockWatch(log, () => clock.now),
  }
  const app = createApp(relay)

  /** Sends all that is due, one after another, and draws due conclusions. */
  async function drain(): Promise<void> {
    for (let rounds = 0; rounds < 1_000; rounds++) {
      await sweep(relay)
      const { requests } = await claimDue(relay, 10)
      if (requests.length === 0) return
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
    drain,
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
