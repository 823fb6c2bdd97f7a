// Reports that change what a relay stores: on its file, and on PostgreSQL by one relay and by two. Everything is on this
// machine, the database too, so two relays share the cores that one had. With a part of a core for each relay, two have
// twice as much as one, as on two machines.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noPostgres, startPostgres } from '../support/postgres.ts'
import { Program } from '../support/process.ts'
import { freePort } from '../support/stage.ts'
import { event, FakeBeacon, prodKey } from '../support/world.ts'
import { type Figure, percentile } from './figures.ts'
import { giveShare } from './share.ts'

const connections = 32
const beaconsEach = 100
const measuredMs = 15_000
/** Of so many reports of a connection, one brings news of an event, and the others say that it is gone. */
const newsEach = 4

export async function postgres(): Promise<Figure[]> {
  if (noPostgres) throw new Error('PostgreSQL is not here: this bench needs initdb and postgres')
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-bench-'))
  const server = await startPostgres({ fsync: 'on' })
  try {
    const database = { FOGHORN_DATABASE: await server.newDatabase() }
    return [
      ...(await measure('SQLite', folder, 1, { FOGHORN_DATA: join(folder, 'data') })),
      ...(await measure('PostgreSQL, one relay', folder, 1, database)),
      ...(await measure('PostgreSQL, two relays', folder, 2, {
        FOGHORN_DATABASE: await server.newDatabase(),
      })),
      ...(await measureShares(folder, server)),
    ]
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The part of a core of each relay. */
const share = 0.25

async function measureShares(
  folder: string,
  server: { newDatabase(): Promise<string> },
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [count, name] of [
    [1, 'one relay with a quarter of a core'],
    [2, 'two relays with a quarter of a core each'],
  ] as const) {
    const database = { FOGHORN_DATABASE: await server.newDatabase() }
    figures.push(...(await measure(`PostgreSQL, ${name}`, folder, count, database, share)))
  }
  return figures
}

/** No figures if this machine gives a process no share of a core. */
async function measure(
  name: string,
  folder: string,
  count: number,
  environment: Record<string, string>,
  ofCore?: number,
): Promise<Figure[]> {
  const file = join(folder, 'foghorn.config.json')
  const channels = { chat: { kind: 'slack', url: 'http://127.0.0.1:20001/nobody' } }
  const routes = [{ match: {}, channels: ['chat'] }]
  const publicUrl = 'http://127.0.0.1:20000'
  const allowNetworks = ['127.0.0.0/8']
  const config = { publicUrl, allowNetworks, fleets: { prod: { key: prodKey } }, channels, routes }
  writeFileSync(file, JSON.stringify(config))
  const FOGHORN_LINK_KEY = Buffer.alloc(32, 1).toString('base64')
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const relays = ports.map((port) => {
    const own = { FOGHORN_CONFIG: file, FOGHORN_LINK_KEY, FOGHORN_LOG_LEVEL: 'info' }
    const words = { ...own, ...environment, PORT: String(port) }
    return new Program(`relay ${port}`, 'functions/host/node/main.ts', words)
  })
  const back: (() => void)[] = []
  try {
    await Promise.all(relays.map((relay) => relay.waitFor('relay_started')))
    if (ofCore !== undefined)
      back.push(...relays.flatMap(({ pid }) => giveShare(pid, ofCore) ?? []))
    if (ofCore !== undefined && back.length < count) {
      process.stderr.write(`${name}: left out, because Linux gives this user no share of a core\n`)
      return []
    }
    const times = await load(ports.map((port) => `http://127.0.0.1:${port}`))
    return [
      { name: `${name}, reports`, value: (times.length * 1_000) / measuredMs, unit: '1/s' },
      { name: `${name}, report p50`, value: percentile(times, 0.5), unit: 'ms' },
      { name: `${name}, report p99`, value: percentile(times, 0.99), unit: 'ms' },
    ]
  } finally {
    await Promise.all(relays.map((relay) => relay.stop()))
    for (const takeBack of back) takeBack()
  }
}

/** Ms of each report that a relay took. */
async function load(urls: string[]): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + measuredMs
  const clock = {
    get now() {
      return Date.now()
    },
  }
  const worker = async (place: number) => {
    const url = urls[place % urls.length]!
    const app = { request: (path: string, init: RequestInit) => fetch(url + path, init) }
    const beacons = Array.from({ length: beaconsEach }, (_, i) => {
      return new FakeBeacon({ app, clock }, `vm-${place}-${i}`)
    })
    let eventId: string = randomUUID()
    for (let sent = 0; performance.now() < end; sent++) {
      const one = beacons[sent % beaconsEach]!
      // an event is seen by all beacons of its connection
      if (sent % (beaconsEach * newsEach) === 0) eventId = randomUUID()
      const notBeforeAt = Date.now() + 3_600_000
      const own = event({ eventId, resources: [`vm-${place}-0`], notBeforeAt })
      const from = performance.now()
      await one.sees(sent % newsEach === 0 ? [own] : [])
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, place) => worker(place)))
  return times
}
