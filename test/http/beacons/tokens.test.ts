// Beacons that prove their VM by a token of its managed identity, over HTTP: what such a token
// opens, what it does not, and how it lives beside the fleet's key.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEntra } from '../../../functions/identity/entra.ts'
import type { Report } from '../../../shared/report.ts'
import { type ClaimSet, Issuer } from '../../simulator/issuer.ts'
import { audience, claimsFor, subscriptionId, tenantId } from '../../support/issuer.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, prodKey, startAt, testKey } from '../../support/world.ts'

const issuer = new Issuer()
const entra = { tenantId, audience, subscriptions: subscriptionId, resourceGroups: 'rg' }
/** `prod` accepts tokens only, `test` either, `old` the key only. */
const fleets = {
  prod: { entra },
  test: { key: testKey, entra: { ...entra, audience: 'api://test' } },
  old: { key: prodKey },
}

let isAway: boolean

beforeEach(async () => {
  isAway = false
  const identity = createEntra({
    fetch: async () => (isAway ? new Response(null, { status: 503 }) : keys()),
    now: Date.now,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
  await startRelay({ fleets }, { identity })
})

afterEach(() => world.store.close())

const keys = () => Response.json(issuer.jwks())

interface Options {
  fleet?: string
  claims?: ClaimSet
  vm?: Partial<Report['vm']>
}

/** The beacon of a VM with its own token, unless `claims` change it. */
function beaconOf(name: string, { fleet = 'prod', claims = {}, vm = {} }: Options = {}) {
  const token = issuer.sign(claimsFor(name, startAt, claims))
  return new FakeBeacon(world, name, { fleet, token, vm: { subscriptionId, ...vm } })
}

/** Expects a problem with nothing stored, logged without the token, and returns its detail. */
async function refused(
  post: Promise<Response>,
  code: string,
  { status = 401, token = '' } = {},
): Promise<string> {
  const before = await world.store.contents()
  const response = await post
  const body = (await response.json()) as Record<string, unknown>
  expect([response.status, body.code]).toEqual([status, code])
  expect(response.headers.get('content-type')).toContain('application/problem+json')
  expect(await world.store.contents()).toEqual(before)
  // The log has one line a second for each reason.
  world.clock.now += 1_000
  const logged = world.lines.map((line) => JSON.parse(line)).at(-1)
  expect(logged).toMatchObject({ event: 'report_refused', code, detail: body.detail })
  const said = JSON.stringify(body) + world.lines.join()
  for (const part of token.split('.')) if (part !== '') expect(said).not.toContain(part)
  return String(body.detail)
}

/** Posts a report that has to be refused, and returns why. */
function refusalOf(beacon: FakeBeacon, code = 'token_invalid', status = 401): Promise<string> {
  const { token = '' } = beacon
  return refused(beacon.post(beacon.body([event()])), code, { status, token })
}

describe('a VM with a token of its own', () => {
  test('can report, and people are notified of its event', async () => {
    expect(await beaconOf('web_0').sees([event()])).toMatchObject({ outcome: 'accepted' })
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    expect(world.lines.join()).not.toContain('eyJ')
  })

  test('is known by what its token proves, whatever its vmId', async () => {
    for (const vmId of ['', 'id-prod-web_1', 'another']) {
      await beaconOf('web_0', { vm: { vmId } }).sees([event()])
    }
    const beacons = [JSON.stringify(await world.store.contents())]
    expect(beacons.join()).toContain(`${subscriptionId}/rg/web_0`)
    // the row keeps what the VM says of itself, for inventories only
    const said = String.raw`\"vmId\":\"another\"`
    expect(beacons.join()).toContain(said)
    expect(beacons.join().replaceAll(said, '')).not.toContain('another')
    expect(await world.store.readBeacon('prod', 'another')).toBeUndefined()
    expect(await world.store.readBeacon('prod', `${subscriptionId}/rg/web_0`)).toMatchObject({
      vm: 'web_0',
      retiredBootIds: [expect.any(String), expect.any(String)],
    })
  })

  test("can't report as another", async () => {
    const thief = beaconOf('web_0', { vm: { name: 'web_1' } })
    const detail = await refusalOf(thief)
    expect(detail).toContain('vm.name is "web_1"')
    expect(detail).toContain('proves "web_0"')
  })

  test("can't retire the boot of another by its vmId, nor answer for its directive", async () => {
    const approve = { policy: [{ match: {}, decide: 'approve' }] }
    world.store.close()
    const { identity } = world.relay.credentials
    await startRelay({ fleets, ...approve }, { identity })
    const victim = beaconOf('web_1', { vm: { vmId: 'the-same' } })
    const thief = beaconOf('web_0', { vm: { vmId: 'the-same' } })
    const first = await victim.sees([event()])
    expect(first.directives).toMatchObject([{ eventId }])
    // It reports the start that the other VM's directive asked for.
    const accepted = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
    await thief.sees([event()], { starts: [accepted] })
    const steps = () => eventNow()
    expect((await steps()).azureAccepted).toBeUndefined()
    expect(await victim.sees([event()], { starts: [accepted] })).toMatchObject({
      outcome: 'accepted',
    })
    expect((await steps()).azureAccepted).toMatchObject({ vm: 'web_1' })
  })

  test('proves an instance of its scale set, if its token is of the set', async () => {
    const set = `/subscriptions/${subscriptionId}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/web`
    const claims = { xms_az_rid: undefined, xms_mirid: set }
    await beaconOf('web_7', { claims, vm: { scaleSet: 'web' } }).sees([event()])
    const outside = beaconOf('db_0', { claims, vm: { scaleSet: 'web' } })
    expect(await refusalOf(outside)).toContain('begin with "web_"')
  })
})

// Each claim has its test in test/identity.
describe('a token is refused', () => {
  test.each<[string, ClaimSet, string]>([
    [
      'for another audience',
      { aud: 'https://vault.azure.net' },
      '"aud" is "https://vault.azure.net"',
    ],
    [
      'from outside of the allow-list',
      {
        xms_az_rid: `/subscriptions/${subscriptionId}/resourceGroups/x/providers/Microsoft.Compute/virtualMachines/web_0`,
      },
      'the resource group "x"',
    ],
  ])('%s', async (_, claims, said) => {
    expect(await refusalOf(beaconOf('web_0', { claims }))).toContain(said)
  })

  test('if another issuer made it, before the body is parsed', async () => {
    const beacon = beaconOf('web_0')
    beacon.token = new Issuer().sign(claimsFor('web_0', startAt), { kid: issuer.key.kid })
    const { token } = beacon
    expect(await refused(beacon.post('{"version":'), 'token_invalid', { token })).toContain(
      'signature',
    )
  })

  test('in another fleet than the one whose audience it has', async () => {
    expect(await refusalOf(beaconOf('web_0', { fleet: 'test' }))).toContain('accepts "api://test"')
    const claims = { aud: 'api://test' }
    await beaconOf('web_0', { fleet: 'test', claims }).sees([event()])
    expect((await world.getEvent(eventId, 'test')).status).toBe(200)
    expect((await world.getEvent(eventId, 'prod')).status).toBe(404)
  })

  test('in a fleet that accepts none', async () => {
    const detail = await refusalOf(beaconOf('web_0', { fleet: 'old' }), 'signature_invalid')
    expect(detail).toContain('"entra"')
  })

  test('with 503 rather than 401 while the keys of the tenant cannot be read', async () => {
    isAway = true
    const detail = await refusalOf(beaconOf('web_0'), 'identity_unavailable', 503)
    expect(detail).toContain(`/${tenantId}/discovery/v2.0/keys: `)
  })
})

describe('without a token', () => {
  const bare = async (headers: Record<string, string>, fleet: string) =>
    world.app.request('/v1/reports', {
      method: 'POST',
      body: '{}',
      headers: { 'x-foghorn-fleet': fleet, ...headers },
    })

  test.each(['', 'Basic abc', 'Bearer', 'Bearer a b', 'token'])(
    'but with the Authorization %j, a fleet of tokens names them',
    async (authorization) => {
      const detail = await refused(bare({ authorization }, 'prod'), 'signature_invalid')
      expect(detail).toContain('Authorization: Bearer')
      expect(detail).toContain('FOGHORN_AUDIENCE')
      expect(detail).not.toContain('webhook')
    },
  )

  test('a fleet of both names both', async () => {
    const detail = await refused(bare({}, 'test'), 'signature_invalid')
    expect(detail).toContain('webhook-signature')
    expect(detail).toContain('Authorization: Bearer')
  })

  test('a fleet of keys does not mention tokens', async () => {
    expect(await refused(bare({}, 'old'), 'signature_invalid')).not.toContain('token')
  })

  test('but signed, a fleet of tokens says that it accepts no signatures', async () => {
    const beacon = new FakeBeacon(world, 'web_0', { key: prodKey })
    expect(await refusalOf(beacon, 'signature_invalid')).toContain('accepts no signatures')
  })
})

describe('a fleet of both', () => {
  const claims = { aud: 'api://test' }

  test('accepts either, and notifies of an event once', async () => {
    await new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey }).sees([event()])
    await beaconOf('web_1', { fleet: 'test', claims }).sees([event()])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('stores a VM that switches from the key to a token as a new beacon', async () => {
    const before = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    const after = beaconOf('web_0', { fleet: 'test', claims })
    await before.sees([event()])
    await after.sees([event()])
    // Neither retires the other, so that a VM can switch back, too.
    expect(await before.sees([event()])).toMatchObject({ outcome: 'accepted' })
    expect(await after.sees([event()])).toMatchObject({ outcome: 'accepted' })
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('checks the signature if a request has both', async () => {
    const beacon = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    const authorization = 'Bearer of-a-proxy'
    const response = await beacon.post(beacon.body([event()]), { headers: { authorization } })
    expect(response.status).toBe(200)
    const thief = new FakeBeacon(world, 'web_1', { fleet: 'test', key: prodKey })
    const good = `Bearer ${issuer.sign(claimsFor('web_0', startAt, claims))}`
    const headers = { authorization: good }
    const detail = await refused(
      thief.post(thief.body([event()]), { headers }),
      'signature_invalid',
    )
    expect(detail).toContain('FOGHORN_FLEET_KEY')
  })
})
