// What relays wrote: a database of SQLite of each format, and the rows on Azure. If you change the format, write the
// upgrade, and record new files with FOGHORN_RECORDED=write. Never change a recorded file.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Entity } from '../../functions/store/azure/table.ts'
import { formatVersion } from '../../functions/store/sqlite.ts'
import { newFolder } from '../support/folder.ts'
import { MemoryTable } from '../support/memory-table.ts'
import { minute, startRelay, world } from '../support/relay.ts'
import { openStore, storeOnTable, type TestStore } from '../support/stores.ts'
import { askApi, makeToken } from '../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon, startAt, started } from '../support/world.ts'

const here = import.meta.dirname
const formatsOf = (pattern: RegExp) =>
  readdirSync(here).flatMap((name) => pattern.exec(name)?.[1] ?? [])
const databases = formatsOf(/^format-(\d+)\.sqlite\.gz$/)
const tables = formatsOf(/^format-(\d+)\.azure\.gz$/)

/** Entities by their partition. */
type Dump = [string, Entity[]][]

function openDatabase(format: string): TestStore {
  const path = join(newFolder('recorded'), 'foghorn.sqlite')
  writeFileSync(path, gunzipSync(readFileSync(join(here, `format-${format}.sqlite.gz`))))
  return openStore(path)
}

function openTable(format: string): TestStore {
  const table = new MemoryTable()
  const text = gunzipSync(readFileSync(join(here, `format-${format}.azure.gz`)))
  for (const [partition, entities] of JSON.parse(String(text)) as Dump) {
    for (const { row, text } of entities) table.changeNow(partition, [{ kind: 'put', row, text }])
  }
  return storeOnTable(table, () => world?.clock.now ?? startAt)
}

const write = async (path: string, body: object) => {
  expect((await askApi(world, adminKey, path, { method: 'POST', body })).status).toBeLessThan(300)
}

test.runIf(process.env.FOGHORN_RECORDED === 'write')('records rows as Azure has them', async () => {
  const table = new MemoryTable()
  await startRelay({}, { store: storeOnTable(table, () => world?.clock.now ?? startAt) })
  const web = new FakeBeacon(world, 'web_0')
  await web.sees([event()])
  await world.drain()
  await write(`/v1/events/prod/${eventId}/decision`, { decision: 'approve' })
  await world.drain()
  await web.sees([event()])
  await web.sees([started()])
  await world.pass(minute)
  await web.sees([])
  await world.pass(minute)
  await web.sees([])
  await world.drain()
  await new FakeBeacon(world, 'web_1').sees([
    event({ eventId: 'open-one', eventType: 'Redeploy', resources: ['web_1'] }),
  ])
  await makeToken(world, { name: 'inventory' })
  await write('/v1/subscriptions', { url: 'https://inventory.example/hook' })
  await world.drain()
  const file = join(here, `format-${formatVersion}.azure.gz`)
  writeFileSync(file, gzipSync(JSON.stringify(table.contents())))
})

test('there is one of the format that this relay writes', () => {
  expect(databases).toContain(String(formatVersion))
  expect(tables).toContain(String(formatVersion))
})

test.each([
  ...databases.map((format) => ['database', format, openDatabase] as const),
  ...tables.map((format) => ['table', format, openTable] as const),
])(
  'a %s of format %s has all that it had, and the relay goes on with it',
  async (_, format, open) => {
    await startRelay({}, { store: open(format) })
    const read = async (of: string) =>
      (await askApi(world, adminKey, `/v1/${of}`)).json() as Promise<ReturnType<typeof JSON.parse>>
    const { events } = await read('events')
    expect(events).toMatchObject([
      { eventId: 'open-one', phase: 'scheduled', eventType: 'Redeploy', resources: ['web_1'] },
      { eventId, phase: 'completed', outcome: 'completed', approvals: [{ decision: 'approved' }] },
    ])
    const whole = await read(`events/prod/${eventId}`)
    expect(whole.history.map(({ what }: { what: string }) => what)).toContain('completed')
    const states = new Set(whole.deliveries.map(({ state }: { state: string }) => state))
    expect([...states]).toEqual(['delivered'])
    expect((await read('beacons?fleet=prod')).beacons).toMatchObject([
      { vm: 'web_0' },
      { vm: 'web_1' },
    ])
    expect((await read('tokens')).tokens).toMatchObject([{ name: 'inventory' }])
    expect((await read('subscriptions')).subscriptions).toMatchObject([{ state: 'active' }])
    world.clock.now += 10 * minute
    await new FakeBeacon(world, 'web_1').sees([])
    await world.pass(minute)
    await new FakeBeacon(world, 'web_1').sees([])
    await world.drain()
    expect((await read('events/prod/open-one')).outcome).toBeDefined()
    world.store.close()
  },
)
