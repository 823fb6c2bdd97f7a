// Azure changes the VMs of an event, and the documents of some VMs show that up to a minute later. People are told
// each change once.
import { afterEach, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../../support/azure.ts'
import { hour, second, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

afterEach(() => world.store.close())

interface Fleet {
  /** How many seconds the document of each VM is behind. */
  lags: Record<string, number>
  /** Seconds. Absent: nobody reads Azure's list. */
  listLag?: number
}

const fleets: [string, Fleet][] = [
  ['the affected VM is behind', { lags: { web_0: 50, x1: 0, x2: 0 } }],
  ['two onlookers are behind', { lags: { web_0: 0, x1: 50, x2: 50 } }],
  ['onlookers are behind each other', { lags: { web_0: 50, x1: 0, x2: 20, x3: 30 } }],
  ['two affected VMs are behind', { lags: { web_0: 50, web_1: 30, x1: 0, x2: 0, x3: 0 } }],
  ['the VMs have no beacon', { lags: { x1: 0, x2: 20, x3: 50 } }],
  [
    'more onlookers than have a place',
    { lags: { x1: 0, x2: 50, x3: 0, x4: 50, x5: 20, x6: 30, x7: 0 } },
  ],
  ["with Azure's list", { lags: { web_0: 0, x1: 50, x2: 50 }, listLag: 120 }],
  ["with Azure's list and no beacon on the VMs", { lags: { x1: 0, x2: 20, x3: 50 }, listLag: 240 }],
]
const changes = [
  ['web_0', 'web_1'],
  ['web_0', 'web_1', 'web_2'],
  ['web_0', 'web_1', 'web_2', 'web_3'],
  ['web_0', 'web_1', 'web_2', 'web_3', 'web_4'],
  ['web_0', 'web_1', 'web_2', 'web_3'],
  ['web_0', 'web_1', 'web_2'],
]
const everySeconds = 200

test.each(fleets)('%s', async (_who, { lags, listLag }) => {
  await startWithAzure({}, { routes: [{ match: {}, channels: ['hook'] }] })
  const later = event({ notBeforeAt: world.clock.now + 3 * hour, resources: changes[0]! })
  const shownAt = (at: number) =>
    changes[Math.min(changes.length - 1, Math.max(0, Math.floor(at / everySeconds)))]!
  const beacons = Object.entries(lags).map(([vm, lag]) => ({ one: new FakeBeacon(world, vm), lag }))
  for (let at = 0; at < changes.length * everySeconds; at += 10) {
    const vms = listLag === undefined ? undefined : shownAt(at - listLag)
    if (vms) list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1, vms }))
    for (const { one, lag } of beacons) await one.sees([{ ...later, resources: shownAt(at - lag) }])
    await world.pass(10 * second)
  }
  const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  expect(facts.resources).toEqual(changes.at(-1))
  expect(world.sent).toHaveLength(changes.length)
})
