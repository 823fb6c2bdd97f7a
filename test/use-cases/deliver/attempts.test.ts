// A delivery from its first attempt to its end: retried while it can help, sent to a fallback if it
// fails, and in order.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { claimDue, deliverTogether } from '../../../functions/use-cases/deliver.ts'
import { answer, down, passInSteps, type Row, rowsOf, sentTo } from '../../support/deliveries.ts'
import { beacon, eventNow, hour, minute, report, startRelay, world } from '../../support/relay.ts'
import { event, eventId, startAt, started, usualAnswer } from '../../support/world.ts'

beforeEach(() => startRelay())

describe('retries', () => {
  test('a channel that is down is tried densely, and gets the message once it is back', async () => {
    answer(world, 'slack', down)
    await report(event())
    await passInSteps(world, minute, 500)
    expect(sentTo(world, 'slack').length).toBeGreaterThanOrEqual(6)
    expect(await rowsOf(world, 'chat')).toMatchObject([
      { state: 'pending', note: 'HTTP 503: down' },
    ])
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await passInSteps(world, minute, 500)
    expect(sentTo(world, 'slack', from)).toHaveLength(1)
    expect(await rowsOf(world, 'chat')).toMatchObject([{ state: 'delivered', note: 'ok' }])
  })

  test('the log has one line a minute for a channel, and counts the attempts', async () => {
    answer(world, 'slack', down)
    const ids = Array.from({ length: 40 }, (_, i) => `${eventId.slice(0, -2)}${10 + i}`)
    await beacon.sees(ids.map((id) => event({ eventId: id })))
    for (let seconds = 0; seconds < 120; seconds += 5) await world.pass(5_000)
    const lines = world.lines
      .filter((line) => line.includes('delivery_retried'))
      .map((line) => JSON.parse(line) as { channel: string; count: number })
    expect(lines.length).toBeLessThanOrEqual(3)
    expect(lines.length).toBeGreaterThan(1)
    expect(lines[0]).toMatchObject({ channel: 'chat', count: 1 })
    expect(lines[1]!.count).toBeGreaterThan(39)
  })

  test('and does not delay the others', async () => {
    answer(world, 'slack', down)
    await report(event())
    for (const host of ['teams', 'pager', 'hook']) expect(sentTo(world, host)).toHaveLength(1)
  })

  test('a network error is retried, and its note names neither host nor path', async () => {
    answer(world, 'slack', () => {
      throw Object.assign(new TypeError('fetch failed to slack.example/services/T0'), {
        cause: Object.assign(new Error('getaddrinfo slack.example'), { code: 'ENOTFOUND' }),
      })
    })
    await report(event())
    expect(await rowsOf(world, 'chat')).toMatchObject([
      { state: 'pending', note: 'no answer: ENOTFOUND' },
    ])
    expect(world.lines.join()).not.toContain('slack.example')
  })

  test('a late message says so, and no other does', async () => {
    answer(world, 'slack', down)
    await report(event())
    expect(sentTo(world, 'teams')[0]?.body).not.toContain('late')
    await passInSteps(world, 10 * minute, minute)
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await world.pass(minute)
    expect(sentTo(world, 'slack', from)[0]?.json.text).toMatch(/This message is 11 min late/)
    expect(sentTo(world, 'slack', from)[0]?.json.text).toContain('at 12:15 UTC')
  })

  test.each([
    ['in 15 minutes', 15 * minute],
    ['in a week', 7 * 24 * hour],
  ])('an event due %s is given up after 24 h, not before', async (_, notice) => {
    await startRelay({ channels: { hook: { ...hook, fallback: 'chat' }, chat }, routes: toHook })
    answer(world, 'hook', down)
    const due = event({ notBeforeAt: startAt + notice })
    await report(due)
    await passInSteps(world, 22 * hour, 30_000)
    expect(await rowsOf(world, 'hook')).toMatchObject([{ state: 'pending' }])
    await passInSteps(world, 2 * hour + minute, minute)
    expect((await rowsOf(world, 'hook'))[0]).toMatchObject({
      state: 'given_up',
      note: 'HTTP 503: down',
    })
  })
})

