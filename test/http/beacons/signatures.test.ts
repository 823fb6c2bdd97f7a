// The signature of a report: of a configured fleet, with its key, about now. Any other changes
// nothing. In each row of the table, all parts are right except the one that the row names.
import { describe, expect, test } from 'vitest'
import { sign } from '../../../shared/signature.ts'
import { expectRefused, type Post } from '../../support/refused.ts'
import { beacon, relayForEach, startRelay, world } from '../../support/relay.ts'
import { adminKey, createWorld, event, FakeBeacon, prodKey, testKey } from '../../support/world.ts'

relayForEach()

const refused = (post: Post, status: number, code: string) =>
  expectRefused(world, post, status, code)

describe('the signature', () => {
  const send = (headers: Record<string, string>) => () =>
    beacon.post(beacon.body([event()]), { headers })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('no %s', async (header) => {
    const detail = await refused(send({ [header]: '' }), 401, 'signature_invalid')
    expect(detail).toContain(header)
  })

  test.each([
    ['nonsense', 'nonsense'],
    ['another version', 'v2,AAAA'],
    ['not base64', 'v1,&&&&'],
    ['of another length', 'v1,AAAA'],
    ['a well-formed lie', `v1,${'A'.repeat(43)}=`],
    [
      'many lies',
      Array(100)
        .fill(`v1,${'A'.repeat(43)}=`)
        .join(' '),
    ],
  ])('a signature that is %s', async (_, signature) => {
    await refused(send({ 'webhook-signature': signature }), 401, 'signature_invalid')
  })

  test('another id, or a body changed by one letter', async () => {
    await refused(send({ 'webhook-id': 'another' }), 401, 'signature_invalid')
    const whole = JSON.stringify(beacon.body([event()]))
    const signed = await beaconHeaders(whole)
    const changed = whole.replace('Scheduled', 'Started')
    const post = async () =>
      world.app.request('/v1/reports', { method: 'POST', body: changed, headers: signed })
    await refused(post, 401, 'signature_invalid')
  })

  /** Headers that sign `body` with the key of `prod`. */
  async function beaconHeaders(body: string): Promise<Record<string, string>> {
    const signature = await sign([prodKey], 'msg', world.clock.now, body)
    return { 'x-foghorn-fleet': 'prod', ...signature }
  }

  test.each([[{ fleet: 'prod', key: testKey }], [{ fleet: 'test', key: prodKey }]])(
    "one fleet's key for the other: %o",
    async (options) => {
      const thief = new FakeBeacon(world, 'web_0', options)
      const detail = await refused(
        () => thief.post(thief.body([event()])),
        401,
        'signature_invalid',
      )
      expect(detail).toContain('FOGHORN_FLEET_KEY')
    },
  )

  test.each(['unknown', 'PROD', 'constructor', '__proto__', 'prod ,test'])(
    'a fleet that is not configured: %s',
    async (fleet) => {
      const stranger = new FakeBeacon(world, 'web_0', { fleet })
      const detail = await refused(() => stranger.post(stranger.body([])), 401, 'fleet_unknown')
      expect(detail).toContain(JSON.stringify(fleet))
    },
  )

  test('no fleet', async () => {
    const body = JSON.stringify(beacon.body([event()]))
    const { 'x-foghorn-fleet': _, ...headers } = await beaconHeaders(body)
    const post = async () => world.app.request('/v1/reports', { method: 'POST', body, headers })
    expect(await refused(post, 401, 'fleet_unknown')).toContain('x-foghorn-fleet')
  })

  test.each([-301_000, 301_000])('a clock %i ms off is told the time', async (offset) => {
    const post = () => beacon.post(beacon.body([event()]), { at: world.clock.now + offset })
    await refused(post, 401, 'clock_outside_tolerance')
    expect(await (await post()).json()).toMatchObject({ time: world.clock.now })
  })

  test.each([-300_000, 300_000])('a clock %i ms off is near enough', async (offset) => {
    const response = await beacon.post(beacon.body([event()]), { at: world.clock.now + offset })
    expect(response.status).toBe(200)
  })

  test.each(['soon', '-5', '1e9', '12345678901234'])('timestamp %j', async (timestamp) => {
    await refused(send({ 'webhook-timestamp': timestamp }), 401, 'signature_invalid')
  })

  test('an old key is valid while both are configured', async () => {
    const fleets = { prod: { key: [testKey, prodKey] } }
    const both = await createWorld({ config: { fleets } })
    for (const key of [testKey, prodKey]) {
      await new FakeBeacon(both, `web-${key.length}`, { key }).sees([event()])
    }
    await both.drain()
    expect(both.told()).toHaveLength(1)
  })
})

test('while a key is being replaced, owners see which VMs still use the old one', async () => {
  const [fresh, old] = [`whsec_${'a'.repeat(43)}=`, prodKey]
  await startRelay({ fleets: { prod: { key: [fresh, old] } } })
  const beacons = ['web_0', 'web_1'].map((vm) => new FakeBeacon(world, vm, { key: old }))
  for (const one of beacons) await one.sees([])
  const shown = async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const { beacons: all } = (await (
      await world.app.request('/v1/beacons', { headers })
    ).json()) as {
      beacons: { vm: string; usesOldKey?: true }[]
    }
    return all.map(({ vm, usesOldKey = false }) => [vm, usesOldKey])
  }
  expect(await shown()).toEqual([
    ['web_0', true],
    ['web_1', true],
  ])
  await new FakeBeacon(world, 'web_1', { key: fresh }).sees([])
  expect(await shown()).toEqual([
    ['web_0', true],
    ['web_1', false],
  ])
})
