// When a channel counts as unreachable or refusing: never because of one message alone. Also how
// often its trouble is notified.
import { expect, test } from 'vitest'
import { answer, down, gone, idOf, passInSteps, textsTo, words } from '../../support/deliveries.ts'
import { beacon, minute, report, second, startRelay, world } from '../../support/relay.ts'
import { event, hookSecret, startAt, usualAnswer } from '../../support/world.ts'

const team = { kind: 'teams', url: 'https://teams.example/flow?sig=secret' }
const chat = { kind: 'slack', url: 'https://slack.example/services/T/B/secret', fallback: 'team' }
const hook = { kind: 'webhook', url: 'https://hook.example/in', secret: hookSecret }
const to = (name: string, more: object = {}) => [{ match: {}, channels: [name], ...more }]

const texts = (host: string, from = 0) => textsTo(world, host, from)
const logged = (what: string) => world.lines.filter((line) => line.includes(what))
const later = (i: number) =>
  event({ eventId: idOf(i), notBeforeAt: world.clock.now + 60 * minute, resources: [`vm${i}`] })

test('a message that the channel refuses delays no other message', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  answer(world, 'slack', gone)
  await report(later(1))
  await world.pass(61 * second)
  answer(world, 'slack', () => new Response('invalid_payload', { status: 400 }))
  await report(later(2), later(3), later(4))
  expect(texts('slack')).toHaveLength(4)
  // it has taken nothing yet
  expect(logged('channel_recovered')).toEqual([])
  world.channels.answer = usualAnswer
  await report(later(5))
  expect(logged('channel_recovered')).toHaveLength(1)
})

test('a channel that refuses five messages in a row takes none, and says why', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  answer(world, 'slack', () => new Response('invalid_payload', { status: 400 }))
  for (let i = 1; i <= 4; i++) await report(later(i))
  expect(logged('channel_refuses')).toEqual([])
  await report(later(5))
  expect(logged('channel_refuses').join()).toContain('invalid_payload')
})

test('one message that its receiver never accepts is no trouble of a channel that accepts others', async () => {
  await startRelay({ channels: { hook: { ...hook, fallback: 'team' }, team }, routes: to('hook') })
  const bad = ({ json }: { json: { subject?: string } }) => json.subject === idOf(1)
  world.channels.answer = (request) =>
    bad(request) ? new Response('bad', { status: 400 }) : usualAnswer(request)
  const events = [later(1)]
  for (let i = 2; i < 12; i++) {
    events.push(later(i))
    await beacon.sees(events)
    await passInSteps(world, minute, 2 * second)
  }
  expect(texts('teams').filter((text) => text.includes(words.unreachable))).toHaveLength(1)
  expect(texts('teams').filter((text) => text.includes(words.inPlace))).toHaveLength(1)
  expect(logged('channel_unreachable')).toHaveLength(1)
})

test('a channel that accepts no step is unreachable, even if each step is overtaken by the next', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  answer(world, 'slack', down)
  for (let i = 0; i < 4; i++) {
    await beacon.sees([event({ notBeforeAt: startAt + (20 + i) * minute })])
    await passInSteps(world, 50 * second, second)
  }
  expect(texts('teams').filter((text) => text.includes('Changed: Reboot'))).not.toEqual([])
})

test('other trouble with the same channel is notified, however soon it comes', async () => {
  await startRelay({ channels: { chat, team }, routes: to('chat') })
  answer(world, 'slack', down)
  await beacon.sees([event()])
  await passInSteps(world, 150 * second, second)
  world.channels.answer = usualAnswer
  await passInSteps(world, minute, second)
  answer(world, 'slack', gone)
  await report(later(1))
  expect(texts('teams').filter((text) => text.includes(words.refuses))).toHaveLength(1)
})

test('many messages under way cause one line in the log', async () => {
  await startRelay({ channels: { hook }, routes: to('hook') })
  answer(world, 'hook', gone)
  world.channels.answer = () => new Response('', { status: 410 })
  await beacon.sees(Array.from({ length: 20 }, (_, i) => later(i + 1)))
  await world.drain()
  expect(logged('channel_refuses')).toHaveLength(1)
})
