// Channels to send to in tests, which answer like the real ones and remember what they were sent. One
// server for all kinds. What it takes counts at once, even when the answer is delayed or never leaves:
// that is how a sender comes to repeat itself.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { close, HOST, listen, parseJson, type Reply, readBody, send } from './http.ts'
import { type Incident, PAGERDUTY_PATH, pagerDutySink } from './sinks/pagerduty.ts'
import {
  PRESETS_PREFIX,
  type PresetName,
  type PresetSink,
  presetNames,
  presetSink,
} from './sinks/presets.ts'
import { type ShipKind, shipPaths, shipSink } from './sinks/ship.ts'
import { type Decided, isWhole, type Sink, type SinkRequest } from './sinks/sink.ts'
import { SLACK_PATH, SLACK_REPLY_PATH, SLACK_REPLY_PREFIX, slackSink } from './sinks/slack.ts'
import { SLACK_API_PREFIX, SLACK_CHANNEL, SLACK_TOKEN, slackBotSink } from './sinks/slack-bot.ts'
import { TEAMS_PATH, TEAMS_PREFIX, teamsSink } from './sinks/teams.ts'
import { CONNECTOR_PREFIX, TEAMS_CHANNEL, TEAMS_TENANT, teamsBotSink } from './sinks/teams-bot.ts'
import { WEBHOOK_PATH, webhookSink } from './sinks/webhook.ts'
import { Waiters } from './waiters.ts'

const MAX_BODY_BYTES = 1024 * 1024
const MAX_RECEIVED = 100_000
const DEFAULT_SECRET = `whsec_${Buffer.from('only for the simulated channels!').toString('base64')}`

type SinkKind =
  | 'slack'
  | 'slack_bot'
  | 'teams'
  | 'teams_bot'
  | 'pagerduty'
  | 'webhook'
  | PresetName
  | ShipKind

const shipKinds = Object.keys(shipPaths) as ShipKind[]

const PREFIXES: readonly (readonly [string, SinkKind])[] = [
  ['/services/', 'slack'],
  [SLACK_REPLY_PREFIX, 'slack'],
  [SLACK_API_PREFIX, 'slack_bot'],
  [TEAMS_PREFIX, 'teams'],
  [CONNECTOR_PREFIX, 'teams_bot'],
  [PAGERDUTY_PATH, 'pagerduty'],
  [WEBHOOK_PATH, 'webhook'],
  ...presetNames.map((name) => [PRESETS_PREFIX + name, name] as const),
  ...shipKinds.map((kind) => [shipPaths[kind], kind] as const),
]

interface SinkOptions {
  /** 0: any free port. */
  readonly port?: number
  /** `whsec_` and base64; left out: a fixed one, given back as `webhookSecret`. */
  readonly webhookSecret?: string
}

export interface Received extends SinkRequest {
  readonly kind: SinkKind
  readonly valid: true | string
  /** Whether a person, or the other system, came to see it. */
  readonly accepted: boolean
  readonly answered: number | 'dropped' | 'hung'
}

interface Failure {
  readonly kind: SinkKind
  /** Only requests whose body has this text. Messages about other events may come first. */
  readonly about?: string
  /** 500 when nothing else is said, 200 where there is only a body. */
  readonly status?: number
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
  /** Delays the answer; alone it is the right answer that comes late. */
  readonly delayMs?: number
  /** Never answers. */
  readonly hang?: boolean
  /** Takes the message, and only then fails; without a status the connection is dropped. */
  readonly afterAccept?: boolean
  /** How many requests fail; 1 when left out. */
  readonly times?: number
}

export type Sinks = Awaited<ReturnType<typeof startSinks>>

/** Stricter than the real ones, some of which take it and show something else. */
const broken: Decided = {
  valid: 'half a character',
  reply: { status: 400, body: 'There is half a character in it.' },
}

