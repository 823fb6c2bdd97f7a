// A channel that refuses every message: its fallback is notified once and gets the messages, and
// the relay rarely tries the channel until it accepts one again.
import { beforeEach, describe, expect, test } from 'vitest'
import { claimDue, deliverTogether } from '../../../functions/use-cases/deliver.ts'
import {
  answer,
  gone,
  idOf,
  passInSteps,
  rowsOf,
  sentTo,
  textsTo,
} from '../../support/deliveries.ts'
import { postDrill } from '../../support/drills.ts'
import { healthOf } from '../../support/health.ts'
import { forge, press } from '../../support/people.ts'
import {
  adminKey,
  createWorld,
  event,
  eventId,
  FakeBeacon,
  startAt,
  started,
  usualAnswer,
  type World,
} from '../../support/world.ts'

const minute = 60_000
const channels = {
  chat: {
    kind: 'slack',
    url: 'https://slack.example/services/T0/B0/secret-of-chat',
    fallback: 'team',
  },
  team: { kind: 'teams', url: 'https://teams.example/flow?sig=secret-of-team', fallback: 'chat' },
}
const toChat = [{ match: {}, channels: ['chat'] }]

let world: World
let beacon: FakeBeacon

async function begin(config: object = {}): Promise<void> {
  world = await createWorld({ config: { channels, routes: toChat, ...config } })
  beacon = new FakeBeacon(world, 'web_0')
}

beforeEach(() => begin())

const texts = (host: string, from = 0) => textsTo(world, host, from)
const notices = () => texts('teams').filter((body) => body.includes('refuses all messages'))
const asks = () => texts('teams').filter((body) => body.includes('has not accepted it'))
const health = () => healthOf(world)
const headers = { authorization: `Bearer ${adminKey}` }

async function eventsInARow(count: number, apartMs: number): Promise<void> {
  const all = Array.from({ length: count }, (_, i) =>
    event({ eventId: idOf(i), resources: [`vm${i}`], notBeforeAt: startAt + 30 * minute }),
  )
  for (let i = 0; i < count; i++) {
    await beacon.sees(all.slice(0, i + 1))
    await world.drain()
    await world.pass(apartMs)
  }
}

/** The channel answers, and the relay dies before it stores the delivery's result. */
async function dieBeforeSettling(): Promise<void> {
  await beacon.sees([event()])
  const { settle } = world.store
  world.store.settle = async () => {
    throw new Error('died')
  }
  const { requests } = await claimDue(world.relay, 10)
  for (const group of requests) await deliverTogether(world.relay, group)
  world.store.settle = settle
}

describe('ten events in five minutes', () => {
  beforeEach(async () => {
    answer(world, 'slack', gone)
    await eventsInARow(10, 30_000)
  })

  test('the fallback is notified once that the channel refuses, and gets each message at once', () => {
    expect(notices()).toHaveLength(1)
    expect(notices()[0]).toContain('no_service (HTTP 404)')
    expect(asks()).toHaveLength(10)
    for (let i = 0; i < 10; i++) expect(asks()[i]).toContain(`Reboot of vm${i} at`)
    expect(asks()[0]).toContain('/approve/')
    expect(asks()[0]).toContain('\\"chat\\"')
  })

  test('the channel itself gets each once, so that it works again as soon as it is repaired', () => {
    expect(texts('slack')).toHaveLength(10)
  })

  test('each delivery is refused and notes why', async () => {
    const rows = await Promise.all(
      [0, 1].map(async (i) => (await world.getEvent(idOf(i))).body.deliveries[0]),
    )
    const refused = {
      state: 'refused',
      attempts: 1,
      note: 'HTTP 404: Slack no longer knows this webhook: no_service',
    }
    expect(rows).toMatchObject([{ channel: 'chat', ...refused }, refused])
    expect((await world.getEvent(idOf(0))).body.deliveries.slice(1)).toMatchObject([
      { channel: 'team', moment: 'scheduled', insteadOf: 'chat' },
    ])
  })

  test('the health of the relay, the log and the API show it without any secret', async () => {
    const { status, troubles } = await health()
    const since = '2026-11-21T12:00:00.000Z'
    const trouble = `channel "chat" has been refusing messages since ${since}; the log shows the answers of the channel`
    expect([status, troubles]).toEqual(['troubled', [trouble]])
    const response = await world.app.request('/v1/channels', { headers })
    const { channels: listed } = (await response.json()) as { channels: object[] }
    expect(listed).toMatchObject([
      {
        name: 'chat',
        kind: 'slack',
        by: 'webhook',
        state: 'refusing',
        since,
        note: 'HTTP 404: Slack no longer knows this webhook: no_service',
      },
      { name: 'team', kind: 'teams', fallback: 'chat', state: 'ok' },
    ])
    const lines = world.lines.filter((line) => line.includes('channel_refuses'))
    expect(lines).toHaveLength(1)
    expect(JSON.stringify([listed, world.lines])).not.toContain('secret-of')
    const denied = await world.app.request('/v1/channels')
    expect(denied.status).toBe(401)
  })

  test('once it accepts one again, it gets all of them, and the next trouble is notified again', async () => {
    world.channels.answer = usualAnswer
    await world.pass(4 * minute)
    const from = world.sent.length
    await beacon.sees([event({ eventId: idOf(90), notBeforeAt: world.clock.now + 600_000 })])
    await world.drain()
    expect(texts('slack', from)).toHaveLength(1)
    expect(texts('teams', from)).toEqual([])
    expect((await health()).status).toBe('ok')
    expect(world.lines.filter((line) => line.includes('channel_recovered'))).toHaveLength(1)
    // for people who were notified, trouble within an hour is the same trouble
    for (const [i, apartMs, told] of [
      [91, minute, 1],
      [92, 60 * minute, 2],
    ] as const) {
      world.channels.answer = usualAnswer
      await passInSteps(world, 12 * minute, minute)
      await beacon.sees([event({ eventId: idOf(i), notBeforeAt: world.clock.now + 60 * minute })])
      await world.drain()
      await world.pass(apartMs)
      answer(world, 'slack', gone)
      const again = { eventId: idOf(i + 10), notBeforeAt: world.clock.now + 60 * minute }
      await beacon.sees([event(again)])
      await world.drain()
      expect(notices()).toHaveLength(told)
    }
  })

  test('if an owner replays the messages, the channel is tried at once', async () => {
    world.channels.answer = usualAnswer
    const from = world.sent.length
    const body = JSON.stringify({ since: '2026-11-21T00:00:00Z' })
    const init = { method: 'POST', headers, body }
    const replayed = await world.app.request('/v1/deliveries/replay', init)
    expect(await replayed.json()).toEqual({ replayed: 10 })
    await passInSteps(world, minute, 1_000)
    expect(texts('slack', from)).toHaveLength(10)
    expect(texts('teams', from)).toEqual([])
  })

  test('a drill tries the channel at once, and reports if it still refuses', async () => {
    const refused = texts('slack').length
    await postDrill(world, { fleet: 'prod', type: 'Reboot' })
    await world.drain()
    expect(texts('slack')).toHaveLength(refused + 1)
    expect((await health()).status).toBe('troubled')
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await postDrill(world, { fleet: 'prod', type: 'Reboot' })
    await world.drain()
    expect(texts('slack', from)).toHaveLength(1)
    expect((await health()).status).toBe('ok')
  })

  test('a channel with a new configuration gets messages at once', async () => {
    world.relay.config.channels.chat = { kind: 'slack', url: 'https://slack.example/services/new' }
    world.channels.answer = usualAnswer
    expect((await health()).status).toBe('ok')
    const from = world.sent.length
    await beacon.sees([event({ eventId: idOf(90), notBeforeAt: world.clock.now + 600_000 })])
    await world.drain()
    expect(texts('slack', from)).toHaveLength(1)
  })
})

