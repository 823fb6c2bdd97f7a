// Tokens of managed identities, as the simulated IMDS hands them out and the control port vouches for them.

import { createPublicKey, verify } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { SUBSCRIPTION } from './instance.ts'
import { TENANT_ID } from './issuer.ts'
import { startSimulator } from './simulator.ts'

const METADATA = { metadata: 'true' }
const USUAL = 'api-version=2018-02-01&resource=api://foghorn'
const COMPUTE = `/subscriptions/${SUBSCRIPTION}/resourceGroups/rg-web/providers/Microsoft.Compute`

async function start() {
  const simulator = await startSimulator({ vms: [['web_0', 'web_1'], ['db_0'], ['api1', 'api2']] })
  onTestFinished(simulator.stop)
  const ask = (vm: string, query = USUAL, headers: Record<string, string> = METADATA) => {
    const { url } = simulator.vms.find(({ name }) => name === vm)!
    return fetch(`${url}/metadata/identity/oauth2/token?${query}`, { headers })
  }
  const claimsOf = async (vm: string, query?: string) => {
    const body = (await (await ask(vm, query)).json()) as Record<string, string>
    const [, claims = ''] = body.access_token!.split('.')
    return { body, claims: JSON.parse(Buffer.from(claims, 'base64url').toString()) }
  }
  return { simulator, ask, claimsOf }
}

test('a token names its VM, and says until when it is good', async () => {
  const { claimsOf } = await start()
  const { body, claims } = await claimsOf('web_1')
  expect(body).toMatchObject({ token_type: 'Bearer', resource: 'api://foghorn' })
  expect(body.expires_on).toBe(String(claims.exp))
  expect(claims).toMatchObject({
    aud: 'api://foghorn',
    iss: `https://sts.windows.net/${TENANT_ID}/`,
    tid: TENANT_ID,
    xms_az_rid: `${COMPUTE}/virtualMachineScaleSets/web/virtualMachines/1`,
    xms_mirid: `${COMPUTE}/virtualMachineScaleSets/web`,
  })
  expect(claims.exp - claims.nbf).toBe(86_400)
})

test('a VM of its own, and one of a flexible set, are named as such', async () => {
  const { claimsOf } = await start()
  for (const vm of ['db_0', 'api1']) {
    const { claims } = await claimsOf(vm)
    expect(claims.xms_az_rid).toMatch(new RegExp(`/Microsoft.Compute/virtualMachines/${vm}$`))
    expect(claims.xms_mirid).toBe(claims.xms_az_rid)
  }
})

test('an assigned identity proves no VM by itself', async () => {
  const { claimsOf } = await start()
  const { claims } = await claimsOf('web_0', `${USUAL}&client_id=beacons`)
  expect(claims.xms_mirid).toMatch(/Microsoft.ManagedIdentity.userAssignedIdentities.beacons$/)
  expect(claims.xms_az_rid).toContain('virtualMachines/0')
})

test('the control port shows the keys that sign, old and new', async () => {
  const { simulator, ask } = await start()
  const keys = async () => {
    const response = await fetch(`${simulator.controlUrl}/${TENANT_ID}/discovery/v2.0/keys`)
    return ((await response.json()) as { keys: { kid: string }[] }).keys
  }
  const [key] = await keys()
  const { access_token: token } = (await (await ask('web_0')).json()) as { access_token: string }
  const end = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  const publicKey = createPublicKey({ key: key as never, format: 'jwk' })
  expect(verify('sha256', Buffer.from(token.slice(0, end)), publicKey, signature)).toBe(true)
  simulator.issuer.rotate()
  expect((await keys()).map(({ kid }) => kid)).toEqual([key!.kid, 'simulated-2'])
  expect((await fetch(`${simulator.controlUrl}/other/discovery/v2.0/keys`)).status).toBe(404)
})

test.each<[string, Record<string, string>]>([
  [USUAL, {}],
  [USUAL, { ...METADATA, 'x-forwarded-for': '10.0.0.1' }],
  ['api-version=2018-02-01', METADATA],
  ['api-version=2020-07-01&resource=x', METADATA],
  ['resource=x', METADATA],
])('?%s with %j is answered 400', async (query, headers) => {
  const { ask } = await start()
  expect((await ask('web_0', query, headers)).status).toBe(400)
})

test('it fails as it is told to, and scheduled events do not', async () => {
  const { simulator, ask } = await start()
  simulator.fault({ endpoint: 'identity', status: 429, retryAfterSeconds: 3, times: 1 })
  const events = `${simulator.vms[0]!.url}/metadata/scheduledevents?api-version=2020-07-01`
  expect((await fetch(events, { headers: METADATA })).status).toBe(200)
  const response = await ask('web_0')
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3'])
  expect((await ask('web_0')).status).toBe(200)
})
