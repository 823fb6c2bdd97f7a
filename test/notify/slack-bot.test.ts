// The notifier of Slack's bots against the simulator's Web API: what stands in the channel, what the thread says,
// and what each answer comes to.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Telling } from '../../functions/core/delivery.ts'
import { viewOf } from '../../functions/core/delivery.ts'
import type { EventRecord, Moment } from '../../functions/core/event.ts'
import { compose } from '../../functions/core/message.ts'
import { type ChannelOf, notifiers } from '../../functions/notify/kinds.ts'
import type { Outgoing, Send } from '../../functions/notify/notifier.ts'
import { startSinks } from '../simulator/sinks.ts'
import { at, claimed, facts, record } from '../support/records.ts'
import {
  botChannel,
  buttonsOf,
  createSlackBot,
  refusing,
  type SlackBot,
} from '../support/slack-bot.ts'
import { memoryPosts, outgoing } from './outgoing.ts'
import { scenes } from './scenes.ts'

const channel: ChannelOf<'slack_bot'> = { ...botChannel, kind: 'slack_bot' }
const approved = { decision: 'approved' as const, how: 'link' as const, who: 'ops', at }

let slack: SlackBot
let posts: ReturnType<typeof memoryPosts>
beforeEach(() => {
  slack = createSlackBot()
  posts = memoryPosts()
})

/** A step of one event; each comes after the one before. */
function step(moment: Moment, seq: number, changes: Partial<EventRecord> = {}): Outgoing {
  const telling: Telling = { moment, at, event: viewOf(record(changes)) }
  const delivery = claimed(`d-${seq}`, { telling, seq, lease: `lease-${seq}` })
  return outgoing({ delivery, message: compose(telling, at), posts })
}

function notify(what: Outgoing, send: Send = slack.send) {
  return notifiers.slack_bot.notify(what, channel, send)
}

const methods = () => slack.calls.map(({ method }) => method)
const titleOf = ({ text }: { text: string }) => text.split('\n', 1)[0]

