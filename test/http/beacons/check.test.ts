// A beacon's check, over HTTP: authenticated as a report is, answered with what the relay knows, and
// nothing is stored.
import { describe, expect, test, vi } from 'vitest'
import { createApp } from '../../../functions/app.ts'
import { createEntra } from '../../../functions/identity/entra.ts'
import { checkAnswerSchema, checkPath, maxCheckBytes } from '../../../shared/check.ts'
import { sign } from '../../../shared/signature.ts'
import { Issuer } from '../../simulator/issuer.ts'
import { audience, claimsFor, subscriptionId, tenantId } from '../../support/issuer.ts'
import { expectRefused, type Post } from '../../support/refused.ts'
import { beacon, relayForEach, startRelay, world } from '../../support/relay.ts'
import { event, prodKey, startAt, testKey } from '../../support/world.ts'

relayForEach()

const vm = { name: 'web_0', vmId: 'id-prod-web_0', resourceGroup: 'rg' }

async function signed(body: unknown, { key = prodKey, at = world.clock.now } = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return post(text, { ...(await sign([key], 'msg', at, text)) })
}

function post(body: string, headers: Record<string, string>, fleet = 'prod') {
  const init = { method: 'POST', body, headers: { 'x-foghorn-fleet': fleet, ...headers } }
  return world.app.request(checkPath, init)
}

const check = { version: 1, vm }

test('it answers the name of the beacon, and when it was heard last', async () => {
  expect(await (await signed(check)).json()).toEqual({
    ...{ fleet: 'prod', time: startAt, beacon: 'id-prod-web_0' },
  })
  await beacon.sees([event()])
  world.clock.now += 90_000
  const answer = await (await signed(check)).json()
  expect(answer).toEqual({
    ...{
      fleet: 'prod',
      time: startAt + 90_000,
      beacon: 'id-prod-web_0',
      heardAt: startAt,
      state: 'heard',
    },
  })
  expect(checkAnswerSchema.parse(answer)).toEqual(answer)
})

test('without a VM it still shows that the credential is accepted', async () => {
  const response = await signed({ version: 1, vm: null })
  expect(await response.json()).toEqual({ fleet: 'prod', time: startAt })
})

test('it takes a turn: many at once keep no report waiting', async () => {
  const { host } = world.relay
  const pause = vi.spyOn(host, 'pause')
  world.app = createApp({ ...world.relay, host })
  expect((await signed(check)).status).toBe(200)
  expect(pause).toHaveBeenCalledTimes(1)
})

test('it stores nothing, and the running beacon goes on', async () => {
  await beacon.sees([event()])
  const before = await world.store.contents()
  for (let i = 0; i < 3; i++) expect((await signed(check)).status).toBe(200)
  expect(await world.store.contents()).toEqual(before)
  await beacon.sees([event()])
})

describe('refused', () => {
  const refused = (send: Post, status: number, code: string) =>
    expectRefused(world, send, status, code)

  test('a signature with the key of another fleet, or none', async () => {
    await refused(() => signed(check, { key: testKey }), 401, 'signature_invalid')
    await refused(async () => post(JSON.stringify(check), {}), 401, 'signature_invalid')
  })

  test.each([
    ['no JSON', '{'],
    ['no VM', { version: 1 }],
    ['another version', { ...check, version: 2 }],
    ['a VM without a name', { version: 1, vm: { ...vm, name: '' } }],
  ])('a body with %s', async (_, body) => {
    await refused(() => signed(body), 400, 'check_malformed')
  })

  test('a body that is too large', async () => {
    const large = JSON.stringify(check).padEnd(maxCheckBytes + 1)
    await refused(() => signed(large), 413, 'body_too_large')
  })
})

test('a token gives the proven name, and only its own VM may use it', async () => {
  const issuer = new Issuer()
  const token = issuer.sign(claimsFor('web_0', startAt))
  const identity = createEntra({
    fetch: async () => Response.json(issuer.jwks()),
    now: Date.now,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
  world.store.close()
  const entra = { tenantId, audience, resourceGroups: 'rg' }
  await startRelay({ fleets: { prod: { entra } } }, { identity })
  const send = async (name: string) => {
    const body = { version: 1, vm: { ...vm, name, subscriptionId } }
    return post(JSON.stringify(body), { authorization: `Bearer ${token}` })
  }
  const answer = await (await send('web_0')).json()
  expect(answer).toMatchObject({ beacon: `${subscriptionId}/rg/web_0` })
  await expectRefused(world, () => send('web_1'), 401, 'token_invalid')
})
