// The notifier of Slack's bots against the simulator's Web API: the message in the channel and its
// thread.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Moment } from '../../../functions/core/event/moment.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { compose } from '../../../functions/core/message/message.ts'
import type { Send } from '../../../functions/notify/notifier.ts'
import { notifiers } from '../../../functions/notify/registry.ts'
import { startSinks } from '../../simulator/sinks.ts'
import { at, claimed, facts, record } from '../../support/records.ts'
import { buttonsOf, refusing } from '../../support/slack-bot.ts'
import { outgoing } from '../outgoing.ts'
import { scenes } from '../scenes.ts'
import { approved, channel, createBotBench, titleOf } from './bot-bench.ts'

let bot: ReturnType<typeof createBotBench>
beforeEach(() => {
  bot = createBotBench()
})

const labelsOf = (message: Parameters<typeof buttonsOf>[0]): string[] =>
  buttonsOf(message).map(({ text }) => text.text)

describe('one message for an event', () => {
  test('is posted with text, blocks and a button, and expands no link', async () => {
    expect(await bot.notify(bot.step('scheduled', 64))).toEqual({
      outcome: 'delivered',
      note: 'posted',
    })
    expect(bot.slack.calls).toMatchObject([{ method: 'chat.postMessage', valid: true }])
    const [message] = bot.slack.messages()
    expect(titleOf(message!)).toContain('Reboot of web_0')
    expect(buttonsOf(message!).map(({ url }) => url)).toEqual([outgoing().pageUrl])
  })

  test('is edited at the next step, text and blocks; the button disappears after an approval', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const result = await bot.notify(bot.step('approved', 128, { decided: approved }))
    expect(result).toEqual({ outcome: 'delivered', note: 'edited' })
    expect(bot.methods()).toEqual(['chat.postMessage', 'chat.update', 'chat.postMessage'])
    const [message, ...others] = bot.slack.messages()
    expect(others).toEqual([])
    expect(message).toMatchObject({ edits: 1 })
    expect(titleOf(message!)).toContain('Approved at 12:00 UTC: Reboot of web_0')
    expect(message!.blocks.length).toBeGreaterThan(1)
    expect(JSON.stringify(message!.blocks)).toContain('Approved at 12:00 UTC: Reboot of web_0')
    expect(buttonsOf(message!)).toEqual([])
  })

  test('after the end, decided or not, a link in the small print replaces the button', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const smallPrint = () => JSON.stringify(bot.slack.messages()[0]!.blocks.at(-1))
    expect(smallPrint()).not.toContain('|')
    const over = { phase: 'cancelled' as const, ended: { at, outcome: 'cancelled' as const } }
    await bot.notify(bot.step('cancelled', 128, over))
    expect(buttonsOf(bot.slack.messages()[0]!)).toEqual([])
    expect(smallPrint()).toContain(` <${outgoing().pageUrl}|Show event>"`)
  })

  test('the thread has one reply for each later step', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const steps: Moment[] = ['changed', 'approved', 'started', 'completed']
    for (const [i, moment] of steps.entries()) {
      await bot.notify(bot.step(moment, 128 + i, { decided: approved }))
    }
    const [message] = bot.slack.messages()
    expect(bot.slack.replies().map(titleOf)).toEqual([
      expect.stringContaining('Changed: Reboot'),
      expect.stringContaining('Approved at 12:00 UTC: Reboot of web_0'),
      expect.stringContaining('Started: Reboot'),
      expect.stringContaining('Completed: Reboot'),
    ])
    for (const [i, reply] of bot.slack.replies().entries()) {
      expect(reply.thread_ts).toBe(message!.ts)
      // only a reply that rings leads to the page
      expect(labelsOf(reply)).toEqual(i === 0 ? ['Show event'] : [])
    }
    expect(bot.slack.calls.every(({ valid }) => valid === true)).toBe(true)
  })

  test('a reminder has the button, and says what happens if nobody acts', async () => {
    await bot.notify(bot.step('scheduled', 64))
    await bot.notify(bot.step('reminder', 128))
    const [reply] = bot.slack.replies()
    expect(labelsOf(reply!)).toEqual(['Open to decide'])
    expect(JSON.stringify(reply)).toContain('If you do nothing, Azure')
  })

  test('a reply that asks people to act is also shown in the channel', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const steps: Moment[] = ['changed', 'reminder', 'approved', 'stuck', 'started', 'lost']
    for (const [i, moment] of steps.entries()) {
      await bot.notify(bot.step(moment, 128 + i, { decided: approved }))
    }
    expect(bot.slack.replies().map(({ broadcast }) => broadcast)).toEqual(
      steps.map((moment) => ['changed', 'reminder', 'stuck', 'lost'].includes(moment)),
    )
  })

  test('an alert about a channel is a separate message, and edits nothing', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const kept = bot.chatMessage.kept
    const about = { channel: 'team', moment: 'scheduled' as const, state: 'refused', reason: 'x' }
    const notification = { moment: 'alert' as const, at, event: toView(record()), about }
    const delivery = claimed('n', { notification, seq: 2 ** 40 })
    const what = outgoing({
      delivery,
      message: compose(notification, at),
      chatMessage: bot.chatMessage,
    })
    expect((await bot.notify(what)).outcome).toBe('delivered')
    expect(bot.slack.messages()).toHaveLength(2)
    expect(bot.slack.messages().map(({ edits }) => edits)).toEqual([0, 0])
    expect(bot.chatMessage.kept).toEqual(kept)
  })
})

