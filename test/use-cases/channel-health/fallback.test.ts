// Which messages a fallback gets instead of a channel that does not accept them: everything that
// still matters, nothing that is over, and no more alerts than people can use.
import { describe, expect, test } from 'vitest'
import {
  answer,
  down,
  gone,
  idOf,
  passInSteps,
  sentTo,
  statesOf,
  textsTo,
  words,
} from '../../support/deliveries.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, minute, report, second, startRelay, world } from '../../support/relay.ts'
import {
  event,
  hookSecret,
  routingKey,
  startAt,
  started,
  usualAnswer,
} from '../../support/world.ts'

const team = { kind: 'teams', url: 'https://teams.example/flow?sig=secret' }
const chat = { kind: 'slack', url: 'https://slack.example/services/T/B/secret', fallback: 'team' }
const pager = { kind: 'pagerduty', routingKey, endpoint: 'https://pager.example/v2/enqueue' }
const hook = { kind: 'webhook', url: 'https://hook.example/in', secret: hookSecret }
const to = (name: string, more: object = {}) => [{ match: {}, channels: [name], ...more }]

const texts = (host: string, from = 0) => textsTo(world, host, from)
const actions = () => sentTo(world, 'pager').map(({ json }) => json.event_action)
const later = (i: number) =>
  event({ eventId: idOf(i), notBeforeAt: world.clock.now + 60 * minute, resources: [`vm${i}`] })

test('without a fallback no message is lost', async () => {
  await startRelay({ channels: { pager }, routes: to('pager') })
  answer(world, 'pager', gone)
  await report(later(1))
  await world.pass(61 * second)
  answer(world, 'pager', down)
  await report(event())
  world.channels.answer = usualAnswer
  await passInSteps(world, minute, second)
  expect(await statesOf(world, 'pager')).toContainEqual(['scheduled', 'delivered'])
  await beacon.sees([])
  await world.pass(10_001)
  expect(actions().slice(-2)).toEqual(['trigger', 'resolve'])
})

describe('a channel that gets every step and is down', () => {
  test('its fallback also gets the steps that wait behind the first', async () => {
    await startRelay({
      channels: { hook: { ...hook, fallback: 'team' }, team },
      routes: to('hook'),
    })
    answer(world, 'hook', down)
    await beacon.sees([event()])
    await passInSteps(world, 130 * second, second)
    await beacon.sees([
      event({ notBeforeAt: startAt + 45 * minute, resources: ['web_0', 'web_1'] }),
    ])
    await passInSteps(world, 10 * second, second)
    expect(texts('teams').at(-1)).toContain('Changed: Reboot of web_0, web_1')
    await beacon.sees([])
    await passInSteps(world, 30 * second, second)
    expect(texts('teams').at(-1)).toContain('Probably cancelled')
    expect(texts('teams').filter((text) => text.includes(words.unreachable))).toHaveLength(1)
  })

  test('its fallback is not asked if the event was decided by then', async () => {
    await startRelay({
      channels: { pager: { ...pager, fallback: 'team' }, team },
      routes: to('pager'),
    })
    answer(world, 'pager', down)
    await beacon.sees([event()])
    await passInSteps(world, 90 * second, second)
    await press(world, await forge(world, { channel: 'pager' }), 'approve')
    await passInSteps(world, 10 * second, second)
    await beacon.sees([started()])
    await passInSteps(world, 30 * second, second)
    // the style of a button that asks
    expect(texts('teams').join()).not.toContain('"positive"')
    expect(await statesOf(world, 'team')).toContainEqual(['started', 'delivered'])
  })
})

test('a fallback without its own fallback that refuses for a while loses nothing', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  world.channels.answer = () => new Response('', { status: 403 })
  await report(event())
  answer(world, 'slack', gone)
  await passInSteps(world, 2 * minute, 5 * second)
  expect(await statesOf(world, 'team')).toContainEqual(['scheduled', 'delivered'])
})

test('a waiting copy is not sent once its channel has delivered the step itself', async () => {
  const channels = { chat: { ...chat, fallback: 'pager' }, pager }
  await startRelay({ channels, routes: to('chat') })
  world.channels.answer = down
  await beacon.sees([event()])
  await passInSteps(world, 150 * second, second)
  answer(world, 'pager', down)
  await passInSteps(world, 2 * minute, second)
  world.channels.answer = usualAnswer
  const from = world.sent.length
  await passInSteps(world, 2 * minute, second)
  expect(sentTo(world, 'pager', from)).toEqual([])
  expect(await statesOf(world, 'pager')).toContainEqual(['scheduled', 'superseded'])
})

test('an incident under an old name is closed, whatever moments the routes name', async () => {
  const only = { moments: ['scheduled', 'stuck'] }
  await startRelay({ channels: { pager }, routes: to('pager', only) })
  await report(event())
  const { config } = world.relay
  config.channels.oncall = config.channels.pager!
  delete config.channels.pager
  config.routes[0]!.channels = ['oncall']
  await press(world, await forge(world, { channel: 'oncall' }), 'approve')
  await world.drain()
  await beacon.sees([started()])
  await beacon.sees([])
  await world.pass(10_001)
  expect(actions()).toEqual(['trigger', 'acknowledge', 'resolve'])
})

