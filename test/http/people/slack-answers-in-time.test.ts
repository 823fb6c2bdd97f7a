// Slack gets its answer in time, even if the store or the reply address fails or hangs.
import { Hono } from 'hono'
import { beforeEach, describe, expect, test } from 'vitest'
import { answerPress } from '../../../functions/http/people/slack.ts'
import { createFrequentLog } from '../../../functions/use-cases/frequent-log.ts'
import { FoghornError } from '../../../shared/errors.ts'
import { around } from '../../sim/around.ts'
import { startWithEvent, world } from '../../support/relay.ts'
import {
  approvalsOf,
  formOf,
  payloadOf,
  postSigned,
  pressInSlack,
  repliesIn,
  slackDecides,
  toldInPrivate,
  valueIn,
} from '../../support/slack-press.ts'
import { eventId, usualAnswer, type World } from '../../support/world.ts'

beforeEach(() => startWithEvent(slackDecides))

const approvals = () => approvalsOf(world, eventId)
const body = () => formOf(payloadOf(valueIn(world)))

/** The route alone, with less patience. */
function hurried() {
  const refusals = createFrequentLog(world.relay)
  const app = new Hono().post('/slack/interactions', (c) =>
    answerPress(world.relay, refusals, c, { answerMs: 20, replyMs: 30 }),
  )
  return { app: app as unknown as World['app'], clock: world.clock }
}

describe('an answer in time', () => {
  test('a store that never answers: Slack gets its answer', async () => {
    const form = body()
    world.relay.store = around(world.store, () => new Promise<never>(() => {}))
    expect((await postSigned(hurried(), form)).response.status).toBe(200)
  })

  test('a store that fails: Slack gets its answer, and the person a reply', async () => {
    const form = body()
    world.relay.store = around(world.store, () => Promise.reject(new Error('no storage')))
    expect((await postSigned(world, form)).response.status).toBe(200)
    expect(toldInPrivate(world)).toContain('It may have stored your decision')
    expect(world.lines.join()).toContain('press_failed')
  })

  test('a reply that hangs: Slack does not wait for it, and it is tried once more', async () => {
    let tries = 0
    world.channels.answer = ({ url }) => {
      if (url.includes('/actions/')) tries += 1
      return new Promise<never>(() => {})
    }
    expect((await postSigned(hurried(), body())).response.status).toBe(200)
    expect(await approvals()).toHaveLength(1)
    await expect.poll(() => world.lines.join()).toContain('slack_reply_failed')
    expect(tries).toBe(2)
  })

  test.each([
    ['500, then taken', [500, 200], 2],
    ['500 for ever', [500, 500, 500], 2],
    ['429', [429, 200], 2],
    ['404: used up or expired', [404], 1],
    ['a redirect', [302], 1],
  ])('an answer: %s', async (_, statuses, tries) => {
    world.channels.answer = (request) =>
      request.url.includes('/actions/')
        ? new Response(null, { status: statuses.shift() ?? 200 })
        : usualAnswer(request)
    expect((await pressInSlack(world)).status).toBe(200)
    expect(repliesIn(world)).toHaveLength(tries)
    expect(await approvals()).toHaveLength(1)
  })

  test.each([
    'https://evil.example/actions/1',
    'https://hooks.slack.com.evil.example/actions/1',
    'https://user@hooks.slack.com/actions/1',
    'http://hooks.slack.com/actions/1',
    'https://169.254.169.254/actions/1',
    'file:///actions/1',
  ])('nothing is sent to %s', async (response_url) => {
    expect((await pressInSlack(world, { response_url })).status).toBe(200)
    expect(repliesIn(world)).toEqual([])
    expect(await approvals()).toHaveLength(1)
    expect(world.lines.join()).toContain('not an address of Slack')
  })

  test("what the host's guard forbids is not tried again", async () => {
    world.channels.answer = () => {
      throw new FoghornError('address_forbidden', 'the address is private')
    }
    expect((await pressInSlack(world)).status).toBe(200)
    expect(repliesIn(world)).toHaveLength(1)
    expect(world.lines.join()).toContain('no answer: address_forbidden')
  })
})
