// Which messages the sink of Slack's incoming webhooks takes and refuses, with Slack's limits and answers.

import { describe, expect, test } from 'vitest'
import { last, post, sinks, useSinks } from '../posting.ts'

useSinks()

describe('slack', () => {
  const plain = (text: string) => ({ type: 'plain_text', text })
  const markdown = (text: string) => ({ type: 'mrkdwn', text })
  const section = (text: string) => ({ type: 'section', text: markdown(text) })
  const button = (more: object = {}) => ({ type: 'button', text: plain('Approve'), ...more })
  const actions = (...elements: object[]) => ({ type: 'actions', elements })
  const confirm = {
    title: plain('Sure?'),
    text: plain('It'),
    confirm: plain('Y'),
    deny: plain('N'),
  }
  const many = <T>(count: number, one: T) => Array.from({ length: count }, () => one)
  const long = (length: number) => 'x'.repeat(length)

  test.each([
    ['text alone', []],
    ['50 blocks', many(50, { type: 'divider' })],
    ['a header of 150', [{ type: 'header', text: plain(long(150)) }]],
    ['a section of 3000', [section(long(3000))]],
    ['3000 characters outside the basic plane', [section('🔧'.repeat(3000))]],
    ['10 fields of 1000', [{ type: 'section', fields: many(10, markdown(long(1000))) }]],
    ['a field of 2000', [{ type: 'section', fields: [markdown(long(2000))] }]],
    ['10 context elements', [{ type: 'context', elements: many(10, markdown('x')) }]],
    ['25 buttons', [actions(...many(25, button()))]],
    ['a button with all', [actions(button({ url: 'https://a.example/', value: 'v', confirm }))]],
    ['12 000 emoji', many(4, section('🔧'.repeat(3000)))],
    ['13 000 characters', [...many(4, section(long(3000))), section(long(1000))]],
  ])('takes %s', async (_, blocks) => {
    expect(await post(sinks.slackUrl, { text: 'hi', blocks })).toMatchObject({
      status: 200,
      text: 'ok',
    })
    expect(last()).toMatchObject({ kind: 'slack', valid: true, accepted: true, answered: 200 })
  })

  test.each([
    ['51 blocks', many(51, { type: 'divider' })],
    ['an unknown block', [{ type: 'banner' }]],
    ['a header of 151', [{ type: 'header', text: plain(long(151)) }]],
    ['a header in markdown', [{ type: 'header', text: markdown('x') }]],
    ['a section of 3001', [section(long(3001))]],
    ['an empty section', [section('')]],
    ['a section of nothing', [{ type: 'section' }]],
    ['11 fields', [{ type: 'section', fields: many(11, markdown('x')) }]],
    ['a field of 2001', [{ type: 'section', fields: [markdown(long(2001))] }]],
    ['11 context elements', [{ type: 'context', elements: many(11, markdown('x')) }]],
    ['26 buttons', [actions(...many(26, button()))]],
    ['a button text of 76', [actions(button({ text: plain(long(76)) }))]],
    ['a button text in markdown', [actions(button({ text: markdown('x') }))]],
    ['a value of 2001', [actions(button({ value: long(2001) }))]],
    ['a url of 3001', [actions(button({ url: `https://a.example/${long(2983)}` }))]],
    ['a url that is none', [actions(button({ url: 'javascript:alert(1)' }))]],
    ['an action_id of 256', [actions(button({ action_id: long(256) }))]],
    ['a block_id of 256', [{ type: 'divider', block_id: long(256) }]],
    ['a title of 101', [actions(button({ confirm: { ...confirm, title: plain(long(101)) } }))]],
    ['a confirm without deny', [actions(button({ confirm: { ...confirm, deny: undefined } }))]],
    ['a confirm with more', [actions(button({ confirm: { ...confirm, cancel: plain('N') } }))]],
    ['two buttons of one id', [actions(...many(2, button({ action_id: 'approve' })))]],
    ['a confirm of 301', [actions(button({ confirm: { ...confirm, text: plain(long(301)) } }))]],
  ])('refuses %s', async (_, blocks) => {
    expect(await post(sinks.slackUrl, { text: 'hi', blocks })).toMatchObject({
      status: 400,
      text: 'invalid_blocks',
    })
    expect(last()).toMatchObject({ valid: expect.stringMatching(/^invalid_blocks: /) })
    expect(last().accepted).toBe(false)
  })

  test.each([
    ['not JSON', '{', 400, 'invalid_payload'],
    ['a list', [], 400, 'invalid_payload'],
    ['no text', { blocks: [] }, 400, 'no_text'],
    ['an empty text', { text: '' }, 400, 'no_text'],
    [
      'more than 13 000 characters',
      { text: 'x', blocks: [...many(4, section(long(3000))), section(long(1001))] },
      400,
      'msg_blocks_too_long',
    ],
  ])('refuses %s', async (_, body, status, text) => {
    expect(await post(sinks.slackUrl, body)).toMatchObject({ status, text })
  })

  test.each([
    [{ text: 'x', response_type: 'ephemeral', replace_original: false }, 200],
    [{ text: 'x', replace_original: true }, 200],
    [{ text: 'x' }, 400],
    [{ text: 'x', response_type: 'in_channel', replace_original: false }, 400],
    [{ text: 'x', response_type: 'ephemeral', replace_original: true }, 400],
    [{ replace_original: true }, 400],
  ])('an answer to a press: %j', async (body, status) => {
    expect(await post(sinks.slackReplyUrl, body)).toMatchObject({ status })
  })

  test('refuses another content type, and another URL', async () => {
    const asText = await post(sinks.slackUrl, { text: 'x' }, { 'content-type': 'text/plain' })
    expect(asText).toMatchObject({ status: 400, text: 'invalid_payload' })
    const elsewhere = await post(`${sinks.slackUrl}x`, { text: 'x' })
    expect(elsewhere).toMatchObject({ status: 404, text: 'no_service' })
    expect((await post(`${sinks.slackUrl}?channel=2`, { text: 'x' })).status).toBe(200)
  })
})
