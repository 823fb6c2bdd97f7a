// Refused requests do not fill the log: each kind of refusal has one line a second, with a count.
// Wrong admin keys are limited everywhere; the right one always works.
import { beforeEach, describe, expect, test } from 'vitest'
import { linkOf, watch } from '../support/people.ts'
import { annId, signedIn, tenant } from '../support/principals.ts'
import { signIn } from '../support/record-form.ts'
import { startRelay, startWithEvent, world } from '../support/relay.ts'
import { adminKey, event, FakeBeacon, testKey } from '../support/world.ts'

beforeEach(async () => {
  const slackApp = { signingSecret: '0'.repeat(32), team: 'T0TEAM' }
  await startRelay({ slackApp })
})

function linesOf(name: string) {
  return world.lines.map((line) => JSON.parse(line)).filter((line) => line.event === name)
}

const wrongKey = (i: number) =>
  world.app.request('/v1/events', { headers: { authorization: `Bearer wrong-${i}` } })

const floods: [string, string, (i: number) => Promise<Response> | Response][] = [
  [
    'presses without a signature',
    'slack_refused',
    () => world.app.request('/slack/interactions', { method: 'POST', body: 'payload={}' }),
  ],
  [
    'reports without a signature',
    'report_refused',
    () => new FakeBeacon(world, 'web_0').post('{}', { headers: { 'webhook-signature': '' } }),
  ],
  [
    'reports of made-up fleets',
    'report_refused',
    (i) => new FakeBeacon(world, 'web_0', { fleet: `made-up-${i}` }).post('{}'),
  ],
  ['wrong keys of the API', 'admin_key_wrong', wrongKey],
  ['wrong keys in the form', 'admin_key_wrong', (i) => signIn(world, `wrong-${i}`)],
]

test.each(floods)(
  '500 %s: one line; a second later one that counts them',
  async (_, name, send) => {
    for (let i = 0; i < 500; i++) await send(i)
    expect(linesOf(name).map(({ count }) => count)).toEqual([1])
    world.clock.now += 999
    await send(500)
    expect(linesOf(name)).toHaveLength(1)
    world.clock.now += 1
    await send(501)
    expect(linesOf(name).map(({ count }) => count)).toEqual([1, 501])
    expect(world.lines.join()).not.toContain('wrong-')
  },
)

test('another reason or another fleet is another kind', async () => {
  const unsigned = { headers: { 'webhook-signature': '' } }
  for (let i = 0; i < 3; i++) {
    await new FakeBeacon(world, 'web_0').post('{}', unsigned)
    await new FakeBeacon(world, 'web_0').post('nonsense')
    await new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey }).post('nonsense')
  }
  const told = linesOf('report_refused').map(({ fleet, code, count }) => [fleet, code, count])
  expect(told).toEqual([
    ['prod', 'signature_invalid', 1],
    ['prod', 'report_malformed', 1],
    ['test', 'report_malformed', 1],
  ])
})

describe('wrong keys of the API', () => {
  test('ten in a minute get 401, more get 429 and Retry-After', async () => {
    const statuses = []
    for (let i = 0; i < 12; i++) statuses.push((await wrongKey(i)).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    const response = await wrongKey(12)
    expect(await response.json()).toMatchObject({ code: 'too_many_wrong_keys', status: 429 })
    expect(response.headers.get('retry-after')).toBe('60')
    world.clock.now += 60_000
    expect((await wrongKey(13)).status).toBe(401)
  })

  test('the right one always works, and wrong ones do not lock the sign-in form', async () => {
    for (let i = 0; i < 500; i++) await wrongKey(i)
    const headers = { authorization: `Bearer ${adminKey}` }
    expect((await world.app.request('/v1/events', { headers })).status).toBe(200)
    expect((await signIn(world, 'mistyped')).status).toBe(403)
  })

  test('a request without a key does not count as a wrong one', async () => {
    for (let i = 0; i < 50; i++) {
      expect((await world.app.request('/v1/events')).status).toBe(401)
    }
    expect(linesOf('admin_key_wrong')).toEqual([])
    expect((await wrongKey(0)).status).toBe(401)
  })
})

test('the open page of a guest of another tenant: one line, however often it polls', async () => {
  await startWithEvent({ signIn: { tenantId: tenant } })
  const guest = signedIn(annId, '99999999-0000-4000-8000-000000000009')
  for (const headers of [guest, { 'x-ms-client-principal': '{}' }]) {
    for (let i = 0; i < 20; i++) {
      await world.app.request(linkOf(world), { headers })
      await watch(world, linkOf(world), { headers })
    }
  }
  expect(linesOf('principal_ignored').map(({ reason, count }) => [reason, count])).toEqual([
    ['other_tenant', 1],
    ['malformed', 1],
  ])
})

test('reports are still accepted', async () => {
  for (let i = 0; i < 100; i++) await new FakeBeacon(world, 'web_0').post('nonsense')
  const answer = await new FakeBeacon(world, 'web_0').sees([event()])
  expect(answer).toBeDefined()
})
