// Which events the sink of PagerDuty takes and refuses, and what becomes of its incidents.

import { describe, expect, test } from 'vitest'
import { post, sinks, useSinks } from '../posting.ts'

useSinks()

describe('pagerduty', () => {
  const routing_key = 'R'.repeat(32)
  const dedup_key = 'fleet event 1'
  const payload = { summary: 'web_0 restarts', source: 'web_0', severity: 'warning' }
  const trigger = { routing_key, dedup_key, event_action: 'trigger', payload }
  const send = (body: unknown) => post(sinks.pagerDutyEndpoint, body)
  const say = (event_action: string) => send({ routing_key, dedup_key, event_action })
  const incident = () => sinks.incidents().get(`${routing_key} ${dedup_key}`)

  test('takes a trigger', async () => {
    const links = [{ href: 'https://a.example/', text: 'Approve' }]
    const more = { component: 'c', group: 'g', class: 'Reboot', custom_details: { a: 1 } }
    const timestamp = '2026-03-02T10:00:00.000+01:00'
    const full = { ...trigger, links, payload: { ...payload, ...more, timestamp }, client: 'F' }
    const { status, text } = await send(full)
    expect(status).toBe(202)
    expect(JSON.parse(text)).toEqual({ status: 'success', message: 'Event processed', dedup_key })
    expect(incident()).toMatchObject({ state: 'triggered', opened: 1, triggers: 1 })
  })

  test.each([
    ['a routing key of 31', { ...trigger, routing_key: 'R'.repeat(31) }, 'routing_key'],
    ['no routing key', { ...trigger, routing_key: undefined }, 'routing_key'],
    ['another action', { ...trigger, event_action: 'close' }, 'event_action'],
    ['a dedup key of 256', { ...trigger, dedup_key: 'x'.repeat(256) }, 'dedup_key'],
    ['a resolve of nothing', { routing_key, event_action: 'resolve' }, 'dedup_key'],
    ['no payload', { ...trigger, payload: undefined }, 'payload'],
    ['no summary', { ...trigger, payload: { ...payload, summary: '' } }, 'summary'],
    [
      'a long summary',
      { ...trigger, payload: { ...payload, summary: 'x'.repeat(1025) } },
      'summary',
    ],
    ['no source', { ...trigger, payload: { ...payload, source: undefined } }, 'source'],
    ['another severity', { ...trigger, payload: { ...payload, severity: 'high' } }, 'severity'],
    ['another time', { ...trigger, payload: { ...payload, timestamp: 'now' } }, 'timestamp'],
    ['a link to nowhere', { ...trigger, links: [{ text: 'x' }] }, 'href'],
    ['not JSON', '{', 'body'],
    ['too much', { ...trigger, client: 'x'.repeat(512_000) }, 'bytes'],
  ])('refuses %s', async (_, body, mention) => {
    const { status, text } = await send(body)
    expect(status).toBe(400)
    expect(JSON.parse(text)).toEqual({
      status: 'invalid event',
      message: 'Event object is invalid',
      errors: [expect.stringContaining(mention)],
    })
    expect(sinks.incidents().size).toBe(0)
  })

  test('follows an incident to its end, and into the next', async () => {
    await send(trigger)
    await send(trigger)
    await say('acknowledge')
    await send(trigger)
    expect(incident()).toMatchObject({ state: 'acknowledged', opened: 1, triggers: 3 })
    await say('resolve')
    await say('acknowledge')
    expect(incident()).toMatchObject({ state: 'resolved', acknowledges: 2, resolves: 1 })
    await send(trigger)
    expect(incident()).toMatchObject({ state: 'triggered', opened: 2, triggers: 4 })
  })

  test.each(['acknowledge', 'resolve'])(
    'takes and drops the %s of an unknown key',
    async (action) => {
      expect((await say(action)).status).toBe(202)
      expect(sinks.incidents().size).toBe(0)
    },
  )

  test('keeps the same key of two services apart', async () => {
    await send(trigger)
    await send({ ...trigger, routing_key: 'S'.repeat(32) })
    await say('resolve')
    const states = [...sinks.incidents().values()].map((one) => one.state)
    expect(states).toEqual(['resolved', 'triggered'])
  })
})
