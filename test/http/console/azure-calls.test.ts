// What a page of the console costs on Azure Tables: at most ten calls of the storage.
import { expect, test } from 'vitest'
import { createApp } from '../../../functions/app.ts'
import { claimDue, deliverTogether } from '../../../functions/use-cases/deliver.ts'
import { Table } from '../../sim/table.ts'
import { storeOn } from '../../support/azure-store.ts'
import { asAdmin } from '../../support/console.ts'
import { expandAll, happen, subscribe } from '../../support/subscriptions.ts'
import { createWorld, event, eventId, FakeBeacon, startAt, testKey } from '../../support/world.ts'

const most = 10

test('each page', async () => {
  const world = await createWorld()
  const rows = new Table().plain()
  let calls: string[] = []
  const counted = {
    ...{ change: rows.change.bind(rows) },
    read: (...of: Parameters<typeof rows.read>) => {
      calls.push(`read ${of.join(' ')}`)
      return rows.read(...of)
    },
    list: (...of: Parameters<typeof rows.list>) => {
      calls.push(`list ${of[0]}`)
      return rows.list(...of)
    },
  }
  const relay = { ...world.relay, store: storeOn(counted) }
  const on = { ...world, relay, app: createApp(relay) }
  const seen = Array.from({ length: 12 }, (_, i) =>
    event({
      eventId: i === 0 ? eventId : `e${i}`,
      resources: [`web_${i}`],
      notBeforeAt: startAt + (i + 1) * 60_000,
    }),
  )
  const beacons = Array.from({ length: 12 }, (_, i) => new FakeBeacon(on, `web_${i}`))
  for (const beacon of beacons) await beacon.sees([])
  await beacons[0]!.sees(seen)
  const other = new FakeBeacon(on, 'db_0', { fleet: 'test', key: testKey })
  await other.sees([event({ eventId: 'other', resources: ['db_0'] })])
  const { id } = await subscribe(on)
  await happen(on, 12, { vm: { name: 'web_20' } })
  await expandAll(on)
  for (let rounds = 0; rounds < 20; rounds++) {
    for (const group of await claimDue(relay, 20)) {
      world.channels.answer = () => new Response('no', { status: 400 })
      await deliverTogether(relay, group)
    }
  }
  const visit = await asAdmin(on)
  const costs: Record<string, number> = {}
  for (const path of [
    ...['', '/upcoming', '/events', '/events?q=web', '/events?type=Reboot', '/insights'],
    ...[`/events/prod/${eventId}`, '/beacons?fleet=prod', '/beacons?fleet=prod&q=web'],
    ...['/beacons?fleet=prod&state=silent', '/channels', '/channels/chat'],
    `/subscriptions/${id}`,
  ]) {
    world.clock.now += 120_000
    calls = []
    const response = await visit.get(`/console${path}`)
    expect([path, response.status]).toEqual([path, 200])
    costs[path] = calls.length
  }
  expect(Object.entries(costs).filter(([, cost]) => cost > most)).toEqual([])
  expect(costs['/events']).toBeGreaterThan(0)
  world.store.close()
})
