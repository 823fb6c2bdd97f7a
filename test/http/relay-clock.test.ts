// A wrong clock of the relay is the relay's fault: the clocks of most VMs say so.
import { beforeEach, expect, test } from 'vitest'
import { checkPath } from '../../shared/check.ts'
import { fleetHeader } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { healthOf } from '../support/health.ts'
import { hour, minute, second, startRelay, world } from '../support/relay.ts'
import { FakeBeacon, prodKey } from '../support/world.ts'

beforeEach(() => startRelay())

let vms = 0

/** A new VM reports. */
async function heard(clockAheadMs: number): Promise<void> {
  const beacon = new FakeBeacon(world, `vm_${vms++}`)
  beacon.clockAheadMs = clockAheadMs
  await beacon.sees([])
}

const troubles = async () => (await healthOf(world)).troubles ?? []

async function check(): Promise<object> {
  const body = JSON.stringify({ version: 1, vm: null })
  const signed = await sign([prodKey], crypto.randomUUID(), world.clock.now, body)
  const headers = { ...signed, [fleetHeader]: 'prod' }
  return (
    await world.app.request(checkPath, { method: 'POST', body, headers })
  ).json() as Promise<object>
}

const lines = (event: string) => world.lines.filter((line) => line.includes(event))

test('three VMs whose clocks differ by the same: health, log and check blame the relay', async () => {
  for (const late of [0, 10, 20]) await heard(-hour - late * second)
  expect(await troubles()).toEqual([
    expect.stringMatching(/60 min ahead of the clocks of most VMs of fleet "prod"/),
  ])
  expect(await check()).toMatchObject({ relayAheadMs: hour + 10 * second })
  await heard(-hour)
  expect(lines('relay_clock_wrong')).toHaveLength(1)
})

test('once it is right again, nothing is wrong', async () => {
  for (let i = 0; i < 3; i++) await heard(2 * minute)
  expect(await troubles()).toEqual([expect.stringMatching(/2 min behind/)])
  for (let i = 0; i < 4; i++) await heard(0)
  expect(await troubles()).toEqual([])
  expect(await check()).not.toHaveProperty('relayAheadMs')
  expect(lines('relay_clock_right')).toHaveLength(1)
})

test('what clocks showed a while ago proves nothing any more', async () => {
  for (let i = 0; i < 3; i++) await heard(-hour)
  world.clock.now += 15 * minute + 1
  expect(await troubles()).toEqual([])
})

test.each([
  ['two VMs prove nothing', [hour, hour]],
  ['VMs that differ from each other', [hour, 2 * hour, 3 * hour]],
  ['one wrong VM of four', [0, 0, 0, hour]],
  ['less than a minute', [50 * second, 50 * second, 50 * second]],
])('%s', async (_, clocks) => {
  for (const one of clocks) await heard(one)
  expect(await troubles()).toEqual([])
})