test('a fallback that gets every event anyway is notified of the trouble, and gets no step twice', async () => {
  await begin({ routes: [{ match: {}, channels: ['chat', 'team'] }] })
  answer(world, 'slack', gone)
  await beacon.sees([event()])
  await world.drain()
  await beacon.sees([started()])
  await world.drain()
  expect(notices()).toHaveLength(1)
  expect(asks()).toEqual([])
  expect(texts('teams')).toHaveLength(3)
})

test('a decision by the link of the fallback is notified there, and so is the end', async () => {
  answer(world, 'slack', gone)
  await beacon.sees([event()])
  await world.drain()
  world.channels.answer = usualAnswer
  await press(world, await forge(world, { channel: 'team' }), 'approve')
  await world.drain()
  await world.pass(minute)
  await beacon.sees([started()])
  await beacon.sees([])
  await world.pass(10_001)
  const told = (await rowsOf(world, 'team')).map(({ moment, state }) => [moment, state])
  expect(told).toEqual([
    ['scheduled', 'delivered'],
    ['approved', 'delivered'],
    ['stuck', 'delivered'],
    ['started', 'superseded'],
    ['completed', 'delivered'],
  ])
  expect((await rowsOf(world, 'chat')).at(-1)).toMatchObject({ state: 'delivered' })
})

test('a channel without a fallback gets each message once, and its messages can be replayed', async () => {
  await begin({ channels: { chat: { ...channels.chat, fallback: undefined } } })
  answer(world, 'slack', gone)
  await eventsInARow(10, 30_000)
  expect(world.sent).toHaveLength(10)
  expect((await health()).status).toBe('troubled')
})

test('the fallback is notified even if the relay dies between both writes', async () => {
  answer(world, 'slack', gone)
  await dieBeforeSettling()
  expect(notices()).toEqual([])
  await world.pass(20_001)
  expect(notices()).toHaveLength(1)
  expect(asks()).toHaveLength(1)
})

test('if that message is superseded meanwhile, another one notifies the fallback', async () => {
  answer(world, 'slack', gone)
  await dieBeforeSettling()
  world.clock.now = startAt + 20_001
  await beacon.sees([started()])
  await world.drain()
  expect((await rowsOf(world, 'chat'))[0]).toMatchObject({
    moment: 'scheduled',
    state: 'superseded',
  })
  expect(notices()).toHaveLength(1)
})

test('an incident that may have been opened before the channel refused is resolved', async () => {
  await begin({
    channels: { pager: { kind: 'pagerduty', routingKey: '0123456789abcdef0123456789abcdef' } },
    routes: [{ match: {}, channels: ['pager'] }],
  })
  await dieBeforeSettling()
  answer(world, 'events', gone)
  await beacon.sees([event(), event({ eventId: idOf(1), resources: ['vm1'] })])
  await world.drain()
  await world.pass(20_001)
  expect((await rowsOf(world, 'pager'))[0]).toMatchObject({ state: 'refused' })
  world.channels.answer = usualAnswer
  await world.pass(2 * minute)
  const from = world.sent.length
  await beacon.sees([])
  await world.pass(10_001)
  // the worker that tried first had nothing to send
  await passInSteps(world, minute, 5_000)
  const told = sentTo(world, 'events', from).map(({ json }) => json)
  const own = told.filter(({ dedup_key }) => dedup_key.includes(eventId))
  expect(own.map(({ event_action }) => event_action)).toEqual(['resolve'])
})
