// How long the pages of the console take with a large store on SQLite, and what 50 open pages cost. It
// measures the relay without the network, in this process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consolePaths } from '../../features/console.ts'
import { consoleConfig } from '../../preview/console-world.ts'
import { asAdmin } from '../../support/console.ts'
import { adminKey, createWorld, testKey, type World } from '../../support/world.ts'
import { type Figure, percentile, spread } from '../figures.ts'
import { fill, fleets } from './fill.ts'

const rounds = 15
const people = 50
const everyMs = 5_000
const watchedMs = 5 * 60_000

const pages = {
  now: '',
  upcoming: '/upcoming',
  history: '/events',
  'history by rare type': '/events?type=Terminate',
  'history by VM': '/events?q=web_2700',
  'history by many VMs': '/events?q=web&step=completed&until=2026-09-01',
  beacons: '/beacons?fleet=prod',
  'beacons by name': '/beacons?fleet=prod&q=web_12',
  'beacons that are silent': '/beacons?fleet=prod&state=silent',
  channels: '/channels',
  'one channel': '/channels/on-call',
  ...consolePaths,
}

export async function consolePages(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-console-'))
  const path = join(folder, 'foghorn.db')
  await fill(path)
  const named = fleets.map((name) => [name, { key: testKey }] as const)
  const config = {
    ...consoleConfig,
    fleets: Object.fromEntries(named),
    policy: [],
    routes: consoleConfig.routes.slice(0, 1),
  }
  const world = await createWorld({ config, path })
  const visit = await asAdmin(world)
  const figures: Figure[] = []
  for (const [name, address] of Object.entries(pages)) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      // longer than what the relay keeps of the last answer
      world.clock.now += 61_000
      const from = performance.now()
      const response = await visit.get(`/console${address}`)
      await response.text()
      times.push(performance.now() - from)
      if (response.status !== 200) throw new Error(`${address}: ${response.status}`)
    }
    figures.push({ name: `console ${name} p50`, value: percentile(times, 0.5), unit: 'ms' })
  }
  figures.push(...spread('metrics', await metricsTimes(world)))
  figures.push({
    name: `console ${people} open pages`,
    value: await shareOfCore(world),
    unit: '% of a core',
  })
  world.store.close()
  rmSync(folder, { recursive: true })
  return figures
}

async function metricsTimes({ app, clock }: World): Promise<number[]> {
  const times: number[] = []
  const headers = { authorization: `Bearer ${adminKey}` }
  for (let round = 0; round < rounds; round++) {
    // the relay shares an answer for 5 s
    clock.now += 6_000
    const from = performance.now()
    const response = await app.request('/metrics', { headers })
    await response.text()
    if (response.status !== 200) throw new Error(`/metrics: ${response.status}`)
    times.push(performance.now() - from)
  }
  return times
}

/** Each page asks every 5 s. Nothing changes, and each minute the texts are new. */
async function shareOfCore(world: World): Promise<number> {
  const visits = await Promise.all(Array.from({ length: people }, () => asAdmin(world)))
  const etags = visits.map(() => '')
  const before = process.cpuUsage()
  for (let passed = 0; passed < watchedMs; passed += everyMs) {
    world.clock.now += everyMs
    for (const [i, visit] of visits.entries()) {
      const response = await visit.get('/console', { 'if-none-match': etags[i]! })
      await response.text()
      etags[i] = response.headers.get('etag') ?? ''
    }
  }
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1_000 / watchedMs) * 100
}
