// Channels in the console: what an owner sees, sends again and tests.
import { beforeEach, expect, test } from 'vitest'
import { asAdmin, asToken, resendForms, type Visit } from '../../support/console.ts'
import { formsOf } from '../../support/form.ts'
import { textOf } from '../../support/people.ts'
import { report, startRelay, world } from '../../support/relay.ts'
import { event, usualAnswer } from '../../support/world.ts'

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

test('health, the last success, and what failed', async () => {
  const visit = await asAdmin(world)
  const text = await textFor(visit, '/console/channels')
  expect(text).toMatch(/chat Slack fleet prod; fleet test OK 12:00 UTC 0 s ago 0 0 Test chat/)
  expect(text).toMatch(/pager PagerDuty fleet prod Failing none yet 0 1 newest 0 s ago/)
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

test('what failed for one reason has one row on the page of its channel, and each can be sent again', async () => {
  await report(event(), event({ eventId: 'other', resources: ['web_7'] }))
  const html = await (await (await asAdmin(world)).get('/console/channels/pager')).text()
  expect([...html.matchAll(/data-label="Result"/g)]).toHaveLength(1)
  expect(await textOf(new Response(html))).toMatch(
    /Reboot of web_\d scheduled prod and 1 with the same answer Reboot of web_\d scheduled prod Send again/,
  )
  const sent = formsOf(html).filter(({ id }) => id !== undefined)
  expect(new Set(sent.map(({ id }) => id)).size).toBe(2)
})

test('no address and no key of a channel', async () => {
  const visit = await asAdmin(world)
  for (const path of ['/console/channels', '/console/channels/chat', '/console/channels/hook']) {
    expect(await (await visit.get(path)).text()).not.toMatch(/slack-secret|whsec_|hook\.example/)
  }
})

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
    /pager PagerDuty fleet prod OK 12:00 UTC 0 s ago 0 0/,
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
    /pager PagerDuty fleet prod Failing none yet 0 1 newest 0 s ago/,
  )
})
