// A beacon as a process, and a relay whose clock the test moves: killed, it is told silent once;
// stopped on purpose, it says goodbye and has its time to come back.
import { rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import { sentTo } from '../support/deliveries.ts'
import { newFolder } from '../support/folder.ts'
import { Program } from '../support/process.ts'
import { minute, startRelay, world } from '../support/relay.ts'
import { adminKey, FakeBeacon, prodKey } from '../support/world.ts'

const idleMs = 5 * minute
let server: ServerType
let simulator: Simulator
let beacon: Program
let witness: FakeBeacon

beforeEach(async () => {
  await startRelay({ owners: ['hook'] })
  world.relay.host.heartbeats = { paceMs: idleMs }
  simulator = await startSimulator({ vms: [['web_0']] })
  server = await new Promise((resolve) => {
    const started: ServerType = serve(
      { fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' },
      () => resolve(started),
    )
  })
  witness = new FakeBeacon(world, 'web_1')
  beacon = startBeacon()
  await beacon.waitFor('relay_reached')
})
afterEach(async () => {
  if (beacon.running) beacon.kill('SIGKILL')
  await beacon.exited
  server.close()
  await simulator.stop()
  world.store.close()
})

const state = newFolder('beacon')
afterAll(() => rmSync(state, { recursive: true, force: true }))

function startBeacon(): Program {
  return new Program('web_0', 'beacon/main.ts', {
    FOGHORN_RELAY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    FOGHORN_FLEET: 'prod',
    FOGHORN_FLEET_KEY: prodKey,
    FOGHORN_IMDS_URL: simulator.vms[0]!.url,
    FOGHORN_STATE_DIR: state,
  })
}

/** Time passes for the relay, and for a beacon that lives. */
async function pass(ms: number): Promise<void> {
  const until = world.clock.now + ms
  while (world.clock.now < until) {
    await witness.sees([])
    await world.pass(Math.min(minute / 2, until - world.clock.now))
  }
}

const told = () => sentTo(world, 'hook').map(({ json: { data } }) => `${data.form} ${data.vms}`)

async function shown() {
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await world.app.request('/v1/beacons?fleet=prod', { headers })
  const { beacons } = (await response.json()) as { beacons: { vm: string }[] }
  return beacons.find(({ vm }) => vm === 'web_0')
}

test('killed: the owners are told once, and once when it is back', async () => {
  beacon.kill('SIGKILL')
  await beacon.exited
  await pass(3 * idleMs - 1)
  expect(told()).toEqual([])
  await pass(1)
  expect(await shown()).toMatchObject({ state: 'silent' })
  await pass(60 * minute)
  expect(told()).toEqual(['begun web_0'])
  beacon = startBeacon()
  await beacon.waitFor('relay_reached')
  await pass(2 * minute)
  expect(told()).toEqual(['begun web_0', 'over web_0'])
  expect(await shown()).toMatchObject({ state: 'heard' })
})

test('stopped and started again: it said goodbye, and nobody is told', async () => {
  beacon.kill('SIGTERM')
  expect(await beacon.exited).toMatchObject({ code: 0 })
  expect(beacon.entries.map(({ event }) => event).slice(-2)).toEqual([
    'goodbye_sent',
    'beacon_stopped',
  ])
  expect(await shown()).toMatchObject({ state: 'heard', goodbye: { reason: 'stopped' } })
  await pass(14 * minute)
  beacon = startBeacon()
  await beacon.waitFor('relay_reached')
  expect(await shown()).not.toHaveProperty('goodbye')
  await pass(10 * minute)
  expect(told()).toEqual([])
})
