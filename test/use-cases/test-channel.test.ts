// A test message to a configured channel, by the API and the console.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asAdmin, asToken } from '../support/console.ts'
import { answer, down, gone, sentTo } from '../support/deliveries.ts'
import { formsOf } from '../support/form.ts'
import { textOf } from '../support/people.ts'
import { minute, startRelay, world } from '../support/relay.ts'
import { askApi, makeToken } from '../support/tokens.ts'
import { adminKey, baseConfig } from '../support/world.ts'

const channels = { ...(baseConfig.channels as Record<string, object>) }
channels.pager = { ...channels.pager, fallback: 'chat' }
const routes = [
  { match: { fleet: 'prod' }, channels: ['chat', 'team', 'pager'] },
  { match: { fleet: 'test' }, channels: ['hook'] },
]

beforeEach(() => startRelay({ channels, routes }))
afterEach(() => world.store.close())

async function ask(channel: string, key = adminKey) {
  const response = await askApi(world, key, `/v1/channels/${channel}/test`, { method: 'POST' })
  const body = (await response.json()) as ReturnType<typeof JSON.parse>
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
}

describe('the API', () => {
  test.each(['chat', 'team', 'hook'])('sends "%s" one message, marked as a test', async (name) => {
    const { status, body } = await ask(name)
    expect(status).toBe(202)
    expect(body.delivery).toMatchObject({ channel: name, moment: 'alert', state: 'pending' })
    await world.pass(minute)
    expect(world.sent).toHaveLength(1)
    expect(world.sent[0]!.body).toContain(`Test of channel`)
    expect(world.sent[0]!.body).toContain('Nobody has to act')
  })

  test('opens an incident in PagerDuty and resolves it', async () => {
    const tryOnce = async () => {
      await ask('pager')
      await world.pass(minute)
      const bodies = sentTo(world, 'pager').map(({ json }) => json)
      world.sent.length = 0
      return bodies
    }
    const first = await tryOnce()
    expect(first.map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve'])
    expect(first[0].payload).toMatchObject({ severity: 'info', source: 'Foghorn' })
    const keys = [...first, ...(await tryOnce())].map(({ dedup_key }) => dedup_key)
    expect([keys[0] === keys[1], new Set(keys).size]).toEqual([true, 2])
  })

  test('accepts one test of a channel in 10 s', async () => {
    await ask('chat')
    const { status, retryAfter, body } = await ask('chat')
    expect([status, retryAfter, body.code]).toEqual([429, '10', 'test_too_soon'])
    expect((await ask('team')).status).toBe(202)
    world.clock.now += 10_000
    expect((await ask('chat')).status).toBe(202)
    await world.drain()
    expect(sentTo(world, 'slack')).toHaveLength(2)
  })

  test('accepts a test after the clock was set back', async () => {
    await ask('chat')
    world.clock.now -= minute
    expect((await ask('chat')).status).toBe(202)
  })

  test.each([gone, down])(
    'a test that fails goes nowhere else, but a trouble does',
    async (how) => {
      answer(world, 'pager', how)
      await ask('pager')
      for (let passed = 0; passed < 10; passed++) await world.pass(minute)
      const texts = sentTo(world, 'slack').map(({ body }) => body)
      expect(texts).toHaveLength(1)
      expect(texts[0]).toMatch(/refuses all messages|cannot be reached/)
      // a test is about no event
      expect(texts[0]).toContain('About Foghorn itself.')
    },
  )

  test('tries a channel that refused everything before', async () => {
    answer(world, 'slack', gone)
    await ask('chat')
    await world.drain()
    answer(world, 'slack', () => new Response('ok'))
    world.clock.now += 11_000
    await ask('chat')
    await world.drain()
    const list = await (await askApi(world, adminKey, '/v1/channels')).json()
    const { channels: shown } = list as { channels: object[] }
    expect(shown[0]).toEqual({ name: 'chat', kind: 'slack', by: 'webhook', state: 'ok' })
  })

  test('needs a channel that exists, and that the token may see', async () => {
    const { token } = await makeToken(world, { scopes: ['manage'], fleets: ['test'] })
    expect((await ask('hook', token)).status).toBe(202)
    const [hidden, none] = [await ask('chat', token), await ask('none', token)]
    expect([hidden.status, hidden.body.code]).toEqual([404, 'channel_unknown'])
    expect(hidden.body.detail.replace('chat', 'none')).toBe(none.body.detail)
    expect((await ask('toString')).status).toBe(404)
  })
})

describe('the console', () => {
  const path = '/console/channels/chat'

  test('sends it, and shows what became of it', async () => {
    const visit = await asAdmin(world)
    const form = formsOf(await (await visit.get(path)).text()).find(({ name }) => name === 'chat')!
    const response = await visit.post('/console/test', form)
    expect(response.headers.get('location')).toBe(`${path}?said=tested`)
    const shown = async () => textOf(await visit.get(path))
    expect(await shown()).toContain('Last test … pending, sent at 12:00 UTC')
    await world.drain()
    expect(await shown()).toContain('Last test ✓ delivered, sent at 12:00 UTC')
    const again = await visit.post('/console/test', form)
    expect(again.headers.get('location')).toBe(`${path}?said=too_soon`)
  })

  test('refuses a form of another site, a token that may only read, and a hidden channel', async () => {
    const admin = await asAdmin(world)
    const form = formsOf(await (await admin.get(path)).text()).find(({ name }) => name === 'chat')!
    const foreign = await admin.post('/console/test', form, { origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    expect((await admin.post('/console/test', { ...form, form: 'x' })).status).toBe(403)
    const reader = await asToken(world, ['read'])
    expect(await (await reader.get(path)).text()).not.toContain('Send a test message')
    expect((await reader.post('/console/test', form)).status).toBe(403)
    const bound = await asToken(world, ['manage'], ['test'])
    const own = formsOf(await (await bound.get('/console/channels/hook')).text()).find(
      ({ name }) => name === 'hook',
    )!
    const hidden = await bound.post('/console/test', { ...own, name: 'chat' })
    expect(hidden.headers.get('location')).toContain('said=no_test')
    await world.drain()
    expect(world.sent).toEqual([])
  })
})
