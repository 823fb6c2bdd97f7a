// Slack by a bot: one message for each event, however many reports, restarts and decisions come.
import { beforeEach, describe, expect, test } from 'vitest'
import { readConfigWith } from '../../../functions/config/config.ts'
import type { ChatMessageState } from '../../../functions/core/delivery/chat-message.ts'
import { chatMessageRows } from '../../../functions/store/small-rows.ts'
import { around } from '../../sim/around.ts'
import { mistakesOf, withValue } from '../../support/config.ts'
import { passInSteps, rowsOf } from '../../support/deliveries.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, minute, report, startRelay, world } from '../../support/relay.ts'
import {
  botChannel,
  buttonsOf,
  createSlackBot,
  refusing,
  type SlackBot,
} from '../../support/slack-bot.ts'
import { createWorld, event, eventId, started, usualAnswer } from '../../support/world.ts'

const config = {
  channels: {
    bot: { ...botChannel, fallback: 'hook' },
    hook: { kind: 'webhook', url: 'https://hook.example/in', secret: 'env:HOOK' },
  },
  routes: [{ match: {}, channels: ['bot'], remindBeforeSeconds: 300 }],
}
config.channels.hook.secret = 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0'

let slack: SlackBot

async function begin(paced = false): Promise<void> {
  slack = createSlackBot()
  await startRelay(config, { paced })
  world.channels.answer = (request) =>
    request.url.startsWith(botChannel.endpoint)
      ? slack.answer(request.url, request)
      : usualAnswer(request)
}

beforeEach(() => begin())

const titles = (messages: { text: string }[]) => messages.map(({ text }) => text.split('\n', 1)[0])

describe('the course of an event', () => {
  test('is one edited message, with its steps in the thread', async () => {
    await report(event())
    expect(buttonsOf(slack.messages()[0]!)).toHaveLength(1)
    await passInSteps(world, 10 * minute, minute)
    await press(world, await forge(world, { channel: 'bot' }), 'approve')
    await world.drain()
    expect(buttonsOf(slack.messages()[0]!)).toEqual([])
    await report(started())
    await beacon.sees([])
    await world.pass(11_000)
    await world.pass(minute)
    expect(slack.messages()).toHaveLength(1)
    expect(titles(slack.messages())).toEqual([
      expect.stringMatching('Completed at .*: Reboot of web_0'),
    ])
    expect(
      slack.replies().map(({ text, broadcast }) => [/[A-Z]\w+/.exec(text)![0], broadcast]),
    ).toEqual([
      ['Still', true],
      ['Approved', false],
      ['Started', false],
      ['Completed', false],
    ])
    const rows = await rowsOf(world, 'bot')
    expect(rows.map(({ state }) => state)).toEqual(Array(5).fill('delivered'))
  })

  test('a new epoch is a new message: the old one shows its end', async () => {
    await report(event())
    await beacon.sees([])
    await world.pass(11_000)
    await report(event())
    expect(slack.messages()).toHaveLength(2)
  })

  test('is forgotten with the event', async () => {
    await report(event())
    await beacon.sees([])
    await world.pass(11_000)
    const key = { fleet: 'prod', eventId, epoch: 1, channel: 'bot' }
    expect((await chatMessageRows.read(world.store, key))?.state.is).toBe('posted')
    await world.store.forget(world.clock.now + 1, 9)
    expect(await chatMessageRows.read(world.store, key)).toBeUndefined()
  })
})

test('a relay that dies at any call: one message, unless it died between the post and its record', async () => {
  let deaths = 0
  let repeated = 0
  for (const after of [false, true]) {
    for (let calls = 1; ; calls++) {
      await begin()
      let left = calls
      let diedAt = ''
      const dying = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        if (diedAt !== '') throw new Error('dead')
        if (--left > 0) return call()
        diedAt = name
        if (after) await call()
        throw new Error('dead')
      }
      const { store } = world.relay
      const { send } = world.relay.sending
      await beacon.sees([event()])
      world.relay.store = around(store, (name, args, call) => {
        const { state } = (name === 'writeSmallRow' ? args[1] : {}) as { state?: ChatMessageState }
        return dying(
          state === undefined ? name : `post ${state.is}`,
          call as () => Promise<never>,
        ) as Promise<never>
      })
      world.relay.sending.send = (url, init) => dying('send', () => send(url, init))
      await world.drain().catch(() => undefined)
      await beacon.sees([started()]).catch(() => undefined)
      await world.drain().catch(() => undefined)
      world.relay.store = store
      world.relay.sending.send = send
      world.store.freeLeases(world.clock.now)
      await beacon.sees([started()])
      await passInSteps(world, minute, 1_000)
      const unnoted = after ? diedAt === 'send' : diedAt === 'post posted'
      const when = `dead ${after ? 'after' : 'before'} ${diedAt}, call ${calls}`
      expect(slack.messages().length, when).toBeLessThanOrEqual(unnoted ? 2 : 1)
      expect(slack.replies().length, when).toBeLessThanOrEqual(unnoted ? 2 : 1)
      expect(titles(slack.messages()).at(-1), when).toMatch(/Started at .*: Reboot of web_0/)
      world.store.close()
      if (diedAt === '') break
      deaths += 1
      repeated += slack.messages().length - 1
    }
  }
  expect(deaths).toBeGreaterThan(25)
  expect(repeated).toBe(2)
})