describe('one message for an event', () => {
  test('is posted with text, blocks and a button, and expands no link', async () => {
    expect(await notify(step('scheduled', 64))).toEqual({ outcome: 'delivered', note: 'posted' })
    expect(slack.calls).toMatchObject([{ method: 'chat.postMessage', valid: true }])
    const [message] = slack.messages()
    expect(titleOf(message!)).toContain('Reboot of web_0')
    expect(buttonsOf(message!).map(({ url }) => url)).toEqual([outgoing().pageUrl])
  })

  test('is edited at the next step, text and blocks; the button goes once it is approved', async () => {
    await notify(step('scheduled', 64))
    const result = await notify(step('approved', 128, { verdict: approved }))
    expect(result).toEqual({ outcome: 'delivered', note: 'edited' })
    expect(methods()).toEqual(['chat.postMessage', 'chat.update', 'chat.postMessage'])
    const [message, ...others] = slack.messages()
    expect(others).toEqual([])
    expect(message).toMatchObject({ edits: 1 })
    expect(titleOf(message!)).toContain('Approved: Reboot of web_0')
    expect(message!.blocks.length).toBeGreaterThan(1)
    expect(JSON.stringify(message!.blocks)).toContain('Approved: Reboot of web_0')
    expect(buttonsOf(message!)).toEqual([])
  })

  test('after "not now" a person may still approve: its button says so, and shouts no more', async () => {
    await notify(step('scheduled', 64))
    const asked = buttonsOf(slack.messages()[0]!)
    expect(asked).toMatchObject([{ text: { text: 'Decide' }, style: 'primary' }])
    await notify(step('declined', 128, { verdict: { ...approved, decision: 'declined' } }))
    const [button, ...others] = buttonsOf(slack.messages()[0]!)
    expect(others).toEqual([])
    expect(button).toMatchObject({ text: { text: 'Reconsider' }, url: outgoing().pageUrl })
    expect(button).not.toHaveProperty('style')
  })

  test('once it is over, decided or not, a link in the small print takes the place of the button', async () => {
    await notify(step('scheduled', 64))
    const smallPrint = () => JSON.stringify(slack.messages()[0]!.blocks.at(-1))
    expect(smallPrint()).not.toContain('|')
    const over = { phase: 'cancelled' as const, ended: { at, outcome: 'cancelled' as const } }
    await notify(step('cancelled', 128, over))
    expect(buttonsOf(slack.messages()[0]!)).toEqual([])
    expect(smallPrint()).toContain(` <${outgoing().pageUrl}|Show event>"`)
  })

  test('the thread tells its course, one reply for each later step', async () => {
    await notify(step('scheduled', 64))
    const steps: Moment[] = ['changed', 'approved', 'started', 'completed']
    for (const [i, moment] of steps.entries()) {
      await notify(step(moment, 128 + i, { verdict: approved }))
    }
    const [message] = slack.messages()
    expect(slack.replies().map(titleOf)).toEqual([
      expect.stringContaining('Changed: Reboot'),
      expect.stringContaining('Approved: Reboot'),
      expect.stringContaining('Started: Reboot'),
      expect.stringContaining('Completed: Reboot'),
    ])
    for (const reply of slack.replies()) {
      expect(reply.thread_ts).toBe(message!.ts)
      expect(buttonsOf(reply)).toEqual([])
    }
    expect(slack.calls.every(({ valid }) => valid === true)).toBe(true)
  })

  test('a reply that calls for somebody stands in the channel as well', async () => {
    await notify(step('scheduled', 64))
    const steps: Moment[] = ['changed', 'reminder', 'approved', 'stuck', 'started', 'lost']
    for (const [i, moment] of steps.entries()) {
      await notify(step(moment, 128 + i, { verdict: approved }))
    }
    expect(slack.replies().map(({ broadcast }) => broadcast)).toEqual(
      steps.map((moment) => ['changed', 'reminder', 'stuck', 'lost'].includes(moment)),
    )
  })

  test('trouble with a channel is a message of its own, and edits nothing', async () => {
    await notify(step('scheduled', 64))
    const kept = posts.kept
    const about = { channel: 'team', moment: 'scheduled' as const, state: 'refused', reason: 'x' }
    const telling = { moment: 'notice' as const, at, event: viewOf(record()), about }
    const delivery = claimed('n', { telling, seq: 2 ** 40 })
    const what = outgoing({ delivery, message: compose(telling, at), posts })
    expect((await notify(what)).outcome).toBe('delivered')
    expect(slack.messages()).toHaveLength(2)
    expect(slack.messages().map(({ edits }) => edits)).toEqual([0, 0])
    expect(posts.kept).toEqual(kept)
  })
})

describe('what cannot be edited', () => {
  test.each(['message_not_found', 'cant_update_message', 'edit_window_closed', 'block_mismatch'])(
    '%s: a new message takes its place, and is edited from then on',
    async (code) => {
      await notify(step('scheduled', 64))
      slack.freeze(slack.messages()[0]!.ts, code)
      expect((await notify(step('approved', 128))).note).toBe('posted')
      expect((await notify(step('started', 192))).note).toBe('edited')
      expect(slack.messages().map(({ edits }) => edits)).toEqual([0, 1])
      expect(slack.replies()).toMatchObject([{ thread_ts: slack.messages()[1]!.ts }])
    },
  )

  test('somebody deleted it: it is posted anew', async () => {
    await notify(step('scheduled', 64))
    slack.remove(slack.messages()[0]!.ts)
    expect(await notify(step('started', 128))).toEqual({ outcome: 'delivered', note: 'posted' })
    expect(slack.messages().map(titleOf)).toEqual([expect.stringContaining('Started: Reboot')])
  })

  test('a locked thread: the step is told by a new message', async () => {
    await notify(step('scheduled', 64))
    const locked = refusing('restricted_action_thread_locked')
    const passes = async () => Response.json({ ok: true, channel: channel.channel, ts: '1.1' })
    slack.failNext(passes, locked)
    expect((await notify(step('started', 128))).note).toBe('posted')
    expect(slack.messages()).toHaveLength(2)
  })

  test('the configuration names another channel now: what follows is posted there', async () => {
    await notify(step('scheduled', 64))
    posts.kept!.state = { ...posts.kept!.state, to: 'C0BEFORE' } as never
    expect((await notify(step('started', 128))).note).toBe('posted')
  })

  test.each(['channel_not_found', 'is_inactive', 'invalid_auth', 'msg_too_long'])(
    '%s is a refusal, and what stands there stays known',
    async (code) => {
      await notify(step('scheduled', 64))
      slack.failNext(refusing(code))
      const refused = { outcome: 'refused', note: code }
      expect(await notify(step('approved', 128))).toMatchObject(refused)
      expect((await notify(step('started', 192))).note).toBe('edited')
      expect(slack.messages()).toHaveLength(1)
    },
  )
})

