// Subscriptions in the console: what an owner sees, sends again and tests.
import { beforeEach, expect, test } from 'vitest'
import { asAdmin, asToken, resendForms, type Visit } from '../../support/console.ts'
import { formsOf } from '../../support/form.ts'
import { textOf } from '../../support/people.ts'
import { hour, report, startRelay, world } from '../../support/relay.ts'
import { subscribe } from '../../support/subscriptions.ts'
import { askApi } from '../../support/tokens.ts'
import { adminKey, event } from '../../support/world.ts'

const url = 'https://hook.example/in'

beforeEach(async () => {
  await startRelay({ routes: [{ match: { fleet: 'prod' }, channels: ['chat', 'pager'] }] })
  await report(event())
})

const textFor = async (visit: Visit, path: string) => textOf(await visit.get(path))

/** The page of a new one. */
async function made(): Promise<string> {
  const { id } = await subscribe(world, { url, description: 'Inventory' })
  return `/console/subscriptions/${id}`
}

test('a subscription: its messages and a test, for those who may manage', async () => {
  const path = await made()
  const visit = await asAdmin(world)
  expect(await textFor(visit, '/console/channels')).toContain('Inventory Active')
  const form = formsOf(await (await visit.get(path)).text()).find(({ name }) => name !== undefined)!
  const pings = () => world.sent.filter(({ url }) => url === 'https://hook.example/in').length
  const before = pings()
  expect((await visit.post('/console/subscriptions/test', form)).headers.get('location')).toBe(
    `${path}?said=tested`,
  )
  await world.drain()
  expect(await textFor(visit, path)).not.toContain('Answer then')
  expect(await textFor(visit, path)).toContain('Last 24 hours 2 messages, none failed')
  expect(pings()).toBe(before + 1)
  const reader = await asToken(world, ['read'])
  expect(await textFor(reader, '/console/channels')).not.toContain('Inventory')
  expect((await reader.get(path)).status).toBe(404)
  expect((await reader.post('/console/subscriptions/test', form)).status).toBe(403)
})

test('a failed message of a subscription is not sent again by a token that does not see it', async () => {
  await made()
  world.channels.answer = () => new Response('no', { status: 400 })
  await report(event({ resources: ['web_0', 'web_1'] }))
  for (let hours = 0; hours < 26; hours++) await world.pass(hour)
  const admin = await asAdmin(world)
  const own = await asToken(world, ['manage'], ['prod'])
  const foreign = formsOf(await (await own.get('/console/channels/pager')).text()).find(
    ({ id }) => id !== undefined,
  )!
  const listed = await (await admin.get('/console/channels')).text()
  const path = /href="(\/console\/subscriptions\/[^"]+)"/.exec(listed)![1]!
  const { id } = formsOf(await (await admin.get(path)).text()).find((one) => one.id !== undefined)!
  const response = await own.post('/console/subscriptions/replay', { ...foreign, id: id! })
  expect(response.headers.get('location')).toContain('said=not_replayed')
})

test('a paused subscription offers no message again, and a form of an earlier page sends none', async () => {
  await made()
  world.channels.answer = () => new Response('no', { status: 400 })
  await report(event())
  for (let hours = 0; hours < 26; hours++) await world.pass(hour)
  const admin = await asAdmin(world)
  const listed = await (await admin.get('/console/channels')).text()
  const path = /href="(\/console\/subscriptions\/[^"]+)"/.exec(listed)![1]!
  const one = formsOf(await (await admin.get(path)).text()).find(({ id }) => id !== undefined)!
  const all = (await resendForms(admin, path)).at(-1)!
  const id = path.split('/').at(-1)!
  await askApi(world, adminKey, `/v1/subscriptions/${id}/pause`, { method: 'POST' })
  const html = await (await admin.get(path)).text()
  expect(html).toContain('The relay keeps its messages.')
  expect(html).not.toContain('Send again')
  expect(html).not.toContain('Resend')
  for (const [form, to] of [
    [one, '/console/subscriptions/replay'],
    [all, '/console/subscriptions/replay-all'],
  ] as const) {
    const response = await admin.post(to, form)
    expect(response.headers.get('location')).toContain('said=not_replayed')
  }
})
