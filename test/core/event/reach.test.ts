// How many VMs an event spares: known after they had time to report.
import { describe, expect, test } from 'vitest'
import { countedAfterMs, sparedBy } from '../../../functions/core/event/reach.ts'
import { at, facts, observer, record } from '../../support/records.ts'
import { createWorld, event, FakeBeacon } from '../../support/world.ts'

const now = at + countedAfterMs
const observers = ['web_0', 'web_1', 'web_2'].map((vm) => observer(vm))

describe('the count', () => {
  test('counts VMs that see it without being hit, and ignores the case of names', () => {
    expect(sparedBy(record({ facts: facts({ resources: ['WEB_0'] }) }), { observers, now })).toBe(2)
    expect(sparedBy(record({ facts: facts({ resources: ['web_9'] }) }), { observers, now })).toBe(3)
    const all = record({ facts: facts({ resources: ['web_0', 'web_1', 'web_2'] }) })
    expect(sparedBy(all, { observers, now })).toBe(0)
  })

  test('counts a VM with two beacons once, and one name in two groups twice', () => {
    const again = [observer('web_1'), observer('WEB_1', { beacon: 'by-token' })]
    expect(sparedBy(record(), { observers: again, now })).toBe(1)
    const groups = [observer('web_1'), observer('web_1', { resourceGroup: 'other' })]
    expect(sparedBy(record(), { observers: groups, now })).toBe(2)
  })

  test('is unknown while VMs are still reporting, and if none does', () => {
    expect(sparedBy(record(), { observers, now: now - 1 })).toBeUndefined()
    expect(sparedBy(record(), { observers: [], now })).toBeUndefined()
    expect(sparedBy(record({ drill: true }), { observers, now })).toBeUndefined()
  })
})

test('a message keeps the count of its commit', async () => {
  const world = await createWorld()
  for (const name of ['web_0', 'web_1', 'web_2']) {
    await new FakeBeacon(world, name).sees([event()])
  }
  await world.drain()
  world.clock.now += countedAfterMs
  const later = new FakeBeacon(world, 'web_3')
  await later.sees([event()])
  const moved = { notBeforeAt: event().notBeforeAt! + 60_000 }
  await later.sees([event(moved)])
  const told = async () => {
    const rows = await world.store.readDeliveries({ fleet: 'prod', eventId: event().eventId })
    const some = rows.filter(({ channel }) => channel === 'chat')
    return some.map(({ id, telling }) => [id, telling.moment, telling.event.spared])
  }
  const first = await told()
  expect(first.map(([, moment, spared]) => [moment, spared])).toEqual([
    ['scheduled', undefined],
    ['changed', 3],
  ])
  // a report of another VM does not change planned messages
  await new FakeBeacon(world, 'web_4').sees([event(moved)])
  await world.drain()
  expect(await told()).toEqual(first)
  expect(world.sent.at(-1)?.body).not.toContain('4 other VMs')
  expect(world.sent.map(({ body }) => body).join()).toContain('3 other VMs report it')
})