describe('an answer decides', () => {
  const html = () => new Response('<html>Sign in</html>')
  const status = (code: number) => () => new Response('no', { status: code })
  const passing = ['ratelimited', 'internal_error', 'team_added_to_org', 'update_failed']
  const final = ['channel_not_found', 'not_in_channel', 'is_archived', 'invalid_auth', 'no_text']
  const codes = ['token_revoked', 'account_inactive', 'msg_too_long', 'msg_blocks_too_long']
  const table: [string, () => Response | Promise<Response>, string][] = [
    ...passing.map((code): [string, () => Response, string] => [code, refusing(code), 'retry']),
    ...[...final, ...codes].map((code): [string, () => Response, string] => {
      return [code, refusing(code), 'refused']
    }),
    ...[408, 425, 429, 500, 502, 503].map((code): [string, () => Response, string] => {
      return [`HTTP ${code}`, status(code), 'retry']
    }),
    ...[301, 302, 400, 401, 403, 404, 410].map((code): [string, () => Response, string] => {
      return [`HTTP ${code}`, status(code), 'refused']
    }),
    ['a page of something in between', html, 'refused'],
    ['a success without a place', () => Response.json({ ok: true }), 'refused'],
    ['no answer', () => Promise.reject(new TypeError('fetch failed')), 'retry'],
  ]

  test.each(table)('%s to the first message', async (_, answer, outcome) => {
    slack.failNext(answer)
    const result = await notify(step('scheduled', 64))
    expect(result.outcome).toBe(outcome)
    expect(result.note).not.toBe('')
    expect(slack.calls).toHaveLength(1)
    // nothing stands there, and the next attempt may begin at once
    expect((await notify(step('started', 128))).note).toBe('posted')
  })

  test.each(table)('%s to an edit', async (_, answer, outcome) => {
    await notify(step('scheduled', 64))
    slack.failNext(answer)
    expect((await notify(step('started', 128))).outcome).toBe(outcome)
    expect((await notify(step('started', 128))).note).toBe('edited')
    expect(slack.messages()).toHaveLength(1)
    expect(slack.replies()).toHaveLength(1)
  })

  test.each(table)('%s to a reply', async (_, answer, outcome) => {
    await notify(step('scheduled', 64))
    const passes = async () => Response.json({ ok: true, channel: channel.channel, ts: '1.1' })
    slack.failNext(passes, answer)
    expect((await notify(step('started', 128))).outcome).toBe(outcome)
    expect((await notify(step('started', 128))).note).toBe('edited')
    expect(slack.replies()).toHaveLength(1)
  })

  test.each([
    ['429', () => new Response('', { status: 429, headers: { 'retry-after': '7' } })],
    ['ratelimited', refusing('ratelimited', { 'retry-after': '7' })],
    ['503', () => new Response('', { status: 503, headers: { 'retry-after': '7' } })],
  ])('%s: Retry-After is passed on', async (_, answer) => {
    slack.failNext(answer)
    expect(await notify(step('scheduled', 64))).toMatchObject({ retryAfterMs: 7_000 })
  })

  test('a missing scope is named', async () => {
    slack.failNext(() => {
      return Response.json({ ok: false, error: 'missing_scope', needed: 'chat:write' })
    })
    const note = 'missing_scope (needed: chat:write)'
    const refused = { outcome: 'refused', note, broken: true }
    expect(await notify(step('scheduled', 64))).toEqual(refused)
  })

  test('an answer that is longer than others is read to its end, and one without end is cut', async () => {
    const text = 'x'.repeat(100_000)
    slack.failNext(() => Response.json({ message: { text }, ok: true, channel: 'C', ts: '1' }))
    expect((await notify(step('scheduled', 64))).outcome).toBe('delivered')
    posts = memoryPosts()
    let pulled = 0
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled++
      controller.enqueue(new Uint8Array(16_384).fill(120))
    }
    slack.failNext(() => new Response(new ReadableStream({ pull })))
    expect((await notify(step('scheduled', 64))).outcome).toBe('refused')
    expect(pulled).toBeLessThan(20)
  })

  test('one that breaks off leaves open what stands there: it is told as missed, and not posted again', async () => {
    const pull = (controller: ReadableStreamDefaultController) => controller.error(new Error('x'))
    slack.failNext(() => new Response(new ReadableStream({ pull })))
    const note = "HTTP 200, but no answer of Slack's: (the text broke off)"
    expect(await notify(step('scheduled', 64))).toEqual({ outcome: 'refused', note })
    expect(methods()).toEqual(['chat.postMessage'])
    // the next step finds no message to edit, and has one of its own
    expect((await notify(step('started', 128))).note).toBe('posted')
  })
})

