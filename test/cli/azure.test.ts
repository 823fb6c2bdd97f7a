// `foghorn azure check`, beside a relay.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { azure } from '../../functions/cli/azure.ts'
import { describeRefusal as relayRefusal } from '../../functions/cli/relay.ts'
import { arm, startWithAzure, subscription } from '../support/azure.ts'
import { playCommand, refusalOf } from '../support/command.ts'
import { beacon, world } from '../support/relay.ts'
import { adminKey } from '../support/world.ts'

const target = { eventGridAndResourceGraph: { enable: true } }
const policy = { scheduledEventsAdditionalPublishingTargets: target }

function machine(type: string, name: string, more: object = {}) {
  const id = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute/${type}/${name}`
  const own = { resourceGroup: 'rg', subscriptionId: subscription, ...more }
  return { id, name, type: `microsoft.compute/${type}`.toLowerCase(), ...own }
}

const server = createServer(async ({ url, headers }, response) => {
  const answer = await world.app.request(url!, { headers: headers as Record<string, string> })
  response.writeHead(answer.status).end(await answer.text())
})

beforeEach(async () => {
  await startWithAzure()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.close()
  world.store.close()
})

function check(words = ['check']) {
  const { port } = server.address() as AddressInfo
  const environment = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
  return playCommand('azure', azure, words, environment)
}

test('sets that publish and not, and VMs without a beacon', async () => {
  const set = machine('virtualMachineScaleSets', 'flexible').id
  arm.options.rows = {
    resources: [
      machine('virtualMachineScaleSets', 'uniform', { inner: policy }),
      machine('virtualMachineScaleSets', 'flexible'),
      machine('virtualMachines', 'web_0', { set }),
      machine('virtualMachines', 'web_1', { set }),
      machine('availabilitySets', 'db', { policy }),
    ],
  }
  await beacon.sees([])
  const { code, out } = await check()
  expect(out.trimEnd().split('\n')).toEqual([
    `Azure subscription ${subscription} (fleet prod)`,
    '  2 publish their events: rg/db, rg/uniform',
    '  1 do not: rg/flexible',
    '  2 have no beacon: rg/uniform, rg/web_1',
    '  1 of these are seen by nobody: rg/web_1',
  ])
  expect(code).toBe(1)
})

test('what keeps the relay from reading a subscription', async () => {
  arm.options.canRead = false
  const { code, out } = await check()
  expect(out).toContain('give the identity the role Reader')
  expect(code).toBe(1)
})

test('another word, and a relay without azure', async () => {
  expect(await refusalOf(azure, ['list'])).toBe(
    'there is no "azure list"; write foghorn azure check',
  )
  delete world.relay.outside.azure
  expect((await check()).err).toContain('has no "azure"')
})

test('a relay that is not ours: what it says moves no cursor, and has an end', async () => {
  const said = async (detail: string) =>
    (await relayRefusal('https://x.example', Response.json({ detail }, { status: 500 }))).message
  expect(await said('no \u001b[2J\u202e')).toMatch(/refused: no {1,2}\[2J ?$/)
  expect((await said('x'.repeat(30_000))).length).toBeLessThan(20_100)
})