describe('what cannot be edited', () => {
  test.each(['message_not_found', 'cant_update_message', 'edit_window_closed', 'block_mismatch'])(
    '%s: a new message takes its place, and is edited from then on',
    async (code) => {
      await bot.notify(bot.step('scheduled', 64))
      bot.slack.freeze(bot.slack.messages()[0]!.ts, code)
      expect((await bot.notify(bot.step('approved', 128))).note).toBe('posted')
      expect((await bot.notify(bot.step('started', 192))).note).toBe('edited')
      expect(bot.slack.messages().map(({ edits }) => edits)).toEqual([0, 1])
      expect(bot.slack.replies()).toMatchObject([{ thread_ts: bot.slack.messages()[1]!.ts }])
    },
  )

  test('somebody deleted it: it is posted again', async () => {
    await bot.notify(bot.step('scheduled', 64))
    bot.slack.remove(bot.slack.messages()[0]!.ts)
    expect(await bot.notify(bot.step('started', 128))).toEqual({
      outcome: 'delivered',
      note: 'posted',
    })
    expect(bot.slack.messages().map(titleOf)).toEqual([expect.stringContaining('Started: Reboot')])
  })

  test('a locked thread: the step gets a new message', async () => {
    await bot.notify(bot.step('scheduled', 64))
    const locked = refusing('restricted_action_thread_locked')
    const passes = async () => Response.json({ ok: true, channel: channel.channel, ts: '1.1' })
    bot.slack.failNext(passes, locked)
    expect((await bot.notify(bot.step('started', 128))).note).toBe('posted')
    expect(bot.slack.messages()).toHaveLength(2)
  })

  test('the configuration names another channel now: the next step is posted there', async () => {
    await bot.notify(bot.step('scheduled', 64))
    bot.chatMessage.kept!.state = { ...bot.chatMessage.kept!.state, to: 'C0BEFORE' } as never
    expect((await bot.notify(bot.step('started', 128))).note).toBe('posted')
  })

  test.each([
    ['channel_not_found', 'Slack does not find the channel: channel_not_found'],
    ['is_inactive', 'is_inactive'],
    ['invalid_auth', 'invalid_auth'],
    ['msg_too_long', 'msg_too_long'],
  ])('%s is a refusal, and what stands there stays known', async (code, note) => {
    await bot.notify(bot.step('scheduled', 64))
    bot.slack.failNext(refusing(code))
    const refused = { outcome: 'refused', note }
    expect(await bot.notify(bot.step('approved', 128))).toMatchObject(refused)
    expect((await bot.notify(bot.step('started', 192))).note).toBe('edited')
    expect(bot.slack.messages()).toHaveLength(1)
  })
})

