// What the sink of Slack's Web API takes, refuses and keeps in its channel.

import { describe, expect, test } from 'vitest'
import { last, post, sinks, useSinks } from '../posting.ts'
import { SLACK_CHANNEL as channel } from './slack-bot.ts'

useSinks()

describe('slack_bot', () => {
  const quiet = { unfurl_links: false, unfurl_media: false }
  const message = { channel, text: 'hi', ...quiet }
  const call = async (method: string, body: object, token = sinks.slackBot.token) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await post(`${sinks.slackBot.endpoint}/${method}`, body, headers)
    expect(answer.status).toBe(200)
    return JSON.parse(answer.text)
  }

  test('keeps what stands in the channel: posted, edited, replied to, deleted', async () => {
    const { ok, ts } = await call('chat.postMessage', message)
    expect([ok, sinks.slackMessages.get(ts)?.text]).toEqual([true, 'hi'])
    const reply = await call('chat.postMessage', { ...message, thread_ts: ts })
    expect(sinks.slackMessages.get(reply.ts)).toMatchObject({ thread_ts: ts, broadcast: false })
    expect(await call('chat.update', { channel, ts, text: 'ho' })).toMatchObject({ ok: true, ts })
    expect(sinks.slackMessages.get(ts)).toMatchObject({ text: 'ho', blocks: [], edits: 1 })
    expect(await call('chat.delete', { channel, ts: reply.ts })).toMatchObject({ ok: true })
    expect([...sinks.slackMessages.keys()]).toEqual([ts])
  })

  test.each([
    ['chat.postMessage', { ...message, channel: 'C1' }, 'channel_not_found'],
    ['chat.postMessage', { ...message, text: '' }, 'no_text'],
    ['chat.postMessage', { ...message, blocks: [{ type: 'banner' }] }, 'invalid_blocks'],
    ['chat.postMessage', { ...message, unfurl_links: true }, 'invalid_arguments'],
    ['chat.postMessage', { ...message, thread_ts: '1.1' }, 'thread_not_found'],
    ['chat.update', { channel, ts: '1.1', text: 'ho' }, 'message_not_found'],
    ['chat.delete', { channel, ts: '1.1' }, 'message_not_found'],
    ['chat.shout', message, 'unknown_method'],
  ])('%s of %j: %s', async (method, body, error) => {
    expect(await call(method, body)).toEqual({ ok: false, error })
    expect(last()).toMatchObject({ kind: 'slack_bot', accepted: false })
    expect(sinks.slackMessages.size).toBe(0)
  })

  test('another token is refused', async () => {
    expect(await call('chat.postMessage', message, 'xoxb-other')).toMatchObject({ ok: false })
  })
})