describe('two workers', () => {
  test('of which one is posting: the other waits, and sends nothing', async () => {
    const [a, b] = [step('scheduled', 64), step('started', 128)]
    let other: unknown
    const send: Send = async (url, init) => {
      other = await notify(b)
      return slack.send(url, init)
    }
    expect((await notify(a, send)).outcome).toBe('delivered')
    expect(other).toMatchObject({ outcome: 'retry', unsent: true })
    expect(slack.messages()).toHaveLength(1)
    expect((await notify(b)).note).toBe('edited')
  })

  test('that find nothing at once: one posts', async () => {
    const results = await Promise.all([
      notify(step('scheduled', 64)),
      notify(step('scheduled', 64)),
    ])
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['delivered', 'retry'])
    expect(methods()).toEqual(['chat.postMessage'])
    expect(slack.messages()).toHaveLength(1)
  })

  test('of which one died while it posted: once its lease is over, another posts', async () => {
    posts.kept = { version: 1, state: { is: 'posting', by: 'dead', until: at } }
    expect((await notify(step('scheduled', 64))).note).toBe('posted')
    expect(posts.kept).toMatchObject({ version: 3, state: { is: 'posted', seq: 64 } })
  })

  test('of which one slept through its lease: it takes back what it posted', async () => {
    const a = step('scheduled', 64)
    const send: Send = async (url, init) => {
      const answer = await slack.send(url, init)
      if (slack.calls.length === 1) {
        const later = { ...step('scheduled', 64), now: a.delivery.leaseUntil }
        later.delivery.lease = 'another'
        expect((await notify(later)).note).toBe('posted')
      }
      return answer
    }
    expect(await notify(a, send)).toMatchObject({ outcome: 'retry' })
    expect(slack.messages()).toHaveLength(1)
    expect(posts.kept).toMatchObject({ state: { message: slack.messages()[0]!.ts } })
  })

  test('of which one died before it settled: nothing is told again', async () => {
    await notify(step('scheduled', 64))
    await notify(step('started', 128))
    const before = slack.calls.length
    expect((await notify(step('started', 128))).outcome).toBe('delivered')
    expect(slack.calls).toHaveLength(before)
  })

  test('of which one comes with an earlier step: the newer one stays', async () => {
    await notify(step('completed', 128))
    expect((await notify(step('started', 64))).outcome).toBe('superseded')
    expect(slack.messages().map(titleOf)).toEqual([expect.stringContaining('Completed')])
  })

  test('whose time is over sends nothing', async () => {
    const what = { ...step('scheduled', 64), signal: AbortSignal.abort() }
    expect(await notify(what)).toEqual({ outcome: 'retry', note: 'no answer in time' })
    expect(slack.calls).toEqual([])
  })
})

