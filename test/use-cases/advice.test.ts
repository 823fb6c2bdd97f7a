// Azure's advice that it may soon evict a Spot VM: people are told once, and nobody decides.
import { expect, test } from 'vitest'
import { linkOf, textOf } from '../support/people.ts'
import {
  beacon,
  eventNow,
  minute,
  outcome,
  relayForEach,
  report,
  startRelay,
  world,
} from '../support/relay.ts'
import { askApi } from '../support/tokens.ts'
import { adminKey, baseConfig, event, eventId, FakeBeacon } from '../support/world.ts'

const advice = () => event({ eventType: 'SpotRebalanceRecommendation' })
const sentTo = (host: string) => world.sent.filter(({ url }) => url.includes(host))

relayForEach(() => report(advice()))

test('people are told without a question, and no incident opens', async () => {
  const [message, ...others] = sentTo('slack')
  expect(message!.body).toContain('Azure may reclaim web_0 soon')
  expect(message!.body).toContain('there is nothing to decide')
  expect(message!.body).not.toMatch(/Restart|press the button|12:15/)
  expect(others).toEqual([])
  expect(sentTo('pager')).toEqual([])
})

test('no incident opens either if a route matches once the VM itself reports', async () => {
  const routes = [
    { match: {}, channels: ['hook'] },
    { match: { tag: 'tier=web' }, channels: ['chat', 'pager'] },
  ]
  await startRelay({ routes })
  await new FakeBeacon(world, 'db_0').sees([advice()])
  beacon.vm.tags = { tier: 'web' }
  await report(advice())
  expect([sentTo('slack').length, sentTo('pager').length]).toEqual([1, 0])
})

test('no incident opens either if a chat refuses it and an incident is the fallback', async () => {
  const { chat, pager } = baseConfig.channels as Record<string, object>
  await startRelay({
    channels: { chat: { ...chat, fallback: 'pager' }, pager },
    owners: ['chat'],
    routes: [{ match: {}, channels: ['chat'] }],
  })
  world.channels.answer = () => new Response('invalid_blocks', { status: 400 })
  await report(advice())
  await world.drain()
  expect([sentTo('slack').length > 0, sentTo('pager')]).toEqual([true, []])
})

test('nobody can decide it', async () => {
  const answer = await askApi(world, adminKey, `/v1/events/prod/${eventId}/decision`, {
    method: 'POST',
    body: JSON.stringify({ decision: 'approve' }),
  })
  expect([answer.status, await answer.json()]).toMatchObject([409, { code: 'nothing_to_decide' }])
  const page = await textOf(await world.app.request(linkOf(world)))
  expect(page).toContain('Nothing to decide')
  expect(page).not.toContain('Let Azure')
  expect((await eventNow()).policy.decide).toBe('notify')
})

test('no reminder comes, and it ends silently for people', async () => {
  await world.pass(14 * minute)
  await report(advice())
  await report()
  await world.pass(minute)
  expect(sentTo('slack')).toHaveLength(1)
  expect(await outcome()).toEqual({ phase: 'cancelled', outcome: 'cancelled' })
  // a program that prepared needs to know
  expect(sentTo('hook').at(-1)!.body).toContain('foghorn.event.cancelled')
})

test('an eviction that follows is told in full', async () => {
  const preempt = event({ eventId: 'evicted', eventType: 'Preempt' })
  await report(preempt)
  expect(sentTo('slack')).toHaveLength(2)
  expect(sentTo('slack').at(-1)!.body).toContain('Preempt of web_0')
  expect(sentTo('pager')).toHaveLength(1)
})

test.each([
  ['approve', 1],
  ['ignore', 0],
])('a rule that matches it with %s', async (decide, messages) => {
  await startRelay({ policy: [{ match: { eventType: 'SpotRebalanceRecommendation' }, decide }] })
  await report(advice())
  expect((await eventNow()).approvals).toEqual([])
  expect(sentTo('slack')).toHaveLength(messages)
})
