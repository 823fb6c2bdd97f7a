// The notifier of Slack's bots in case of trouble: the outcome of each answer, two workers at once.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Send } from '../../../functions/notify/notifier.ts'
import { at } from '../../support/records.ts'
import { refusing } from '../../support/slack-bot.ts'
import { memoryChatMessage } from '../outgoing.ts'
import { channel, createBotBench, titleOf } from './bot-bench.ts'

let bot: ReturnType<typeof createBotBench>
beforeEach(() => {
  bot = createBotBench()
})

describe('an answer decides', () => {
  const html = () => new Response('<html>Sign in</html>')
  const status = (code: number) => () => new Response('no', { status: code })
  // One code of each class. The contract has all of them, for the first message.
  const table: [string, () => Response | Promise<Response>, string][] = [
    ['a code that passes', refusing('ratelimited'), 'retry'],
    ['a code that stays', refusing('not_in_channel'), 'refused'],
    ['HTTP 503', status(503), 'retry'],
    ['HTTP 404', status(404), 'refused'],
    ['a page of something in between', html, 'refused'],
    ['a success without a place', () => Response.json({ ok: true }), 'refused'],
    ['no answer', () => Promise.reject(new TypeError('fetch failed')), 'retry'],
  ]

  test.each(table)('%s to the first message', async (_, answer, outcome) => {
    bot.slack.failNext(answer)
    const result = await bot.notify(bot.step('scheduled', 64))
    expect(result.outcome).toBe(outcome)
    expect(result.note).not.toBe('')
    expect(bot.slack.calls).toHaveLength(1)
    // Nothing was posted, so the next attempt can begin at once.
    expect((await bot.notify(bot.step('started', 128))).note).toBe('posted')
  })

  test.each(table)('%s to an edit', async (_, answer, outcome) => {
    await bot.notify(bot.step('scheduled', 64))
    bot.slack.failNext(answer)
    expect((await bot.notify(bot.step('started', 128))).outcome).toBe(outcome)
    expect((await bot.notify(bot.step('started', 128))).note).toBe('edited')
    expect(bot.slack.messages()).toHaveLength(1)
    expect(bot.slack.replies()).toHaveLength(1)
  })

  test.each(table)('%s to a reply', async (_, answer, outcome) => {
    await bot.notify(bot.step('scheduled', 64))
    const passes = async () => Response.json({ ok: true, channel: channel.channel, ts: '1.1' })
    bot.slack.failNext(passes, answer)
    expect((await bot.notify(bot.step('started', 128))).outcome).toBe(outcome)
    expect((await bot.notify(bot.step('started', 128))).note).toBe('edited')
    expect(bot.slack.replies()).toHaveLength(1)
  })

  test.each([
    ['429', () => new Response('', { status: 429, headers: { 'retry-after': '7' } })],
    ['ratelimited', refusing('ratelimited', { 'retry-after': '7' })],
    ['503', () => new Response('', { status: 503, headers: { 'retry-after': '7' } })],
  ])('%s: Retry-After is passed on', async (_, answer) => {
    bot.slack.failNext(answer)
    expect(await bot.notify(bot.step('scheduled', 64))).toMatchObject({ retryAfterMs: 7_000 })
  })

  test('a missing scope is named', async () => {
    bot.slack.failNext(() => {
      return Response.json({ ok: false, error: 'missing_scope', needed: 'chat:write' })
    })
    const note = 'missing_scope (needed: chat:write)'
    const refused = { outcome: 'refused', note, broken: true }
    expect(await bot.notify(bot.step('scheduled', 64))).toEqual(refused)
  })

  test('a long answer is read to its end, and an endless one is cut', async () => {
    const text = 'x'.repeat(100_000)
    bot.slack.failNext(() => Response.json({ message: { text }, ok: true, channel: 'C', ts: '1' }))
    expect((await bot.notify(bot.step('scheduled', 64))).outcome).toBe('delivered')
    bot.chatMessage = memoryChatMessage()
    let pulled = 0
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled++
      controller.enqueue(new Uint8Array(16_384).fill(120))
    }
    bot.slack.failNext(() => new Response(new ReadableStream({ pull })))
    expect((await bot.notify(bot.step('scheduled', 64))).outcome).toBe('refused')
    expect(pulled).toBeLessThan(20)
  })

  test('if an answer breaks off, the message may have been posted: refused, and not posted again', async () => {
    const pull = (controller: ReadableStreamDefaultController) => controller.error(new Error('x'))
    bot.slack.failNext(() => new Response(new ReadableStream({ pull })))
    const note = 'HTTP 200, but the answer is not from Slack: (the text broke off)'
    expect(await bot.notify(bot.step('scheduled', 64))).toEqual({ outcome: 'refused', note })
    expect(bot.methods()).toEqual(['chat.postMessage'])
    // The next step finds no message to edit, and posts its own.
    expect((await bot.notify(bot.step('started', 128))).note).toBe('posted')
  })
})