test('over HTTP: posted, edited and replied to', async () => {
  const sinks = await startSinks()
  const over = { ...channel, ...sinks.slackBot }
  for (const [i, moment] of (['scheduled', 'started'] as const).entries()) {
    const result = await notifiers.slack_bot.notify(step(moment, 64 + i), over, fetch)
    expect(result.outcome).toBe('delivered')
  }
  const [message, reply] = [...sinks.slackMessages.values()]
  expect(message).toMatchObject({ edits: 1 })
  expect(reply).toMatchObject({ thread_ts: message!.ts, edits: 0 })
  await sinks.stop()
})

test('names are escaped in the message and in the thread', async () => {
  const hostile = { facts: facts({ resources: ['<!channel> & <https://evil.example|x> *'] }) }
  await notify(step('scheduled', 64, hostile))
  await notify(step('started', 128, hostile))
  expect(slack.replies()).toHaveLength(1)
  for (const { json } of slack.calls) {
    expect(JSON.stringify(json.blocks)).not.toContain('<!channel>","verbatim')
    for (const text of JSON.stringify(json.blocks).match(/"type":"mrkdwn"[^}]*/g) ?? []) {
      expect(text).toContain('"verbatim":true')
      expect(text.replace(`<${outgoing().pageUrl}|Show event>`, '')).not.toMatch(/[<>]/)
    }
    expect(json.text).not.toMatch(/[<>]/)
  }
})

test('everything at its longest is taken, in the message and in the thread', async () => {
  const long = '<☃🚢*"'.repeat(600)
  const changes = { facts: facts({ resources: Array(20).fill(long), description: long }) }
  for (const [i, moment] of (['scheduled', 'changed', 'completed'] as const).entries()) {
    expect((await notify(step(moment, 64 + i, changes))).outcome).toBe('delivered')
  }
  expect(slack.calls.every(({ valid }) => valid === true)).toBe(true)
})

test.each(Object.keys(scenes))(
  '"%s", as it comes, is taken as an edit and as a reply',
  async (name) => {
    await notify(step('scheduled', 1))
    const what = scenes[name]!
    const result = await notify({ ...what, posts })
    expect(result.outcome).toBe('delivered')
    const edits = what.delivery.telling.moment === 'notice' ? [] : ['chat.update']
    expect(methods()).toEqual(['chat.postMessage', ...edits, 'chat.postMessage'])
    expect(slack.calls.every(({ valid }) => valid === true)).toBe(true)
  },
)

test('the token goes where it belongs, and comes out nowhere', async () => {
  const seen: [string, RequestInit][] = []
  const echo: Send = async (url, init) => {
    seen.push([url, init])
    const said = `${JSON.stringify([...new Headers(init.headers)])} ${channel.token}`
    return Response.json({ ok: false, error: said })
  }
  for (const answer of [echo, async () => new Response(channel.token, { status: 403 })]) {
    const result = await notify(step('scheduled', 64), answer)
    expect(JSON.stringify(result)).not.toContain('simulated-token')
  }
  const [[url, init]] = seen as [[string, RequestInit]]
  expect(url).toBe(`${channel.endpoint}/chat.postMessage`)
  expect(init).toMatchObject({ method: 'POST', redirect: 'manual' })
  expect(new Headers(init.headers).get('authorization')).toBe(`Bearer ${channel.token}`)
  expect(`${url} ${init.body}`).not.toContain(channel.token)
})
