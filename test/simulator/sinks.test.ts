// What holds for sinks of every kind, and the ways in which all of them can be told to fail. The rules of
// each kind: `sinks/`.

import { describe, expect, test } from 'vitest'
import { last, post, sinks, useSinks } from './posting.ts'

const LIMIT_MS = 10_000
useSinks()

test('half a character is refused by all of them', async () => {
  const { slackUrl, teamsUrl, pagerDutyEndpoint, webhookUrl } = sinks
  const urls = [slackUrl, `${sinks.slackBot.endpoint}/chat.postMessage`, teamsUrl, webhookUrl]
  for (const url of [...urls, pagerDutyEndpoint]) {
    expect((await post(url, { a: [{ b: 'x\ud83d' }] })).status).toBe(400)
    expect(last()).toMatchObject({ valid: 'half a character', accepted: false })
  }
})

describe('failures', () => {
  const hello = () => post(sinks.slackUrl, { text: 'hello' })

  test('answer as told, so often, in order, and only their kind', async () => {
    sinks.failNext({ kind: 'teams' })
    sinks.failNext({ kind: 'slack', status: 429, headers: { 'retry-after': '2' }, times: 2 })
    sinks.failNext({ kind: 'slack', body: { ok: false, error: 'rate_limited' } })
    const limited = await hello()
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2'])
    expect((await hello()).status).toBe(429)
    expect(await hello()).toMatchObject({ status: 200, text: expect.stringContaining('limited') })
    expect(sinks.received.every((one) => one.valid === true && !one.accepted)).toBe(true)
    expect(await hello()).toMatchObject({ status: 200, text: 'ok' })
    expect(last().accepted).toBe(true)
    expect((await post(sinks.teamsUrl, {})).status).toBe(500)
  })

  test.each([
    ['dropped', { afterAccept: true }],
    [503, { afterAccept: true, status: 503 }],
  ] as const)('after taking the message: %s', async (answered, failure) => {
    sinks.failNext({ kind: 'slack', ...failure })
    await hello().catch(() => {})
    expect(last()).toMatchObject({ accepted: true, answered })
  })

  test('dropping breaks the connection', async () => {
    sinks.failNext({ kind: 'slack', afterAccept: true })
    await expect(hello()).rejects.toThrow()
  })

  test('hanging ends with stop only, and takes nothing', async () => {
    sinks.failNext({ kind: 'slack', hang: true })
    const hanging = expect(hello()).rejects.toThrow()
    const one = await sinks.waitFor(({ kind }) => kind === 'slack', LIMIT_MS)
    expect(one).toMatchObject({ accepted: false, answered: 'hung' })
    await sinks.stop()
    await hanging
  })

  test('a delay is the right answer, late', async () => {
    sinks.failNext({ kind: 'slack', delayMs: 60 })
    const since = performance.now()
    expect(await hello()).toMatchObject({ status: 200, text: 'ok' })
    expect(performance.now() - since).toBeGreaterThan(55)
    expect(last().accepted).toBe(true)
  })
})

describe('waiting', () => {
  test('finds what was received before, and what comes later', async () => {
    const later = sinks.waitFor((one) => one.kind === 'teams', LIMIT_MS)
    await post(sinks.slackUrl, { text: 'hello' })
    expect(await sinks.waitFor((one) => one.kind === 'slack', LIMIT_MS)).toBe(last())
    await post(sinks.teamsUrl, {})
    expect(await later).toMatchObject({ kind: 'teams', answered: 400 })
  })

  test('gives up with what there was', async () => {
    await post(sinks.slackUrl, { text: 'hello' })
    await expect(sinks.waitFor(() => false, 5)).rejects.toThrow('received: slack 200')
  })
})

test.each([
  ['GET', 'slackUrl', 405],
  ['POST', 'url', 404],
] as const)('%s to %s is answered %d and not recorded', async (method, name, status) => {
  expect((await fetch(sinks[name], { method })).status).toBe(status)
  expect(sinks.received).toEqual([])
})