const chat = { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' }
const hook = {
  kind: 'webhook',
  url: 'https://hook.example/in',
  secret: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
}
const toHook = [{ match: {}, channels: ['hook'] }]

describe('an attempt', () => {
  afterEach(() => vi.restoreAllMocks())

  test.each([
    ['15 s', 0, 15_000],
    ['the rest of its 20 s lease, if that is less', 8_000, 12_000],
  ])('has %s; then it ends and is retried', async (_, laterMs, allowedMs) => {
    await startRelay({ channels: { chat }, routes: [{ match: {}, channels: ['chat'] }] })
    const time = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(time.signal)
    world.relay.sending.send = (_url, { signal }) =>
      new Promise((_, reject) => {
        signal!.addEventListener('abort', () => reject(signal!.reason))
        time.abort(new DOMException('late', 'TimeoutError'))
      })
    await beacon.sees([event()])
    const [group] = (await claimDue(world.relay, 1)).requests
    world.clock.now += laterMs
    await deliverTogether(world.relay, group!)
    expect(timeout.mock.calls).toEqual([[allowedMs]])
    expect(await rowsOf(world, 'chat')).toMatchObject([
      { state: 'pending', note: 'no answer in time' },
    ])
  })
})

describe('failures', () => {
  const channels = {
    chat: { ...chat, fallback: 'hook' },
    hook: { ...hook, fallback: 'chat' },
  }
  const routes = [{ match: {}, channels: ['chat'] }]

  test('if the fallback refuses too, each is tried after 1, 2, 4, 8 and 16 min without ping-pong', async () => {
    await startRelay({ channels, routes })
    world.channels.answer = ({ url }) =>
      new Response('', { status: url.includes('slack') ? 404 : 410 })
    await report(event({ notBeforeAt: startAt + hour }))
    await passInSteps(world, 20 * minute, minute)
    // at 0, 1, 2, 4, 8 and 16 min: the alerts about both channels, and the message to the fallback
    expect(sentTo(world, 'slack')).toHaveLength(7)
    expect(sentTo(world, 'hook')).toHaveLength(12)
    const { body } = await world.getEvent(eventId)
    const states = body.deliveries.map(({ channel, moment, state }: Row) => [
      channel,
      moment,
      state,
    ])
    expect(states).toEqual([
      ['chat', 'scheduled', 'refused'],
      ['hook', 'scheduled', 'pending'],
    ])
  })

  test('a channel that left the configuration: refused with the reason', async () => {
    for (const name of ['chat', 'constructor']) {
      await startRelay({
        channels: { [name]: chat, hook },
        routes: [{ match: {}, channels: [name] }],
      })
      await beacon.sees([event()])
      delete world.relay.config.channels[name]
      await world.drain()
      expect(world.sent).toEqual([])
      expect(await rowsOf(world, name)).toMatchObject([
        { state: 'refused', note: 'the configuration has no such channel any more' },
      ])
      await beacon.sees([])
      await world.pass(10_001)
      expect((await eventNow()).outcome).toBe('cancelled')
    }
  })
})

describe('order', () => {
  test('a later step overtakes a waiting one, and says so', async () => {
    answer(world, 'slack', down)
    await beacon.sees([event()])
    await report(event({ notBeforeAt: startAt + hour }))
    await passInSteps(world, minute, 1_000)
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await passInSteps(world, minute, 1_000)
    const arrived = sentTo(world, 'slack', from).map(({ json }) => json.text as string)
    expect(arrived).toHaveLength(1)
    expect(arrived[0]).toContain('Changed')
    expect(arrived[0]).toContain('missed earlier messages: the first one')
    expect(await rowsOf(world, 'chat')).toMatchObject([
      { moment: 'scheduled', state: 'superseded', note: 'overtaken by "changed"' },
      { moment: 'changed', state: 'delivered' },
    ])
  })

  test('a webhook gets every step in order, also after the end', async () => {
    answer(world, 'hook', down)
    await beacon.sees([event()])
    await beacon.sees([started()])
    await beacon.sees([])
    await world.pass(10_001)
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await passInSteps(world, 2 * minute, 1_000)
    const types = sentTo(world, 'hook', from).map(({ json }) => json.type)
    expect(types).toEqual(['scheduled', 'started', 'completed'].map((m) => `foghorn.event.${m}`))
    const sequences = sentTo(world, 'hook', from).map(({ json }) => json.data.sequence)
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b))
  })
})