test('over HTTP: posted, edited and replied to', async () => {
  const sinks = await startSinks()
  const over = { ...channel, ...sinks.slackBot }
  for (const [i, moment] of (['scheduled', 'started'] as const).entries()) {
    const result = await notifiers.slack_bot.notify(bot.step(moment, 64 + i), over, fetch)
    expect(result.outcome).toBe('delivered')
  }
  const [message, reply] = [...sinks.slackMessages.values()]
  expect(message).toMatchObject({ edits: 1 })
  expect(reply).toMatchObject({ thread_ts: message!.ts, edits: 0 })
  await sinks.stop()
})

test('names are escaped in the message and in the thread', async () => {
  const hostile = { facts: facts({ resources: ['<!channel> & <https://evil.example|x> *'] }) }
  await bot.notify(bot.step('scheduled', 64, hostile))
  await bot.notify(bot.step('started', 128, hostile))
  expect(bot.slack.replies()).toHaveLength(1)
  for (const { json } of bot.slack.calls) {
    expect(JSON.stringify(json.blocks)).not.toContain('<!channel>","verbatim')
    const blocks = JSON.stringify(json.blocks).replaceAll(/<!date\^[^<>]+>/g, '')
    for (const text of blocks.match(/"type":"mrkdwn"[^}]*/g) ?? []) {
      expect(text).toContain('"verbatim":true')
      expect(text.replace(`<${outgoing().pageUrl}|Show event>`, '')).not.toMatch(/[<>]/)
    }
    expect(json.text).not.toMatch(/[<>]/)
  }
})

test('Slack accepts everything at its longest, in the message and in the thread', async () => {
  const long = '<☃🚢*"'.repeat(600)
  const changes = { facts: facts({ resources: Array(20).fill(long), description: long }) }
  for (const [i, moment] of (['scheduled', 'changed', 'completed'] as const).entries()) {
    expect((await bot.notify(bot.step(moment, 64 + i, changes))).outcome).toBe('delivered')
  }
  expect(bot.slack.calls.every(({ valid }) => valid === true)).toBe(true)
})

test.each(Object.keys(scenes))(
  '"%s", as it comes, is taken as an edit and as a reply',
  async (name) => {
    await bot.notify(bot.step('scheduled', 1))
    const what = scenes[name]!
    const result = await bot.notify({ ...what, chatMessage: bot.chatMessage })
    expect(result.outcome).toBe('delivered')
    const edits = what.delivery.notification.moment === 'alert' ? [] : ['chat.update']
    expect(bot.methods()).toEqual(['chat.postMessage', ...edits, 'chat.postMessage'])
    expect(bot.slack.calls.every(({ valid }) => valid === true)).toBe(true)
  },
)

test('an error of many pages is none of Slack', async () => {
  const send: Send = async () => Response.json({ ok: false, error: 'x'.repeat(9_000) })
  const result = await bot.notify(bot.step('scheduled', 64), send)
  expect(JSON.stringify(result).length).toBeLessThan(1_000)
  expect(JSON.stringify(result)).toContain('not from Slack')
})

test('the token is in the header only, and in no outcome', async () => {
  const seen: [string, RequestInit][] = []
  const echo: Send = async (url, init) => {
    seen.push([url, init])
    const said = `${JSON.stringify([...new Headers(init.headers)])} ${channel.token}`
    return Response.json({ ok: false, error: said })
  }
  for (const answer of [echo, async () => new Response(channel.token, { status: 403 })]) {
    const result = await bot.notify(bot.step('scheduled', 64), answer)
    expect(JSON.stringify(result)).not.toContain('simulated-token')
  }
  const [[url, init]] = seen as [[string, RequestInit]]
  expect(url).toBe(`${channel.endpoint}/chat.postMessage`)
  expect(init).toMatchObject({ method: 'POST', redirect: 'manual' })
  expect(new Headers(init.headers).get('authorization')).toBe(`Bearer ${channel.token}`)
  expect(`${url} ${init.body}`).not.toContain(channel.token)
})