test('if a fallback is renamed while it has a message, the message goes to the new name', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  world.channels.answer = ({ url }) => (url.includes('slack') ? gone() : down())
  await report(event())
  const { config } = world.relay
  config.channels.ops = config.channels.team!
  delete config.channels.team
  config.channels.chat = { ...config.channels.chat!, fallback: 'ops' }
  answer(world, 'slack', gone)
  await passInSteps(world, minute, second)
  expect(await statesOf(world, 'ops')).toContainEqual(['scheduled', 'delivered'])
})

test('if a fallback is removed while it has a message, the routed channels get it', async () => {
  await startRelay({ channels: { chat, team, pager }, routes: to('chat') })
  world.channels.answer = ({ url }) => (url.includes('slack') ? gone() : down())
  await beacon.sees([event()])
  await world.drain()
  const { config } = world.relay
  delete config.channels.team
  config.channels.chat = { ...config.channels.chat!, fallback: undefined }
  config.routes[0]!.channels = ['chat', 'pager']
  answer(world, 'slack', gone)
  await passInSteps(world, minute, second)
  expect(await statesOf(world, 'team')).toContainEqual(['scheduled', 'refused'])
  expect(await statesOf(world, 'pager')).toContainEqual(['scheduled', 'delivered'])
  await beacon.sees([])
  await world.pass(10_001)
  expect(actions().slice(-2)).toEqual(['trigger', 'resolve'])
})

test('people who were asked are notified of the answer, even if its channel has it by then', async () => {
  await startRelay({
    channels: { hook: { ...hook, fallback: 'pager' }, pager },
    routes: to('hook'),
  })
  answer(world, 'hook', down)
  await beacon.sees([event({ notBeforeAt: startAt + 30 * minute })])
  await passInSteps(world, minute, second)
  await press(world, await forge(world, { channel: 'hook' }), 'not_now')
  const isAnswer = ({ json }: { json: { event_action?: string } }) =>
    json.event_action === 'acknowledge'
  world.channels.answer = (request) =>
    request.url.includes('hook') || isAnswer(request) ? down() : usualAnswer(request)
  await passInSteps(world, 90 * second, second)
  answer(world, 'pager', down)
  await passInSteps(world, 30 * second, second)
  expect(await statesOf(world, 'hook')).toContainEqual(['declined', 'delivered'])
  world.channels.answer = usualAnswer
  await passInSteps(world, minute, second)
  expect(await statesOf(world, 'pager')).toContainEqual(['declined', 'delivered'])
})

test('a fallback that refuses for a while misses no later step either', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  answer(world, 'slack', gone)
  await report(event())
  world.channels.answer = gone
  await report(event({ notBeforeAt: startAt + 45 * minute }))
  answer(world, 'slack', gone)
  await passInSteps(world, 3 * minute, 5 * second)
  expect(await statesOf(world, 'team')).toContainEqual(['changed', 'delivered'])
})

test('people who were never asked get no further messages', async () => {
  const channels = { chat: { ...chat, fallback: 'pager' }, pager }
  await startRelay({ channels, routes: to('chat') })
  world.channels.answer = down
  await beacon.sees([event({ notBeforeAt: startAt + 30 * minute })])
  await passInSteps(world, 150 * second, second)
  answer(world, 'pager', gone)
  await passInSteps(world, 2 * minute, second)
  world.channels.answer = usualAnswer
  await passInSteps(world, 20 * minute, 10 * second)
  const from = world.sent.length
  await beacon.sees([event({ notBeforeAt: startAt + 90 * minute })])
  await passInSteps(world, minute, second)
  expect(texts('slack', from)).toHaveLength(1)
  expect(sentTo(world, 'pager', from)).toEqual([])
})

test('renaming a channel notifies no channel that the routes do not name', async () => {
  const routes = [
    { match: { resource: 'web*' }, channels: ['chat'] },
    { match: { resource: 'db*' }, channels: ['pager'] },
  ]
  await startRelay({ channels: { chat, team, pager }, routes })
  await report(event())
  const { config } = world.relay
  config.channels.ops = config.channels.chat!
  delete config.channels.chat
  config.routes[0]!.channels = ['ops']
  await press(world, await forge(world, { channel: 'ops' }), 'approve')
  await world.drain()
  await beacon.sees([started()])
  await beacon.sees([])
  await world.pass(10_001)
  expect(actions()).toEqual([])
})

describe('an event that is back while its end still waits for the channel', () => {
  const back = event({ notBeforeAt: startAt + 120 * minute })

  /** Seen, gone for a while and seen again, a few minutes apart. */
  async function comesBack(endsAs: () => Response): Promise<void> {
    await passInSteps(world, 5 * minute, 5 * second)
    answer(world, 'pager', endsAs)
    await beacon.sees([])
    await passInSteps(world, 2 * minute, 5 * second)
    await beacon.sees([back])
    await passInSteps(world, 10 * minute, 5 * second)
  }

  test.each([
    ['does not answer from the beginning', down, down],
    ['refuses the end', () => new Response('{}', { status: 202 }), gone],
  ])('its fallback is notified, if the channel %s', async (_, first, then) => {
    await startRelay({
      channels: { pager: { ...pager, fallback: 'team' }, team },
      routes: to('pager'),
    })
    answer(world, 'pager', first)
    await beacon.sees([back])
    await comesBack(then)
    const titles = texts('teams').map((text) => (text.includes('It is back') ? 'back' : 'other'))
    expect(titles.filter((title) => title === 'back')).toHaveLength(1)
  })
})