describe('two workers', () => {
  test('of which one is posting: the other waits, and sends nothing', async () => {
    const [a, b] = [bot.step('scheduled', 64), bot.step('started', 128)]
    let other: unknown
    const send: Send = async (url, init) => {
      other = await bot.notify(b)
      return bot.slack.send(url, init)
    }
    expect((await bot.notify(a, send)).outcome).toBe('delivered')
    expect(other).toMatchObject({ outcome: 'retry', unsent: true })
    expect(bot.slack.messages()).toHaveLength(1)
    expect((await bot.notify(b)).note).toBe('edited')
  })

  test('that find nothing at once: one posts', async () => {
    const results = await Promise.all([
      bot.notify(bot.step('scheduled', 64)),
      bot.notify(bot.step('scheduled', 64)),
    ])
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['delivered', 'retry'])
    expect(bot.methods()).toEqual(['chat.postMessage'])
    expect(bot.slack.messages()).toHaveLength(1)
  })

  test('of which one died while it posted: once its lease is over, another posts', async () => {
    bot.chatMessage.kept = { version: 1, state: { is: 'posting', by: 'dead', until: at } }
    expect((await bot.notify(bot.step('scheduled', 64))).note).toBe('posted')
    expect(bot.chatMessage.kept).toMatchObject({ version: 3, state: { is: 'posted', seq: 64 } })
  })

  test('of which one slept past its lease: it removes what it posted', async () => {
    const a = bot.step('scheduled', 64)
    const send: Send = async (url, init) => {
      const answer = await bot.slack.send(url, init)
      if (bot.slack.calls.length === 1) {
        const later = { ...bot.step('scheduled', 64), now: a.delivery.leaseUntil }
        later.delivery.lease = 'another'
        expect((await bot.notify(later)).note).toBe('posted')
      }
      return answer
    }
    expect(await bot.notify(a, send)).toMatchObject({ outcome: 'retry' })
    expect(bot.slack.messages()).toHaveLength(1)
    expect(bot.chatMessage.kept).toMatchObject({ state: { message: bot.slack.messages()[0]!.ts } })
  })

  test('of which one died before it settled: nothing is sent again', async () => {
    await bot.notify(bot.step('scheduled', 64))
    await bot.notify(bot.step('started', 128))
    const before = bot.slack.calls.length
    expect((await bot.notify(bot.step('started', 128))).outcome).toBe('delivered')
    expect(bot.slack.calls).toHaveLength(before)
  })

  test('of which one comes with an earlier step: the newer one stays', async () => {
    await bot.notify(bot.step('completed', 128))
    expect((await bot.notify(bot.step('started', 64))).outcome).toBe('superseded')
    expect(bot.slack.messages().map(titleOf)).toEqual([expect.stringContaining('Completed')])
  })

  test('whose lease is over send nothing', async () => {
    const what = { ...bot.step('scheduled', 64), signal: AbortSignal.abort() }
    expect(await bot.notify(what)).toEqual({ outcome: 'retry', note: 'no answer in time' })
    expect(bot.slack.calls).toEqual([])
  })
})
