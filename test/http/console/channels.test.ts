// Channels and subscriptions in the console: what an owner sees, sends again and tests.
import { beforeEach, expect, test } from 'vitest'
import { createSubscription } from '../../../functions/use-cases/subscriptions.ts'
import { asAdmin, asToken, type Visit } from '../../support/console.ts'
import { formsOf } from '../../support/form.ts'
import { textOf } from '../../support/people.ts'
import { hour, report, startRelay, world } from '../../support/relay.ts'
import { askApi } from '../../support/tokens.ts'
import { adminKey, event, usualAnswer } from '../../support/world.ts'

const routes = [
  { match: { fleet: 'prod' }, channels: ['chat', 'pager'] },
  { match: { fleet: 'test' }, channels: ['chat', 'hook'] },
]

beforeEach(async () => {
  await startRelay({ routes })
  world.channels.answer = (request) =>
    request.url.includes('pager') ? new Response('no', { status: 400 }) : usualAnswer(request)
  await report(event())
})

const textFor = async (visit: Visit, path: string) => textOf(await visit.get(path))

async function subscribe() {
  const wish = {
    ...{ url: 'https://hook.example/in', description: 'Inventory', consent: 'ping' as const },
    filter: { fleets: undefined, eventTypes: undefined, moments: undefined, resource: undefined },
  }
  const made = await createSubscription(world.relay, { by: 'admin' }, wish)
  if (made.outcome !== 'created') throw new Error(made.outcome)
  await world.drain()
  return `/console/subscriptions/${made.subscription.id}`
}

test('health, the last success, and what failed', async () => {
  const visit = await asAdmin(world)
  const text = await textFor(visit, '/console/channels')
  expect(text).toMatch(/chat Slack OK 12:00 UTC 0 s ago 0 0/)
  expect(text).toMatch(/pager PagerDuty Failing none yet 0 1/)
  expect(await textFor(visit, '/console/channels/pager')).toMatch(
    /scheduled prod ✗ refused 1 .* HTTP 400/,
  )
  expect((await visit.get('/console/channels/none')).status).toBe(404)
})

test('channels that send nothing come first', async () => {
  const html = await (await (await asAdmin(world)).get('/console/channels')).text()
  const names = [...html.matchAll(/data-key="([^"]+)"/g)].map(([, name]) => name)
  expect(names[0]).toBe('pager')
})

test('what failed in one channel for one reason has one row of the event', async () => {
  await report(event({ resources: ['web_0', 'web_1'] }))
  const { fleet, eventId } = (await world.store.listOpen(['prod'], 1))[0]!
  const visit = await asAdmin(world)
  const html = await (await visit.get(`/console/events/${fleet}/${eventId}`)).text()
  expect([...html.matchAll(/<th scope="row">pager/g)]).toHaveLength(1)
  expect(await textOf(new Response(html))).toMatch(
    /pager changed and before it scheduled ✗ refused/,
  )
})

test('no address and no key of a channel', async () => {
  const visit = await asAdmin(world)
  for (const path of ['/console/channels', '/console/channels/chat', '/console/channels/hook']) {
    expect(await (await visit.get(path)).text()).not.toMatch(/slack-secret|whsec_|hook\.example/)
  }
})

const resendForms = async (visit: Awaited<ReturnType<typeof asAdmin>>, path: string) =>
  formsOf(await (await visit.get(`${path}?resend=1`)).text()).filter(
    ({ name, id }) => name !== undefined && id === undefined,
  )

test('everything that failed is sent again, once the visitor was told how much that is', async () => {
  const visit = await asAdmin(world)
  world.channels.answer = usualAnswer
  expect(await textFor(visit, '/console/channels/pager')).toContain('Resend 1 failed…')
  expect(await textFor(visit, '/console/channels/pager?resend=1')).toContain(
    '1 message failed today. 1 of them concerns an event that is still open.',
  )
  const forms = await resendForms(visit, '/console/channels/pager')
  expect(forms.map(({ which }) => which)).toEqual([undefined, undefined])
  const response = await visit.post('/console/replay-all', forms.at(-1)!)
  expect(response.headers.get('location')).toBe('/console/channels/pager?said=replayed')
  await world.drain()
  expect(await textFor(visit, '/console/channels')).toMatch(
    /pager PagerDuty OK 12:00 UTC 0 s ago 0 0/,
  )
})

test('a token of one fleet sees its channels, and no trace of other fleets in them', async () => {
  const visit = await asToken(world, ['manage'], ['test'])
  const html = await (await visit.get('/console/channels')).text()
  const text = await textOf(new Response(html))
  expect(text).toContain('chat Slack OK')
  expect(text).not.toMatch(/pager|prod|12:00:00/)
  expect((await visit.get('/console/channels/pager')).status).toBe(404)
  const fields = { ...formsOf(html)[0]!, name: 'pager', back: '/channels' }
  await visit.post('/console/replay-all', fields)
  expect(await textFor(await asAdmin(world), '/console/channels')).toMatch(
    /pager PagerDuty Failing none yet 0 1/,
  )
})

test('a subscription: its messages and a test, for those who may manage', async () => {
  const path = await subscribe()
  const visit = await asAdmin(world)
  expect(await textFor(visit, '/console/channels')).toContain('Inventory Active')
  const form = formsOf(await (await visit.get(path)).text()).find(({ name }) => name !== undefined)!
  const pings = () => world.sent.filter(({ url }) => url === 'https://hook.example/in').length
  const before = pings()
  expect((await visit.post('/console/test', form)).headers.get('location')).toBe(
    `${path.slice(0)}?said=tested`,
  )
  await world.drain()
  expect(await textFor(visit, path)).not.toContain('Answer then')
  expect(await textFor(visit, path)).toContain('Last 24 hours 2 messages, none failed')
  expect(pings()).toBe(before + 1)
  const reader = await asToken(world, ['read'])
  expect(await textFor(reader, '/console/channels')).not.toContain('Inventory')
  expect((await reader.get(path)).status).toBe(404)
  expect((await reader.post('/console/test', form)).status).toBe(403)
})

test('a failed message of a subscription is not sent again by a token that does not see it', async () => {
  await subscribe()
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
  const response = await own.post('/console/replay', { ...foreign, id: id! })
  expect(response.headers.get('location')).toContain('said=not_replayed')
})

test('a paused subscription offers no message again, and a form of an earlier page sends none', async () => {
  await subscribe()
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
    [one, '/console/replay'],
    [all, '/console/replay-all'],
  ] as const) {
    const response = await admin.post(to, form)
    expect(response.headers.get('location')).toContain('said=not_replayed')
  }
})
