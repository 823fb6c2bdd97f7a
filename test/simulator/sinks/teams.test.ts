// Which cards the sink of Teams takes and refuses.

import { describe, expect, test } from 'vitest'
import { last, post, sinks, useSinks } from '../posting.ts'

useSinks()

describe('teams', () => {
  const openUrl = { type: 'Action.OpenUrl', title: 'Look', url: 'https://a.example/' }
  const card = (content: object = {}, attachment: object = {}, envelope: object = {}) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          type: 'AdaptiveCard',
          version: '1.4',
          body: [{ type: 'TextBlock', text: 'hi' }],
          actions: [openUrl],
          msteams: { width: 'Full' },
          ...content,
        },
        ...attachment,
      },
    ],
    ...envelope,
  })

  test('takes a card, and answers with nothing', async () => {
    expect(await post(sinks.teamsUrl, card())).toMatchObject({ status: 202, text: '' })
    expect(last()).toMatchObject({ kind: 'teams', valid: true, accepted: true })
  })

  test.each([
    ['another envelope', card({}, {}, { type: 'MessageCard' })],
    ['no attachment', card({}, {}, { attachments: [] })],
    ['another content type', card({}, { contentType: 'application/json' })],
    ['another version', card({ version: '1.5' })],
    ['no body', card({ body: [] })],
    ['a button that needs a bot', card({ actions: [{ ...openUrl, type: 'Action.Submit' }] })],
    ['a button inside that does', card({ body: [{ type: 'ActionSet', actions: [{}] }] })],
    ['a button without URL', card({ actions: [{ ...openUrl, url: undefined }] })],
    ['not JSON', '{'],
  ])('refuses %s', async (_, body) => {
    expect((await post(sinks.teamsUrl, body)).status).toBe(400)
    expect(last()).toMatchObject({ valid: expect.any(String), accepted: false })
  })

  test('refuses more than 28 KB', async () => {
    const size = (bytes: number) => {
      const empty = JSON.stringify(card({ fallbackText: '' })).length
      return card({ fallbackText: 'x'.repeat(bytes - empty) })
    }
    expect((await post(sinks.teamsUrl, size(28 * 1024))).status).toBe(202)
    expect((await post(sinks.teamsUrl, size(28 * 1024 + 1))).status).toBe(413)
  })

  test('refuses a URL without its signature', async () => {
    const url = new URL(sinks.teamsUrl)
    url.search = ''
    expect((await post(url.href, card())).status).toBe(401)
  })
})
