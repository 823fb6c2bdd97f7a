// The order within the lists of features: what they bring commutes, but for the pairs that have a test of their own
// here. The stages of an event are in test/sim/order.test.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { consoleParts } from '../../functions/features/faces.ts'
import * as jobLists from '../../functions/features/jobs.ts'
import { loads } from '../../functions/features/loads.ts'
import { nodeAbilities } from '../../functions/features/node.ts'
import { createSnapshots } from '../../functions/http/console/snapshot.ts'
import { routes } from '../../functions/http/routes.ts'
import { jobs } from '../../functions/use-cases/jobs.ts'
import { sentTo } from '../support/deliveries.ts'
import { has } from '../support/features.ts'
import { newFolder } from '../support/folder.ts'
import { minute, second, startRelay, world } from '../support/relay.ts'
import { FakeBeacon } from '../support/world.ts'

const home = join(import.meta.dirname, '../../functions/features')
const files = readdirSync(home).filter((name) => name.endsWith('.ts'))

/** Lists of several entries whose order says nothing, as a test below shows, or whose order is what people see. */
const commuting = ['apiRoutes', 'consoleParts', 'loads', 'nodeAbilities', 'sweeps', 'displays']
/** Their pairs have tests. */
const ordered = ['jobs']

interface List {
  name: string
  isArray: boolean
  entries: string[]
}

function listsIn(text: string): List[] {
  return [...text.matchAll(/export const (\w+)(?:: .+)? = (\[|\{)([\w\s.,]*)[\]}]/g)].map(
    ([, name = '', bracket, body = '']) => ({
      name,
      isArray: bracket === '[',
      entries: body.split(',').flatMap((one) => one.trim().replace('...', '') || []),
    }),
  )
}

beforeEach(() => startRelay({ owners: ['hook'] }))
afterEach(() => world.store.close())

const duplicates = (names: string[]) => names.filter((name, i) => names.indexOf(name) !== i)

test.each(files)(
  'in %s, objects share no name, and lists of several entries have a test',
  async (file) => {
    const text = readFileSync(join(home, file), 'utf8')
    const paths = new Map(
      [...text.matchAll(/import \{([^}]*)\} from '(\.\/[^']+)'/g)].flatMap(
        ([, names = '', path = '']) => names.split(',').map((name) => [name.trim(), path] as const),
      ),
    )
    expect(listsIn(text)).toHaveLength(text.match(/^export const /gm)!.length)
    for (const { name, isArray, entries } of listsIn(text)) {
      if (isArray) {
        if (entries.length > 1) expect([...commuting, ...ordered, 'stages'], file).toContain(name)
        continue
      }
      const objects = entries.map(async (one) => (await import(join(home, paths.get(one)!)))[one])
      const names = (await Promise.all(objects)).flatMap((one) => Object.keys(one))
      expect(duplicates(names), name).toEqual([])
    }
  },
)

test('no request has two routes', () => {
  const partsOf = (path: string) => path.split('/').slice(1)
  const fits = (one: string[], other: string[]): boolean => {
    const [a, b] = [one[0], other[0]]
    if (a?.startsWith('{+') || b?.startsWith('{+')) return true
    if (a === undefined || b === undefined) return a === b
    return (a.startsWith('{') || b.startsWith('{') || a === b) && fits(one.slice(1), other.slice(1))
  }
  const pairs = routes.flatMap((one, i) =>
    routes
      .slice(i + 1)
      .filter(
        (other) => one.method === other.method && fits(partsOf(one.path), partsOf(other.path)),
      )
      .map((other) => `${one.method} ${one.path} ${other.path}`),
  )
  expect(pairs).toEqual([])
})

test('no page of the console has two features, and no load and no ability two values', async () => {
  const snapshots = createSnapshots(world.relay, { readParts: [], absentReaders: [] })
  const parts = consoleParts.map((part) => part(world.relay, snapshots))
  expect(duplicates(parts.flatMap(({ gets }) => Object.keys(gets)))).toEqual([])
  expect(duplicates(parts.flatMap(({ posts }) => Object.keys(posts)))).toEqual([])
  const loaded = await Promise.all(loads.map((load) => load(world.store, true)))
  expect(duplicates(loaded.flatMap((one) => Object.keys(one)))).toEqual([])
  const file = {
    folder: newFolder('lists'),
    copyTo: async () => {},
    disk: async () => ({ freeBytes: 1, totalBytes: 1 }),
  }
  const abilities = nodeAbilities.map((ability) =>
    ability({ file, rereadConfig: async () => ({ outcome: 'accepted' as const }) }),
  )
  expect(duplicates(abilities.flatMap((one) => Object.keys(one)))).toEqual([])
})

const alerts = () =>
  sentTo(world, 'hook').filter(({ json }) => json.type?.startsWith('foghorn.alert'))

/** Results in the order of the list, and in the other. */
async function inBothOrders<One>(list: readonly One[], happens: () => Promise<unknown>) {
  const results: unknown[] = []
  for (const order of [list, list.toReversed()]) {
    await startRelay({ owners: ['hook'] })
    const own = list as One[]
    const before = [...own]
    own.splice(0, own.length, ...order)
    try {
      results.push(await happens())
    } finally {
      own.splice(0, own.length, ...before)
      world.store.close()
    }
  }
  await startRelay()
  return results
}

test.runIf(has('silence'))('in any order, no sweep tells of a beacon that is back', async () => {
  const results = await inBothOrders(jobLists.sweeps, async () => {
    world.relay.host.heartbeats = { paceMs: 5 * minute }
    const web = new FakeBeacon(world, 'web_0')
    await web.sees([])
    for (let i = 0; i < 29; i++) await world.pass(30 * second)
    await web.sees([])
    await world.pass(2 * minute)
    const told = alerts().length
    for (let i = 0; i < 40; i++) await world.pass(30 * second)
    return [told, alerts().length]
  })
  // it is silent in the end
  expect(results).toEqual([
    [0, 1],
    [0, 1],
  ])
})

test.runIf(has('silence'))(
  'what is old is forgotten first: the alert about it ends at once',
  async () => {
    const results = await inBothOrders(jobs, async () => {
      world.relay.host.heartbeats = { paceMs: 5 * minute }
      await new FakeBeacon(world, 'web_0').sees([])
      for (let i = 0; i < 40; i++) await world.pass(30 * second)
      world.clock.now += 7 * 1_440 * minute
      for (const job of jobs) await job.run(world.relay)
      await world.pass(2 * minute)
      return alerts().map(({ json }) => json.data.form)
    })
    expect(results).toEqual([['begun', 'over'], ['begun']])
  },
)
