// The notifier of a bot in Teams against the simulated Bot Connector: the card in the channel and its thread.
// `edited.ts` is tried with Slack, too (slack/bot.test.ts).
import { beforeEach, expect, test } from 'vitest'
import type { Moment } from '../../functions/core/event/moment.ts'
import { toView } from '../../functions/core/event/view.ts'
import { compose } from '../../functions/core/message/message.ts'
import type { Send } from '../../functions/notify/notifier.ts'
import { notifiers } from '../../functions/notify/registry.ts'
import { FoghornError } from '../../shared/errors.ts'
import {
  CONNECTOR_PREFIX,
  TEAMS_CHANNEL,
  TEAMS_TENANT,
  teamsBotSink,
} from '../simulator/sinks/teams-bot.ts'
import { at, claimed, type Fields, record } from '../support/records.ts'
import { memoryChatMessage, outgoing } from './outgoing.ts'

const channel = {
  ...{ kind: 'teams_bot' as const, channelId: TEAMS_CHANNEL, tenantId: TEAMS_TENANT },
  endpoint: `https://bot.example${CONNECTOR_PREFIX.slice(0, -1)}`,
}
const approved = { decision: 'approved' as const, how: 'entra' as const, who: 't/ada', at }

let sink: ReturnType<typeof teamsBotSink>
let chatMessage: ReturnType<typeof memoryChatMessage>
let calls: string[]
let next: (() => Response)[]

beforeEach(() => {
  sink = teamsBotSink()
  chatMessage = memoryChatMessage()
  calls = []
  next = []
})

const send: Send = async (url, { method, headers = {}, body = '' }) => {
  calls.push(method)
  const scripted = next.shift()
  if (scripted !== undefined) return scripted()
  const path = url.slice('https://bot.example'.length)
  const lower = Object.fromEntries(new Headers(headers))
  const json: unknown = body === '' ? undefined : JSON.parse(body)
  const request = { method, at, path, headers: lower, body, json }
  const { valid, reply } = sink.judge(request)
  if (valid === true) sink.accept(request)
  return Response.json(reply.body ?? {}, { status: reply.status })
}

function notify(moment: Moment, seq: number, changes: Fields = {}) {
  const event = toView(record(changes))
  const notification = { moment, at, event }
  const delivery = claimed(`prod/e/1/${moment}/bot`, { seq, notification })
  const what = outgoing({ chatMessage, delivery, message: compose(notification, at) })
  return notifiers.teams_bot.notify(what, channel, send)
}

const all = () => [...sink.messages.values()]
const cards = () => all().filter(({ isReply }) => !isReply)

test('an event is one card, which each step edits, with a reply in its thread', async () => {
  expect(await notify('scheduled', 64)).toEqual({ outcome: 'delivered', note: 'posted' })
  expect(await notify('approved', 128, { decided: approved })).toEqual({
    outcome: 'delivered',
    note: 'edited',
  })
  expect(calls).toEqual(['POST', 'PUT', 'POST'])
  expect(cards()).toMatchObject([{ edits: 1 }])
  const [reply] = all().filter(({ isReply }) => isReply)
  expect(reply!.place).toBe(cards()[0]!.place)
  expect(JSON.stringify(reply!.content)).toContain('Approved at ')
})

test('if somebody deleted the card, a new one is posted', async () => {
  await notify('scheduled', 64)
  sink.remove(cards()[0]!.id)
  expect(await notify('started', 128)).toEqual({ outcome: 'delivered', note: 'posted' })
  expect(cards()).toHaveLength(1)
})

test('where the bot is not in the channel, a person must act', async () => {
  const other = { ...channel, channelId: '19:other@thread.tacv2' }
  const result = await notifiers.teams_bot.notify(outgoing({ chatMessage }), other, send)
  expect(result).toMatchObject({ outcome: 'refused', broken: true })
  expect(result.note).toContain('BotNotInConversationRoster')
})

test('after an edit that failed, the same step edits again', async () => {
  await notify('scheduled', 64)
  next = [() => new Response('', { status: 503, headers: { 'retry-after': '3' } })]
  expect(await notify('started', 128)).toMatchObject({ outcome: 'retry', retryAfterMs: 3_000 })
  expect(await notify('started', 128)).toEqual({ outcome: 'delivered', note: 'edited' })
  expect(cards()).toMatchObject([{ edits: 1 }])
})

test('a token that is refused is renewed, and one that is missing is waited for', async () => {
  const dropped: string[] = []
  const azureTokens = { read: async () => 'old', drop: (one: string) => void dropped.push(one) }
  const what = outgoing({ chatMessage, azureTokens })
  expect(await notifiers.teams_bot.notify(what, channel, send)).toMatchObject({ outcome: 'retry' })
  expect(dropped).toEqual(['https://api.botframework.com'])
  azureTokens.read = async () => {
    throw new FoghornError('azure_token_missing', 'there is no token')
  }
  expect(await notifiers.teams_bot.notify(what, channel, send)).toEqual({
    outcome: 'retry',
    note: 'there is no token',
    unreached: true,
  })
})
