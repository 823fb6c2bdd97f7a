// A person who has a link but cannot decide must not keep an approver from deciding, neither by
// junk nor by forms of the page itself.
import { beforeEach, expect, test } from 'vitest'
import { rightRate } from '../../functions/links/guard.ts'
import { createListToken } from '../../functions/links/link.ts'
import { formsOf } from '../support/form.ts'
import { forge, linkOf, press, submit, watch } from '../support/people.ts'
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

/** Statuses of this many requests at one instant. */
async function flood(send: () => Promise<Response> | Response): Promise<number[]> {
  const statuses = []
  for (let i = 0; i < many; i++) statuses.push((await send()).status)
  return statuses
}

/** The first form, as an approver sees it. */
async function formOf({ 'sec-fetch-site': _, ...headers }: Record<string, string>) {
  // opened from a message: if a link of the relay led to the page, no press counts at once
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
    'a cookie of a sign-in in a form of unknown origin',
    () => submit(world, path, {}, { ...signedIn(bobId), 'sec-fetch-site': 'none' }),
  ],
]

test.each(junk)(
  '%s, again and again: 429 beyond a limit, and she can still decide',
  async (_, send) => {
    const statuses = await flood(send)
    expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
    expect((await press(world, path, 'approve', signedIn())).status).toBe(200)
    const { approvals } = await eventNow()
    expect(approvals).toMatchObject([annInRecord])
  },
)

test.each(junk)('%s costs a person who decides by the link alone nothing', async (_, send) => {
  await begin({})
  await flood(send)
  expect((await press(world, path, 'approve')).status).toBe(200)
})

test('forms of the page that decide nothing are junk, too', async () => {
  await begin({})
  const form = await formOf(signedIn())
  const statuses = await flood(() => submit(world, path, { ...form, decision: 'nonsense' }))
  expect([statuses[0], statuses.at(-1)]).toEqual([400, 429])
  expect((await press(world, path, 'approve')).status).toBe(200)
})

test('junk for one link costs another nothing', async () => {
  await flood(junk[0]![1])
  const other = await forge(world, { channel: 'team' })
  expect((await world.app.request(other, { method: 'POST' })).status).toBe(403)
})

test('junk is logged once a second, with a count', async () => {
  await flood(junk[0]![1])
  world.clock.now += 1_000
  await junk[0]![1]()
  const lines = world.lines.map((line) => JSON.parse(line))
  const counts = lines.filter((line) => line.event === 'forms_refused').map(({ count }) => count)
  expect(counts).toEqual([1, many])
})

test('forms of the page, again and again by the link: she can still look and decide', async () => {
  const form = await formOf(signedIn())
  const statuses = await flood(() => submit(world, path, form))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await flood(() => world.app.request(path))).at(-1)).toBe(429)
  expect((await flood(() => watch(world, path))).at(-1)).toBe(429)
  // a person who has not signed in is sent there
  const busy = await (await world.app.request(path)).text()
  expect(busy).toContain(
    `href="/.auth/login/aad?post_login_redirect_uri=${encodeURIComponent(path)}"`,
  )
  const headers = signedIn()
  expect((await world.app.request(path, { headers })).status).toBe(200)
  expect((await watch(world, path, { headers })).status).toBe(200)
  expect((await submit(world, path, form, headers)).status).toBe(200)
  expect((await eventNow()).approvals).toMatchObject([annInRecord])
})

test('another signed-in person costs her nothing, and has a limit, too', async () => {
  const form = await formOf(signedIn())
  const statuses = await flood(() => submit(world, path, form, signedIn(bobId)))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
})

test('requests of another site from her browser, with a form that it got, cost her nothing', async () => {
  const form = await formOf(signedIn())
  const { 'sec-fetch-site': _, ...cookie } = signedIn()
  const statuses = await flood(() => submit(world, path, form, { ...cookie, origin: 'null' }))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
})

test('if nobody can sign in, a header that names a person has no budget of its own', async () => {
  await begin({})
  const form = await formOf({})
  for (let i = 0; i < many; i++) await submit(world, path, form)
  const busy = await submit(world, path, form, signedIn())
  expect(busy.status).toBe(429)
  expect(await busy.text()).not.toContain('/.auth/')
})

test('junk for a list costs a person who decides one of its events nothing', async () => {
  const keys = [0, 1].map((i) => ({ fleet: 'prod', eventId: `e${i}` }))
  await new FakeBeacon(world, 'web_1').sees(keys.map(({ eventId: id }) => event({ eventId: id })))
  const list = { channel: 'chat', issuedAt: world.clock.now, events: keys }
  path = `/approve/${await createListToken(world.relay.credentials.linkKeys, list)}`
  const form = await formOf(signedIn())
  const wrongPlace = { ...form, event: '1' }
  const statuses = await flood(() => submit(world, path, wrongPlace))
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
  expect((await submit(world, path, form, signedIn())).status).toBe(200)
  expect((await world.getEvent('e0')).body.approvals).toMatchObject([annInRecord])
  expect((await world.getEvent('e1')).body.approvals).toEqual([])
})
