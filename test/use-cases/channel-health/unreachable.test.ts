// A channel that can't be reached or was removed: other channels get its messages, with their link,
// while they still matter. Once the channel is back, it gets them, too.
import { beforeEach, describe, expect, test } from 'vitest'
import {
  answer,
  down,
  idOf,
  passInSteps,
  statesOf,
  textsTo,
  words,
} from '../../support/deliveries.ts'
import { healthOf } from '../../support/health.ts'
import { beacon, minute, report, second, startRelay, world } from '../../support/relay.ts'
import { event, startAt, started, usualAnswer } from '../../support/world.ts'

const otherId = 'c7061bac-afdc-4513-b24b-000000000001'
const chat = { kind: 'slack', url: 'https://slack.example/services/T0/B0/secret-of-chat' }
const team = { kind: 'teams', url: 'https://teams.example/flow?sig=secret-of-team' }
const channels = { chat: { ...chat, fallback: 'team' }, team: { ...team, fallback: 'chat' } }
const toChat = [{ match: {}, channels: ['chat'] }]

async function begin(config: object = {}): Promise<void> {
  await startRelay({ channels, routes: toChat, ...config })
}

beforeEach(() => begin())

const texts = (host: string, from = 0) => textsTo(world, host, from)
const notices = (from = 0) => texts('teams', from).filter((b) => b.includes(words.unreachable))
const copies = (from = 0) => texts('teams', from).filter((b) => b.includes(words.inPlace))
const health = () => healthOf(world)

describe('a channel that is down', () => {
  beforeEach(async () => {
    answer(world, 'slack', down)
    await report(event())
  })

  test('for less than two minutes: its fallback gets nothing', async () => {
    await passInSteps(world, 90 * second, second)
    world.channels.answer = usualAnswer
    await passInSteps(world, minute, second)
    expect(await statesOf(world, 'chat')).toEqual([['scheduled', 'delivered']])
    expect(texts('teams')).toEqual([])
    expect((await health()).status).toBe('ok')
  })

  test('for longer: its fallback is asked instead, and notified once of the reason', async () => {
    await passInSteps(world, 119 * second, second)
    expect(texts('teams')).toEqual([])
    await passInSteps(world, 2 * second, second)
    expect(copies()).toHaveLength(1)
    expect(copies()[0]).toContain('Reboot of web_0 at 12:15 UTC')
    expect(copies()[0]).toContain('/approve/')
    expect(notices()).toHaveLength(1)
    expect(notices()[0]).toContain('down (HTTP 503)')
    await passInSteps(world, 10 * minute, 5 * second)
    expect(texts('teams')).toHaveLength(2)
    expect(await statesOf(world, 'chat')).toEqual([['scheduled', 'pending']])
  })

  test('gets its pending messages once it is back, and is then the only one to be notified', async () => {
    await passInSteps(world, 150 * second, second)
    world.channels.answer = usualAnswer
    await passInSteps(world, 30 * second, second)
    expect(await statesOf(world, 'chat')).toEqual([['scheduled', 'delivered']])
    expect((await health()).status).toBe('ok')
    expect(world.lines.filter((line) => line.includes('channel_recovered'))).toHaveLength(1)
    const from = world.sent.length
    const other = event({ eventId: otherId, notBeforeAt: startAt + 30 * minute })
    await report(event(), other)
    expect(texts('slack', from)).toHaveLength(1)
    expect(texts('teams', from)).toEqual([])
  })
})

