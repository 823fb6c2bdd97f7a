// Whoever holds a link, and may decide nothing by it, keeps nobody from deciding who may: neither by junk nor
// by forms of the page itself.
import { beforeEach, expect, test } from 'vitest'
import { rightRate } from '../../functions/links/guard.ts'
import { createListToken } from '../../functions/links/link.ts'
import { formsOf } from '../support/form.ts'
import { forge, linkOf, press, submit } from '../support/people.ts'
import { ann, annInRecord, bobId, signedIn, tenant } from '../support/principals.ts'
import { eventNow, startWithEvent, world } from '../support/relay.ts'
import { event, FakeBeacon } from '../support/world.ts'

const channels = ['chat', 'team', 'pager', 'hook']
const many = rightRate.burst + 1
let path: string

async function begin(config: object) {
  await startWithEvent(config)
  path = linkOf(world)
}

beforeEach(() =>
  begin({ signIn: { tenantId: tenant }, routes: [{ match: {}, channels, approvers: [ann] }] }),
)

/** Statuses of so many requests at one instant. */
async function flood(send: () => Promise<Response> | Response): Promise<number[]> {
  const statuses = []
  for (let i = 0; i < many; i++) statuses.push((await send()).status)
  return statuses
}

/** The first form as it was shown to somebody who may decide. */
async function formOf({ 'sec-fetch-site': _, ...headers }: Record<string, string>) {
  // opened from a message: a page that one's own link led to counts no press at once
  const html = await (await world.app.request(path, { headers })).text()
  return { ...formsOf(html)[0], decision: 'approve' }
}

const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
const junk: [string, () => Promise<Response> | Response][] = [
  ['no form', () => world.app.request(path, { method: 'POST' })],
  ['a form of another site', () => submit(world, path, { decision: 'approve' }, foreign)],
  ['JSON', () => submit(world, path, {}, { 'content-type': 'application/json' })],
  ['a form without its token', () => submit(world, path, { decision: 'approve' })],
  ['a made-up token', () => submit(world, path, { decision: 'approve', form: '1-0.AAAA' })],
  [
    'a cookie of a sign-in in a form of who knows what',
    () => submit(world, path, {}, { ...signedIn(bobId), 'sec-fetch-site': 'none' }),
  ],
]

test.each(junk)(
  '%s, again and again: beyond a bound 429, and she still decides',
  async (_, send) => {
    const statuses = await flood(send)
    expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
    expect((await press(world, path, 'approve', signedIn())).status).toBe(200)
    const { approvals } = await eventNow()
    expect(approvals).toMatchObject([annInRecord])
  },
)

test.each(junk)('%s takes nothing from whoever decides by the link alone', async (_, send) => {
  await begin({})
  await flood(send)
  expect((await press(world, path, 'approve')).status).toBe(200)
})

test('junk to one link takes nothing from another', async () => {
  await flood(junk[0]![1])
  const other = await forge(world, { channel: 'team' })
  expect((await world.app.request(other, { method: 'POST' })).status).toBe(403)
})

test('junk is logged once a second, with how much it was', async () => {
  await flood(junk[0]![1])
  world.clock.now += 1_000
  await junk[0]![1]()
  const lines = world.lines.map((line) => JSON.parse(line))
  const counts = lines.filter((line) => line.event === 'forms_refused').map(({ count }) => count)
  expect(counts).toEqual([1, many])
})

test('forms of the page, again and again by the link: she still looks and decides', async () => {
  const form = await formOf(signedIn())
  const statuses = await flood(() => submit(world, path, form))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await flood(() => world.app.request(path))).at(-1)).toBe(429)
  expect((await flood(() => world.app.request(`${path}/state`))).at(-1)).toBe(429)
  // who has not signed in yet is led there
  const busy = await (await world.app.request(path)).text()
  expect(busy).toContain(
    `href="/.auth/login/aad?post_login_redirect_uri=${encodeURIComponent(path)}"`,
  )
  const headers = signedIn()
  expect((await world.app.request(path, { headers })).status).toBe(200)
  expect((await world.app.request(`${path}/state`, { headers })).status).toBe(200)
  expect((await submit(world, path, form, headers)).status).toBe(200)
  expect((await eventNow()).approvals).toMatchObject([annInRecord])
})

test('somebody else who is signed in takes nothing from her, and has a bound, too', async () => {
  const form = await formOf(signedIn())
  const statuses = await flood(() => submit(world, path, form, signedIn(bobId)))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
})

test('what another site sends from her browser, with a form that it was shown, costs her nothing', async () => {
  const form = await formOf(signedIn())
  const { 'sec-fetch-site': _, ...cookie } = signedIn()
  const statuses = await flood(() => submit(world, path, form, { ...cookie, origin: 'null' }))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
})

test('where nobody signs in, a header that says so has no budget of its own', async () => {
  await begin({})
  const form = await formOf({})
  for (let i = 0; i < many; i++) await submit(world, path, form)
  const busy = await submit(world, path, form, signedIn())
  expect(busy.status).toBe(429)
  expect(await busy.text()).not.toContain('/.auth/')
})

test('a list: junk to it takes nothing from whoever decides one of its events', async () => {
  const keys = [0, 1].map((i) => ({ fleet: 'prod', eventId: `e${i}` }))
  await new FakeBeacon(world, 'web_1').sees(keys.map(({ eventId: id }) => event({ eventId: id })))
  const list = { channel: 'chat', issuedAt: world.clock.now, events: keys }
  path = `/approve/${await createListToken(world.relay.linkKeys, list)}`
  const form = await formOf(signedIn())
  const wrongPlace = { ...form, event: '1' }
  const statuses = await flood(() => submit(world, path, wrongPlace))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
  expect((await world.getEvent('e0')).body.approvals).toMatchObject([annInRecord])
  expect((await world.getEvent('e1')).body.approvals).toEqual([])
})