export async function startSinks(options: SinkOptions = {}) {
  const webhookSecret = options.webhookSecret ?? DEFAULT_SECRET
  const pagerduty = pagerDutySink()
  const slackBot = slackBotSink()
  const teamsBot = teamsBotSink()
  const webhook = webhookSink(webhookSecret)
  const services = Object.fromEntries(
    presetNames.map((name) => [name, presetSink(name)]),
  ) as Record<PresetName, PresetSink>
  const shipped = Object.fromEntries(shipKinds.map((kind) => [kind, shipSink(kind)]))
  const sinks: Record<SinkKind, Sink> = {
    ...services,
    ...(shipped as Record<ShipKind, Sink>),
    slack: slackSink(),
    slack_bot: slackBot,
    teams: teamsSink(),
    teams_bot: teamsBot,
    pagerduty,
    webhook,
  }
  const received: Received[] = []
  const failures: Failure[] = []
  const waiters = new Waiters()

  const takeFailure = (kind: SinkKind, body: string): Failure | undefined => {
    const index = failures.findIndex((failure) => {
      return failure.kind === kind && body.includes(failure.about ?? '')
    })
    return index < 0 ? undefined : failures.splice(index, 1)[0]
  }

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = message.url ?? '/'
    const kind = PREFIXES.find(([prefix]) => path.startsWith(prefix))?.[1]
    if (!kind) return send(response, { status: 404, body: 'There is no channel here.' })
    const { method = 'GET' } = message
    if (method !== 'POST' && !(kind === 'teams_bot' && ['PUT', 'DELETE'].includes(method)))
      return send(response, { status: 405, body: 'Only POST.' })
    const body = await readBody(message, MAX_BODY_BYTES)
    if (body === null) return send(response, { status: 413, body: 'The body is too long.' })
    const headers = flatten(message)
    const request = { at: Date.now(), method, path, headers, body, json: parseJson(body) }
    const { valid, reply } = isWhole(request.json) ? sinks[kind].judge(request) : broken
    const failure = takeFailure(kind, body)
    const outcome = failure ? fail(failure, reply) : reply
    const accepted = valid === true && (!failure || failure.afterAccept || outcome === reply)
    if (accepted) sinks[kind].accept(request)
    const answered = typeof outcome === 'string' ? outcome : outcome.status
    received.push({ ...request, kind, valid, accepted, answered })
    if (received.length > MAX_RECEIVED) received.shift()
    waiters.changed()
    if (failure?.delayMs) await sleep(failure.delayMs, undefined, { ref: false })
    if (outcome === 'dropped') response.destroy()
    else if (outcome !== 'hung') send(response, outcome)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  const url = `http://${HOST}:${await listen(server, options.port ?? 0)}`

  return {
    url,
    slackUrl: url + SLACK_PATH,
    /** What a payload says as its `response_url`. */
    slackReplyUrl: url + SLACK_REPLY_PATH,
    /** Of a channel that a bot posts to. */
    slackBot: {
      endpoint: url + SLACK_API_PREFIX.slice(0, -1),
      token: SLACK_TOKEN,
      channel: SLACK_CHANNEL,
    },
    teamsUrl: url + TEAMS_PATH,
    /** Of a channel that a bot posts to. */
    teamsBot: {
      endpoint: url + CONNECTOR_PREFIX.slice(0, -1),
      channelId: TEAMS_CHANNEL,
      tenantId: TEAMS_TENANT,
    },
    pagerDutyEndpoint: url + PAGERDUTY_PATH,
    webhookUrl: url + WEBHOOK_PATH,
    shipUrl: (kind: ShipKind): string => url + shipPaths[kind],
    presetUrl: (name: PresetName): string => url + PRESETS_PREFIX + name,
    /** What was done to each incident of a service. */
    presetIncidents: (name: PresetName) => services[name].incidents,
    webhookSecret,
    received: received as readonly Received[],
    slackMessages: slackBot.messages,
    teamsMessages: teamsBot.messages,
    /** By `${routing_key} ${dedup_key}`. */
    incidents: (): ReadonlyMap<string, Readonly<Incident>> => pagerduty.incidents,
    /** How often each webhook-id was taken. */
    webhookIds: (): ReadonlyMap<string, number> => webhook.counts,
    /** Failures of one kind are used up in the order they were given. */
    failNext: (failure: Failure): void => {
      failures.push(...Array.from({ length: failure.times ?? 1 }, () => failure))
    },
    /** What was to fail succeeds from now on. */
    heal: (): void => {
      failures.length = 0
    },
    /** The first request, past or future, that the predicate likes. */
    waitFor: (predicate: (one: Received) => boolean, timeoutMs: number): Promise<Received> => {
      const seen = () => received.map((one) => `${one.kind} ${one.answered}`).join(', ') || 'none'
      return waiters.until(
        () => received.find(predicate),
        timeoutMs,
        () => `received: ${seen()}`,
      )
    },
    stop: (): Promise<void> => close(server),
  }
}

function fail(failure: Failure, reply: Reply): Reply | 'dropped' | 'hung' {
  const { status, body, headers, delayMs, hang, afterAccept } = failure
  if (hang) return 'hung'
  if (status !== undefined || body !== undefined) {
    return {
      status: status ?? 200,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    }
  }
  if (afterAccept) return 'dropped'
  return delayMs === undefined ? { status: 500, ...(headers && { headers }) } : reply
}

function flatten(message: IncomingMessage): Record<string, string> {
  const entries = Object.entries(message.headers)
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
