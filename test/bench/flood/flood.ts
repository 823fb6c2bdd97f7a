// What others may do at the relay's doors, and how long a report on a new connection, a decision and the page
// of a link take meanwhile. The relay has 800 large events, and runs on Node.
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { ScheduledEvent } from '../../../shared/document.ts'
import {
  startAzureOutside,
  outsideSubscription as subscription,
} from '../../simulator/azure-outside.ts'
import { cloudEvent } from '../../simulator/event-grid.ts'
import { FakeBeacon } from '../../support/fake-beacon.ts'
import { fleetName, linkIn, type Stage, startStage } from '../../support/stage.ts'
import type { Figure } from '../figures.ts'
import type { Flood } from './worker.ts'

const large = { events: 800, names: 190, nameLength: 180, ofReport: 6 }
const fleets = [fleetName, 'second'] as const
/** In Azure's inventory. Of every fourth one, a beacon is known. */
const machines = 8_000
/** The relay asks for a page of 1,000 a second. */
const inventoryMs = 10_000
const usualWarmMs = 3_000
const samples = 15

export async function flood(): Promise<Figure[]> {
  const azure = await startAzureOutside('web')
  azure.arm.options.rows = { resources: inventory() }
  const stage = await startStage({
    vms: [['web_0']],
    config: (sinks) => ({
      channels: { chat: { kind: 'slack', url: sinks.slackUrl } },
      routes: [{ match: { eventType: 'Terminate' }, channels: ['chat'] }],
      azure: azure.azure,
      fleets: {
        [fleetName]: { key: 'env:FLEET_KEY', azureSubscriptions: [subscription] },
        second: { key: 'env:FLEET_KEY' },
      },
    }),
  })
  try {
    await stage.startRelay({ environment: { FOGHORN_LOG_LEVEL: 'info' } })
    const relay = await fill(stage)
    const figures: Figure[] = []
    for (const [name, made] of Object.entries(await floodsOf(stage))) {
      figures.push(...(await measured(relay, name, made)))
    }
    return figures
  } finally {
    await azure.stop()
    await stage.stop()
  }
}

type Asked = Awaited<ReturnType<typeof fill>>

async function fill(stage: Stage) {
  const port = Number(new URL(stage.relayUrl).port)
  const world = {
    app: { request: (path: string, init: RequestInit) => fetch(`${stage.relayUrl}${path}`, init) },
    clock: {
      get now() {
        return Date.now()
      },
    },
  }
  const key = stage.secrets.fleetKey
  for (let i = 0, n = 0; i < large.events; i += large.ofReport, n++) {
    const fleet = fleets[n % 2]!
    const vm = `vm_${n}`
    const events = Array.from({ length: large.ofReport }, () => largeEvent(vm))
    await new FakeBeacon(world, vm, { fleet, key }).sees(events)
  }
  const beacons = Array.from({ length: machines / 4 }, (_, n) => `web_${n * 4}`)
  for (const vm of beacons) await new FakeBeacon(world, vm, { fleet: fleetName, key }).sees([])
  const one = { ...largeEvent('web_0'), resources: ['web_0'], eventType: 'Terminate' }
  const beacon = new FakeBeacon(world, 'web_0', { fleet: fleetName, key })
  await beacon.sees([one])
  const decide = await stage.makeToken(['decide'])
  return { port, world, beacon, event: one, decide, link: await linkOf(stage) }
}

/** The path of the page that decides about the event that people are told of. */
async function linkOf({ sinks }: Stage): Promise<string> {
  const message = await sinks.waitFor(({ kind }) => kind === 'slack', 10_000)
  return new URL(linkIn(message)).pathname
}

