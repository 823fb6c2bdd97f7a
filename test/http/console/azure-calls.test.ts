// What a page of the console costs on Azure Tables: a few calls of the storage, and up to three for each event
// or one for each beacon that it shows. Once a minute, "Now" also counts beacons and messages.
import { expect, test } from 'vitest'
import { createApp } from '../../../functions/app.ts'
import type { Table } from '../../../functions/store/azure/table.ts'
import { claimDue, deliverTogether } from '../../../functions/use-cases/deliver.ts'
import { consolePaths } from '../../features/console.ts'
import { asAdmin } from '../../support/console.ts'
import { has } from '../../support/features.ts'
import { MemoryTable } from '../../support/memory-table.ts'
import { azureRows, storeOver } from '../../support/stores.ts'
import { happen, subscribe } from '../../support/subscriptions.ts'
import { createWorld, event, eventId, FakeBeacon, startAt, testKey } from '../../support/world.ts'

const shown = 12
const most = 14 + 3 * shown

test('each page', async () => {
  const world = await createWorld()
  const table = new MemoryTable()
  let calls: string[] = []
  const counted: Table = {
    change: (...of) => table.change(...of),
    read(...of) {
      calls.push(`read ${of.join(' ')}`)
      return table.read(...of)
    },
    list(...of) {
      calls.push(`list ${of.slice(0, 2).join(' ')}`)
      return table.list(...of)
    },
  }
  const relay = { ...world.relay, store: storeOver(azureRows(counted, () => world.clock.now)) }
  const on = { ...world, relay, app: createApp(relay) }
  const seen = Array.from({ length: shown }, (_, i) =>
    event({
      eventId: i === 0 ? eventId : `e${i}`,
      resources: [`web_${i}`],
      notBeforeAt: startAt + (i + 1) * 60_000,
    }),
  )
  const beacons = Array.from({ length: shown }, (_, i) => new FakeBeacon(on, `web_${i}`))
  for (const beacon of beacons) await beacon.sees([])
  await beacons[0]!.sees(seen)
  const other = new FakeBeacon(on, 'db_0', { fleet: 'test', key: testKey })
  await other.sees([event({ eventId: 'other', resources: ['db_0'] })])
  const own = has('subscriptions') ? [`/subscriptions/${(await subscribe(on)).id}`] : []
  await happen(on, 12, { vm: { name: 'web_20' } })
  for (let rounds = 0; rounds < 20; rounds++) {
    for (const group of (await claimDue(relay, 20)).requests) {
      world.channels.answer = () => new Response('no', { status: 400 })
      await deliverTogether(relay, group)
    }
  }
  const visit = await asAdmin(on)
  const costs: Record<string, number> = {}
  for (const path of [
    ...['', '/upcoming', '/events', '/events?q=web', '/events?type=Reboot'],
    ...Object.values(consolePaths),
    ...[`/events/prod/${eventId}`, '/beacons?fleet=prod', '/beacons?fleet=prod&q=web'],
    ...['/beacons?fleet=prod&state=silent', '/channels', '/channels/chat'],
    ...own,
  ]) {
    world.clock.now += 120_000
    calls = []
    const response = await visit.get(`/console${path}`)
    expect([path, response.status]).toEqual([path, 200])
    costs[path] = calls.length
  }
  // a page of failed messages reads each of them
  const mostOf = (path: string) => (/channels\/|subscriptions\//.test(path) ? most + 50 : most)
  expect(Object.entries(costs).filter(([path, cost]) => cost > mostOf(path))).toEqual([])
  expect(costs['/events']).toBeGreaterThan(0)
  world.store.close()
})