describe('a channel with a slow rate', () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const mail = {
    ...{ kind: 'mail', endpoint: 'https://mail.example', accessKey: key, fallback: 'team' },
    ...{ from: 'foghorn@example.com', to: ['ops@example.com'] },
  }
  const toMail = [{ match: {}, channels: ['post'] }]
  const postsTo = (host: string) =>
    world.sent.filter(({ url }) => new URL(url).host.startsWith(host))

  beforeEach(() =>
    startRelay({ channels: { ...channels, post: mail }, routes: toMail }, { paced: true }),
  )

  test('that fails until its rate is used up: the fallback does not wait for the rate', async () => {
    answer(world, 'mail', down)
    await report(event())
    await passInSteps(world, 30 * second, second)
    expect(postsTo('mail')).toHaveLength(5)
    expect(copies()).toHaveLength(1)
    expect((await health()).status).toBe('troubled')
  })

  test('that is used up by delivered messages: the fallback gets one that waits too long for its turn', async () => {
    const one = (n: number) => event({ eventId: idOf(n), resources: [`vm${n}`] })
    for (let last = 1; last <= 6; last++) {
      await report(...Array.from({ length: last }, (_, i) => one(i + 1)))
      await passInSteps(world, 2 * second, second)
    }
    expect(postsTo('mail')).toHaveLength(5)
    expect(copies()).toHaveLength(1)
    expect(copies()[0]).toContain('vm6')
    expect((await health()).status).toBe('ok')
    await passInSteps(world, 10 * minute, 5 * second)
    expect(postsTo('mail')).toHaveLength(6)
    expect(copies()).toHaveLength(1)
  })

  const wave = (make: typeof event) =>
    Array.from({ length: 14 }, (_, i) => {
      return make({ eventId: idOf(i + 1), resources: [`vm${i + 10}`], notBeforeAt: undefined })
    })

  test('that refuses a list: the fallback gets the messages that wait for the rate', async () => {
    answer(world, 'mail', () => new Response('{"error":{"code":"Invalid"}}', { status: 400 }))
    await report(...wave(event))
    await passInSteps(world, 20 * second, second)
    const text = texts('teams').join()
    expect(wave(event).filter(({ resources }) => !text.includes(resources[0]!))).toEqual([])
  })

  test('what is superseded takes no place in its rate', async () => {
    let isOver = false
    answer(world, 'mail', () => new Response('{}', { status: isOver ? 202 : 400 }))
    await report(...wave(event))
    await passInSteps(world, 60 * second, 10 * second)
    isOver = true
    for (let minutes = 0; minutes < 15; minutes++) {
      await report(...wave(started))
      await passInSteps(world, minute, 10 * second)
    }
    const { body } = await world.getEvent(idOf(1))
    const own = body.deliveries.filter(({ channel }: { channel: string }) => channel === 'post')
    expect(own.at(-1)).toMatchObject({ moment: 'started', state: 'delivered' })
  })

  test('that cannot be connected to uses up none of its rate', async () => {
    const refuse = () => Promise.reject(Object.assign(new Error(), { code: 'ECONNREFUSED' }))
    answer(world, 'mail', refuse as never)
    await report(event())
    await passInSteps(world, 100 * second, second)
    expect(postsTo('mail').length).toBeGreaterThan(8)
    expect(copies()).toHaveLength(0)
    world.channels.answer = usualAnswer
    await passInSteps(world, 20 * second, second)
    expect(await statesOf(world, 'post')).toEqual([['scheduled', 'delivered']])
  })
})

describe('a channel that is renamed', () => {
  async function rename(from: string, to: string): Promise<void> {
    const { config } = world.relay
    config.channels[to] = config.channels[from]!
    delete config.channels[from]
    config.routes[0]!.channels = [to]
  }

  test('while a message is pending: it is sent under the new name', async () => {
    answer(world, 'slack', down)
    await report(event())
    await rename('chat', 'ops')
    world.channels.answer = usualAnswer
    await passInSteps(world, minute, second)
    expect(await statesOf(world, 'chat')).toEqual([['scheduled', 'refused']])
    expect(await statesOf(world, 'ops')).toEqual([['scheduled', 'delivered']])
  })

  test('gets nothing under the new name that is over', async () => {
    answer(world, 'slack', down)
    await report(event())
    await rename('chat', 'ops')
    await beacon.sees([started()])
    world.channels.answer = usualAnswer
    await passInSteps(world, minute, second)
    expect(await statesOf(world, 'chat')).toEqual([['scheduled', 'refused']])
    expect(await statesOf(world, 'ops')).toContainEqual(['started', 'delivered'])
    expect(texts('slack').filter((body) => body.includes('now, open the page'))).toHaveLength(1)
  })
})
