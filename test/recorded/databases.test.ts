// Databases as relays wrote them, one of each format. Who changes the format writes what brings an older
// one up to date, and records a database of the new format. Never change a recorded file.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { formatVersion } from '../../functions/store/sqlite.ts'
import { newFolder } from '../support/folder.ts'
import { startRelay, world } from '../support/relay.ts'
import { askApi } from '../support/tokens.ts'
import { adminKey, eventId, FakeBeacon } from '../support/world.ts'

const formats = readdirSync(import.meta.dirname).flatMap(
  (name) => /^format-(\d+)\.sqlite\.gz$/.exec(name)?.[1] ?? [],
)

test('there is one of the format that this relay writes', () => {
  expect(formats).toContain(String(formatVersion))
})

test.each(formats)(
  'one of format %s has all that it had, and the relay goes on with it',
  async (format) => {
    const path = join(newFolder('recorded'), 'foghorn.sqlite')
    const recorded = join(import.meta.dirname, `format-${format}.sqlite.gz`)
    writeFileSync(path, gunzipSync(readFileSync(recorded)))
    await startRelay({}, { path })
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
    world.clock.now += 10 * 60_000
    await new FakeBeacon(world, 'web_1').sees([])
    await world.pass(60_000)
    await new FakeBeacon(world, 'web_1').sees([])
    await world.drain()
    expect((await read('events/prod/open-one')).outcome).toBeDefined()
    world.store.close()
  },
)
