// No secret on any VM: real beacons that sign in with tokens of their simulated identities alone, to a real
// relay that reads the issuer's keys over HTTP.
import { afterEach, expect, test } from 'vitest'
import { fleetHeader, reportPath } from '../../shared/report.ts'
import { SUBSCRIPTION } from '../simulator/instance.ts'
import { encode, TENANT_ID } from '../simulator/issuer.ts'
import { expectExactly, postDecision, told } from '../support/expect.ts'
import type { HostName } from '../support/relay-hosts.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage

afterEach(() => stage.stop())

const audience = 'api://foghorn'
const tokens = { FOGHORN_FLEET_KEY: '', FOGHORN_AUDIENCE: audience }

async function start(host: HostName = 'node') {
  const vms = ['web_0', 'web_1']
  stage = await startStage({
    vms: [vms, ['db_0']],
    host,
    config: (_, { controlUrl }) => ({
      fleets: {
        [fleetName]: {
          entra: {
            ...{ tenantId: TENANT_ID, audience, authority: controlUrl },
            ...{ subscriptions: SUBSCRIPTION, resourceGroups: ['rg-web', 'rg-db'] },
          },
        },
      },
    }),
  })
  await stage.startRelay()
  return vms
}

/** A token as the VM's own IMDS gives it. */
async function tokenOf(vm: string): Promise<string> {
  const { url } = stage.simulator.vms.find(({ name }) => name === vm)!
  const query = `api-version=2018-02-01&resource=${audience}`
  const headers = { metadata: 'true' }
  const response = await fetch(`${url}/metadata/identity/oauth2/token?${query}`, { headers })
  return ((await response.json()) as { access_token: string }).access_token
}

test.each(hostsToTry)(
  'an event is told, approved and started through tokens alone, on %s; none of them leaks',
  {
    timeout: 60_000,
  },
  async (host) => {
    const vms = await start(host)
    const { simulator } = stage
    const clientId = '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11'
    const beacons = [
      ...vms.map((vm) => stage.startBeacon(vm, tokens)),
      stage.startBeacon('db_0', { ...tokens, FOGHORN_IDENTITY_CLIENT_ID: clientId }),
    ]
    await Promise.all(beacons.map((beacon) => beacon.waitFor('report_accepted')))
    const eventId = simulator.createEvent({ Resources: ['web_1'], impactSeconds: 1 })
    await postDecision(await stage.approveLink(eventId))
    await told(stage, 'completed')
    await expectExactly(stage, eventId, ['scheduled', 'approved', 'started', 'completed'])
    await Promise.all(stage.programs.map((program) => program.stop()))
    const left = [
      ...stage.programs.map(({ name, output }) => ({ name, text: output })),
      ...(await stage.files()),
    ]
    // how the header and the claims of each begin
    const marks = ['{"typ":"JWT"', '{"aud":"api'].map((text) => encode(text).slice(0, -2))
    expect(await tokenOf('web_0')).toMatch(new RegExp(`^${marks[0]}.*\\.${marks[1]}`))
    const leaks = left.filter(({ text }) => marks.some((mark) => text.includes(mark)))
    expect(leaks.map(({ name }) => name)).toEqual([])
  },
)

test("a VM's token does not speak for its neighbour", { timeout: 60_000 }, async () => {
  await start()
  const { url } = stage.simulator.vms.find(({ name }) => name === 'web_1')!
  const headers = { metadata: 'true' }
  const instance = await fetch(`${url}/metadata/instance?api-version=2021-02-01`, { headers })
  const { compute } = (await instance.json()) as { compute: Record<string, string> }
  const post = async (vm: string) =>
    fetch(`${stage.relayUrl}${reportPath}`, {
      method: 'POST',
      headers: { [fleetHeader]: fleetName, authorization: `Bearer ${await tokenOf(vm)}` },
      body: JSON.stringify({
        version: 1,
        vm: {
          name: compute.name,
          vmId: compute.vmId,
          resourceGroup: compute.resourceGroupName,
          subscriptionId: compute.subscriptionId,
          scaleSet: compute.vmScaleSetName,
        },
        beacon: { version: '0', bootId: 'boot-of-a-thief', counter: 1, uptimeMs: 1 },
        ...{ document: null, changes: [], starts: [] },
      }),
    })
  const stolen = await post('web_0')
  expect([stolen.status, await stolen.json()]).toMatchObject([401, { code: 'token_invalid' }])
  expect((await post('web_1')).status).toBe(200)
})

test('a beacon that gets no token reports as soon as it has one', { timeout: 60_000 }, async () => {
  await start()
  stage.simulator.fault({ endpoint: 'identity', status: 503, vm: 'web_0', times: 2 })
  const beacon = stage.startBeacon('web_0', tokens)
  const failed = await beacon.waitFor('relay_failing')
  expect(failed.reason).toMatch(/^no token to report with: IMDS answered 503/)
  await beacon.waitFor('token_recovered')
  await beacon.waitFor('report_accepted')
})