function inventory(): object[] {
  return Array.from({ length: machines }, (_, n) => {
    const name = `web_${n}`
    const path = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute`
    return {
      ...{ id: `${path}/virtualMachines/${name}`, name, type: 'microsoft.compute/virtualmachines' },
      ...{
        resourceGroup: 'rg',
        subscriptionId: subscription,
        tags: { stage: 'prod', tier: 'web' },
      },
    }
  })
}

function largeEvent(vm: string): ScheduledEvent {
  const names = Array.from({ length: large.names }, (_, i) => `${i}${'x'.repeat(large.nameLength)}`)
  return {
    ...{ eventId: randomUUID(), eventType: 'Reboot', status: 'Scheduled' },
    ...{ resources: [vm, ...names], source: 'Platform', durationSeconds: -1 },
    notBeforeAt: Date.now() + 60 * 60_000,
    description: 'Host maintenance.',
  }
}

interface Made extends Pick<Flood, 'connections' | 'requests'> {
  isSlow?: true
  /** How long it goes on before the first sample. */
  warmMs?: number
}

async function floodsOf(stage: Stage): Promise<Record<string, Made | undefined>> {
  const [read, report, calendar] = await Promise.all([
    stage.makeToken(['read']),
    stage.makeToken(['report']),
    stage.makeToken(['calendar']),
  ])
  const get = (path: string, token?: string) => raw('GET', path, token)
  const post = (body: string, token: string | undefined, headers = '') =>
    raw('POST', '/v1/azure/events', token, body, headers)
  const lists = [get('/v1/events?limit=200', read)]
  const junk = JSON.stringify([{ id: '1', data: Array.from({ length: 250_000 }, () => [1]) }])
  const batches = Array.from({ length: 40 }, () => post(batch(1_700), report))
  return {
    idle: undefined,
    'handshake of a stranger, 30 connections': {
      connections: 30,
      requests: [post(junk, undefined, 'aeg-event-type: SubscriptionValidation\r\n')],
    },
    '60 lists': { connections: 60, requests: lists },
    '200 lists': { connections: 200, requests: lists },
    '60 long polls': { connections: 60, requests: [get('/v1/events/stream?after=0&wait=1', read)] },
    '20 streams': { connections: 20, requests: [get('/v1/events/stream?after=0', read)] },
    '60 lists of Azure': {
      connections: 60,
      requests: [get('/v1/azure', read)],
      warmMs: inventoryMs,
    },
    '30 calendars': { connections: 30, requests: [get(`/calendar.ics?token=${calendar}`)] },
    '300 slow readers': { connections: 300, requests: lists, isSlow: true },
    // last, as the relay works on them for a while
    'batches of 1700 events, 8 connections': { connections: 8, requests: batches },
  }
}

function batch(events: number): string {
  const at = Date.now()
  const all = Array.from({ length: events }, () => {
    const { time, data } = cloudEvent({
      ...{ eventId: randomUUID(), subscription, resource: 'virtualMachineScaleSets/web', at },
      notBeforeAt: at + 3_600_000,
    })
    const { id, properties } = data.resourceInfo
    return { time, data: { resourceInfo: { id, properties } } }
  })
  return JSON.stringify(all)
}

function raw(method: string, path: string, token?: string, body = '', headers = ''): string {
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${authorization}${length}${headers}\r\n${body}`
}

async function measured(asked: Asked, name: string, made: Made | undefined): Promise<Figure[]> {
  const stop = made && startFlood({ ...made, isSlow: made.isSlow === true, port: asked.port })
  await sleep(made?.warmMs ?? usualWarmMs)
  const times: Record<string, number[]> = { report: [], decision: [], page: [] }
  for (let i = 0; i < samples; i++) {
    times.report!.push(await timed(() => report(asked)))
    times.decision!.push(await timed(() => decision(asked)))
    times.page!.push(await timed(() => ask(asked.port, 'GET', asked.link)))
  }
  const answered = await stop?.()
  return [
    ...Object.entries(times).map(([what, all]): Figure => {
      return { name: `${name}: ${what}, slowest`, value: Math.max(...all), unit: 'ms' }
    }),
    ...(answered === undefined
      ? []
      : [{ name: `${name}: answered`, value: answered, unit: 'requests' }]),
  ]
}

function startFlood(data: Flood): () => Promise<number> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data })
  const answer = new Promise<number>((resolve) => worker.once('message', resolve))
  const gone = new Promise((resolve) => worker.once('exit', resolve))
  return async () => {
    worker.postMessage('stop')
    const answered = await answer
    await gone
    return answered
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** On a connection of its own. */
function ask(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method, path, headers, agent: false }
    const sent = request(options, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function report({ port, beacon, event }: Asked): Promise<void> {
  const own = new FakeBeacon(
    {
      clock: { now: Date.now() },
      app: {
        async request(path, { headers, body }) {
          const status = await ask(
            port,
            'POST',
            path,
            headers as Record<string, string>,
            String(body),
          )
          return new Response('{}', { status })
        },
      },
    },
    beacon.name,
    { fleet: beacon.fleet, key: beacon.key },
  )
  own.bootId = beacon.bootId
  own.counter = beacon.counter++
  await own.sees([event])
}

async function decision({ port, event, decide }: Asked): Promise<void> {
  const headers = { authorization: `Bearer ${decide}`, 'content-type': 'application/json' }
  const path = `/v1/events/${fleetName}/${event.eventId}/decision`
  await ask(port, 'POST', path, headers, JSON.stringify({ decision: 'not_now' }))
}