describe('trouble', () => {
  test('a refusal is sent to the fallback, and the next step is tried all the same', async () => {
    await report(event())
    slack.failNext(refusing('msg_too_long'))
    await report(started())
    const [, failed] = await rowsOf(world, 'bot')
    expect(failed).toMatchObject({ state: 'refused', note: 'msg_too_long' })
    expect(world.told()).toEqual(['foghorn.event.started'])
    await beacon.sees([])
    await world.pass(11_000)
    expect(titles(slack.messages())).toEqual([expect.stringContaining('Completed')])
  })

  test('two workers at once post one message', async () => {
    await beacon.sees([event()])
    const other = await createWorld({ config })
    other.relay.store = world.store
    other.relay.now = world.relay.now
    other.channels.answer = world.channels.answer
    await Promise.all([world.drain(), other.drain()])
    await passInSteps(world, minute, 1_000)
    expect(slack.messages()).toHaveLength(1)
    other.store.close()
  })
})

test('many events at once: each has its own message, at the pace that Slack accepts', async () => {
  await begin(true)
  const ids = Array.from({ length: 10 }, (_, i) => `c7061bac-afdc-4513-b24b-00000000000${i}`)
  await beacon.sees(ids.map((id, i) => event({ eventId: id, resources: [`vm${i}`] })))
  await world.drain()
  expect(slack.messages()).toHaveLength(2)
  for (let times = 0; times < 8; times++) {
    await world.pass(1_199)
    expect(slack.messages()).toHaveLength(2 + times)
    await world.pass(1)
  }
  expect(new Set(slack.messages().map(({ text }) => /of (vm\d)/.exec(text)![1])).size).toBe(10)
})

describe('the configuration', () => {
  const { token, channel } = botChannel
  const url = 'https://slack.example/services/T0/B0/slack-secret'
  const mistakes: [object, ...string[]][] = [
    [{}, 'channels.chat.url: missing; write an absolute https://', '"token" and "channel"'],
    [{ token }, 'channels.chat.channel: missing; write the id of a channel'],
    [{ channel }, 'channels.chat.token: missing; write the token of a bot, "xoxb-"'],
    [{ endpoint: 'https://slack-gov.com/api' }, 'channels.chat.token: missing', 'chat.channel: m'],
    [{ url, token }, 'channels.chat.token: write either "url", or "token" and "channel"'],
    [{ url, channel }, 'channels.chat.channel: write either'],
    [{ url, endpoint: 'https://slack.com/api' }, 'channels.chat.endpoint: write either'],
    [{ token: 'xoxp-1-2-hunter2', channel }, 'channels.chat.token: write the token of a bot'],
    [{ token: 7, channel }, 'channels.chat.token: write the token of a bot'],
    [{ token, channel: '#ops' }, 'channels.chat.channel: write the id of a channel', 'its name'],
    [{ token, channel: 'ops' }, 'channels.chat.channel: write the id of a channel'],
    [{ token, channel, endpoint: 'slack.com' }, 'channels.chat.endpoint: write an absolute'],
    [{ token, channel, endpoint: 'http://slack.com/api' }, 'channels.chat.endpoint: plain http'],
    [{ token, channel, chanel: 'C1' }, 'channels.chat: unknown key "chanel"', '"channel"'],
  ]

  test.each(mistakes)('%j', (parts, ...said) => {
    const chat = { kind: 'slack', ...parts }
    const message = mistakesOf(JSON.stringify(withValue('channels.chat', chat)))
    for (const part of said) expect(message).toContain(part)
    expect(message).not.toMatch(/hunter2|simulated-token|slack-secret|undefined/)
  })

  test("a channel is of either kind; the default API address is Slack's", () => {
    const read = (chat: object) => {
      const text = JSON.stringify(withValue('channels.chat', { kind: 'slack', ...chat }))
      return readConfigWith(text, {}, 'assumed').config.channels.chat
    }
    expect(read({ url })).toEqual({ kind: 'slack', url })
    const bot = { kind: 'slack_bot', token, channel }
    expect(read({ token, channel })).toEqual({ ...bot, endpoint: 'https://slack.com/api' })
    const gov = { token, channel, endpoint: 'https://slack-gov.com/api/' }
    expect(read(gov)).toEqual({ ...bot, endpoint: 'https://slack-gov.com/api' })
    // on another machine than the relay's
    expect(read({ token: 'env:T', channel: 'env:OPS_CHANNEL' })).toMatchObject({
      kind: 'slack_bot',
    })
  })
})
