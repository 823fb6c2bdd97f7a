// Reports of many events or many VMs wait for each other, within one fleet.
import { expect, test } from 'vitest'
import { createReportQueues, queued } from '../../../functions/use-cases/large-reports.ts'
import { createWorld, event, FakeBeacon } from '../../support/world.ts'

const reportOf = (events: number, names = 0) => {
  const shown = event({ resources: Array.from({ length: names }, (_, i) => `web_${i}`) })
  const document = { ageMs: 0, apiVersion: '2020-07-01', unreadable: 0, hidden: [] }
  return { document: { ...document, events: Array(events).fill(shown) }, changes: [] }
}

/** Work that ends when the test ends it. */
function startWork() {
  const clock = { now: 0 }
  const reportQueues = createReportQueues()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const add = (name: string, fleet = 'prod', report = reportOf(21)) =>
    queued({ reportQueues, now: () => clock.now }, { fleet, report }, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  return { clock, reportQueues, begun, ends, add }
}

test('two of a fleet at a time, in their order; small ones and other fleets do not wait', async () => {
  const { reportQueues, begun, ends, add } = startWork()
  const results = ['a', 'b', 'c', 'd'].map((name) => add(name))
  void add('small', 'prod', reportOf(19, 10))
  const other = add('other', 'test')
  expect(begun).toEqual(['a', 'b', 'small', 'other'])
  ends.get('b')!()
  expect(await results[1]).toBe('b')
  expect(begun.at(-1)).toBe('c')
  for (const name of ['a', 'c', 'other']) ends.get(name)!()
  await results[2]
  ends.get('d')!()
  expect(await Promise.all([...results, other])).toEqual(['a', 'b', 'c', 'd', 'other'])
  expect(reportQueues.ofFleet.size).toBe(0)
})

test('a report that fails gives its place to the next one', async () => {
  const relay = { reportQueues: createReportQueues(), now: () => 0 }
  const large = { fleet: 'prod', report: reportOf(19, 800) }
  const fail = () => queued(relay, large, () => Promise.reject(new Error('no')))
  const failed = await Promise.allSettled([fail(), fail(), fail(), fail()])
  expect(failed.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  expect(relay.reportQueues.ofFleet.size).toBe(0)
})

test('a report that does not end keeps others waiting for 30 s', async () => {
  const { clock, begun, add } = startWork()
  for (const name of ['a', 'b', 'c']) void add(name)
  clock.now = 29_999
  void add('d')
  expect(begun).toEqual(['a', 'b'])
  clock.now = 30_000
  void add('e')
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})

test('if too many wait, the next one is busy', async () => {
  const { add } = startWork()
  for (let i = 0; i < 52; i++) void add(`${i}`)
  expect(await add('late')).toBe('busy')
})

test('the relay joins two large reports of a fleet at a time', async () => {
  const world = await createWorld()
  const held: (() => void)[] = []
  const { readBeacon } = world.store
  world.store.readBeacon = async (...key) => {
    await new Promise<void>((resolve) => held.push(resolve))
    return readBeacon.apply(world.store, key)
  }
  const events = Array.from({ length: 21 }, (_, i) => event({ eventId: `e${i}` }))
  const sent = ['vm1', 'vm2', 'vm3'].map((vm) => new FakeBeacon(world, vm).sees(events))
  await expect.poll(() => held.length).toBe(2)
  held[0]!()
  // whichever of the two came first
  await Promise.race(sent)
  await expect.poll(() => held.length).toBe(3)
  for (const one of held) one()
  await Promise.all(sent)
  world.store.close()
})
