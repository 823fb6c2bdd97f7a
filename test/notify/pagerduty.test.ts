// PagerDuty's incidents: one for each epoch of an event, opened once, closed only if opened.
import { describe, expect, test } from 'vitest'
import type { AlertNotification, Delivery } from '../../functions/core/delivery/delivery.ts'
import type { Decided } from '../../functions/core/event/event.ts'
import { type Moment, moments, opensIncident } from '../../functions/core/event/moment.ts'
import { toView } from '../../functions/core/event/view.ts'
import { compose } from '../../functions/core/message/message.ts'
import type { Outgoing, Send } from '../../functions/notify/notifier.ts'
import { at, claimed, type Fields, facts, notification, record } from '../support/records.ts'
import { channels } from './kinds.ts'
import { capture as captureAny, notify, outgoing } from './outgoing.ts'

/** The step for the message's own incident, which comes first. */
async function capture(what: Outgoing) {
  const { result, requests } = await captureAny('pagerduty', what)
  const [request] = requests
  return { result, json: request?.json, bytes: Buffer.byteLength(request?.body ?? '') }
}

function step(moment: Moment, changes: Fields = {}, more: Partial<Outgoing> = {}) {
  const told = notification({ moment, event: toView(record(changes)) })
  const delivery = claimed(`id/${moment}`, { notification: told })
  return outgoing({ delivery, message: compose(told, at), ...more })
}

const approved: Decided = { decision: 'approved', how: 'link', who: 'chat', at }

describe('the action', () => {
  test.each<[Moment, Decided | undefined, string]>([
    ['scheduled', undefined, 'trigger'],
    ['changed', undefined, 'trigger'],
    ['not_ready', undefined, 'trigger'],
    ['stuck', approved, 'trigger'],
    ['started', undefined, 'trigger'],
    ['started', approved, 'acknowledge'],
    ['approved', approved, 'acknowledge'],
    ['declined', { ...approved, decision: 'declined' }, 'acknowledge'],
    ['completed', undefined, 'resolve'],
    ['cancelled', undefined, 'resolve'],
    ['lost', undefined, 'resolve'],
  ])('of "%s" (%o) is %3$s', async (moment, decided, action) => {
    const changes = decided === undefined ? {} : { decided }
    const { result, json } = await capture(step(moment, changes))
    expect(json.event_action).toBe(action)
    expect(result).toEqual({ outcome: 'delivered', note: action })
    expect(json.routing_key).toHaveLength(32)
    // The incident's log shows the text of each step.
    expect(json.payload.summary).toContain('Reboot of web_0')
    if (action === 'resolve') expect(json.payload.severity).not.toMatch(/critical|error/)
  })

  test.each(moments)('"%s" of what was never opened is sent where it opens', async (moment) => {
    const { result, json } = await capture(step(moment, {}, { mayHaveHeard: [] }))
    const opens = opensIncident(moment)
    expect(json?.event_action).toBe(opens ? 'trigger' : undefined)
    expect(result.outcome).toBe(opens ? 'delivered' : 'superseded')
  })
})

describe('the key of an incident', () => {
  const keyOf = async (what: Outgoing): Promise<string> => (await capture(what)).json.dedup_key

  test('is the same for all steps of one epoch', async () => {
    const steps: Moment[] = ['scheduled', 'changed', 'approved', 'started', 'completed']
    const keys = await Promise.all(
      steps.map((moment) => keyOf(step(moment, { decided: approved }))),
    )
    expect(new Set(keys).size).toBe(1)
  })

  test('differs between epochs, events and fleets, and is free of what changes', async () => {
    const one = await keyOf(step('scheduled'))
    for (const other of [{ epoch: 2 }, { eventId: 'another' }, { fleet: 'test' }]) {
      expect(await keyOf(step('scheduled', other))).not.toBe(one)
    }
    const changed = { facts: facts({ eventType: 'Freeze', notBeforeAt: at }), sequence: 9 }
    expect(await keyOf(step('changed', changed))).toBe(one)
  })

  test('of an alert is separate: the trouble of a channel does not end with the event', async () => {
    const delivery: Delivery = claimed('prod/e/1/scheduled/chat/notice/pager')
    const about = { channel: 'chat', moment: 'scheduled' as const, state: 'refused', reason: 'no' }
    const notice: AlertNotification = {
      moment: 'alert',
      at,
      event: delivery.notification.event,
      about,
    }
    const what = outgoing({ delivery: claimed(delivery.id, { notification: notice }) })
    const { requests } = await captureAny('pagerduty', what)
    expect(requests.map(({ json }) => json.event_action)).toEqual(['trigger'])
    const { json } = requests[0]!
    expect(json.dedup_key).not.toBe(await keyOf(step('scheduled')))
    expect(json.payload).toMatchObject({ severity: 'error', source: 'chat' })
  })

  test('stays within 255 characters, and differs for long ids', async () => {
    const long = 'é🚢'.repeat(200)
    const keys = await Promise.all(
      [`${long}a`, `${long}b`].map((eventId) => keyOf(step('scheduled', { eventId }))),
    )
    for (const key of keys) {
      expect(key.length).toBeLessThanOrEqual(255)
      expect(key.isWellFormed()).toBe(true)
    }
    expect(keys[0]).not.toBe(keys[1])
  })
})

describe('a rule that waited in vain', () => {
  const notReady = { at, rule: 'drained', why: 'cannot_be_ready' } as const
  const waiting = { policy: { decide: 'approve' as const, rule: 'r', whenReady: true as const } }
  const asking: Fields = { policy: { ...waiting.policy, decide: 'ask' }, wait: { notReady } }
  const heard = [notification({ event: toView(record(waiting)) })]
  const said = async (what: Outgoing) => {
    const { requests } = await captureAny('pagerduty', what)
    return requests.map(({ json }) => {
      const key = json.dedup_key.replace(/^.*\/1/, '…').replace(/[0-9a-f]{64}/, '#')
      return `${json.event_action} ${key} ${json.payload.severity}`
    })
  }

  test('opens an incident of its own, as the first one asked nobody to act', async () => {
    expect(await said(step('scheduled', waiting, { mayHaveHeard: [] }))).toEqual([
      'trigger … warning',
    ])
    const asked = step('not_ready', asking, { mayHaveHeard: heard })
    expect(await said(asked)).toEqual(['trigger …/asked-# error', 'resolve … error'])
  })

  test.each([
    ['trigger', 'refused', ['trigger']],
    ['resolve', 'delivered', ['trigger', 'resolve']],
  ])(
    'if PagerDuty refuses to %s, the message is %s, and one incident stays open',
    async (refusal, outcome, sent) => {
      const actions: string[] = []
      const send: Send = async (_url, { body }) => {
        const { event_action: action } = JSON.parse(String(body))
        actions.push(action)
        return new Response('{}', { status: action === refusal ? 400 : 202 })
      }
      const asked = step('not_ready', asking, { mayHaveHeard: heard })
      expect((await notify('pagerduty', send, asked)).outcome).toBe(outcome)
      expect(actions).toEqual(sent)
    },
  )

  test('if people were asked from the start, there is one incident', async () => {
    expect(await said(step('scheduled', asking, { mayHaveHeard: [] }))).toEqual([
      'trigger …/asked-# error',
    ])
    const mayHaveHeard = [notification({ event: toView(record(asking)) })]
    expect(await said(step('not_ready', asking, { mayHaveHeard }))).toEqual([
      'trigger …/asked-# error',
    ])
    expect(await said(step('completed', asking, { mayHaveHeard }))).toEqual([
      'resolve …/asked-# info',
    ])
  })
})

describe('a stuck approval', () => {
  const stuckAt = at + 60_000
  const earlier = (...moments: Moment[]) =>
    moments.map((moment) => notification({ moment, event: toView(record({ decided: approved })) }))
  const ended = { at, outcome: 'cancelled' } as const
  const sentFor = async (moment: Moment, heard: Moment[], changes: Fields = {}) => {
    const what = step(moment, { decided: approved, azure: { stuckAt }, ...changes })
    const all = { ...what, mayHaveHeard: earlier(...heard) }
    const { result, requests } = await captureAny('pagerduty', all)
    const said = requests.map(({ json }) => `${json.event_action} ${json.dedup_key}`)
    return { result, requests, said: said.map((one) => one.replace(/ .*\/1/, ' …')) }
  }

  test('is a separate incident: the acknowledged one would notify nobody', async () => {
    const { said, requests } = await sentFor('stuck', ['scheduled', 'approved'])
    expect(said).toEqual(['trigger …/stuck'])
    expect(requests[0]?.json.payload).toMatchObject({
      severity: 'error',
      summary: 'prod: Approved, but not started: Reboot of web_0 at 12:15 UTC',
    })
    expect(requests[0]?.json.links).toHaveLength(2)
  })

  test.each<[Moment, Moment[], string[]]>([
    ['started', ['scheduled', 'approved', 'stuck'], ['acknowledge …', 'resolve …/stuck']],
    ['completed', ['scheduled', 'stuck', 'started'], ['resolve …/stuck', 'resolve …']],
    ['cancelled', ['scheduled', 'approved', 'stuck'], ['resolve …/stuck', 'resolve …']],
    ['lost', ['scheduled', 'approved', 'stuck'], ['resolve …/stuck', 'resolve …']],
    // A route with this moment only.
    ['completed', ['stuck'], ['resolve …/stuck']],
    ['started', ['approved', 'stuck'], ['resolve …/stuck']],
    // A route without *stuck*, or it was overtaken.
    ['completed', ['scheduled', 'approved'], ['resolve …']],
    ['started', ['scheduled', 'approved'], ['acknowledge …']],
    // It is still stuck.
    ['changed', ['scheduled', 'approved', 'stuck'], ['trigger …']],
  ])('"%s", when %j may have been heard: %j', async (moment, heard, expected) => {
    expect((await sentFor(moment, heard, moment === 'cancelled' ? { ended } : {})).said).toEqual(
      expected,
    )
  })

  test('if nothing was opened, nothing is closed', async () => {
    const { said, result } = await sentFor('completed', ['approved'])
    expect(said).toEqual([])
    expect(result).toMatchObject({ outcome: 'superseded' })
  })

  test('if the first step fails, the step of the event waits for the next attempt', async () => {
    for (const [status, outcome] of [[503, 'retry'] as const, [400, 'refused'] as const]) {
      let count = 0
      const send: Send = async () => {
        count += 1
        return new Response('{}', { status })
      }
      const what = { ...step('completed'), mayHaveHeard: earlier('scheduled', 'stuck') }
      expect((await notify('pagerduty', send, what)).outcome).toBe(outcome)
      expect(count).toBe(1)
    }
  })

  test('its key stays within 255 characters, and is not the event’s', async () => {
    const long = { eventId: 'x'.repeat(250) }
    const { requests } = await sentFor('completed', ['scheduled', 'stuck'], long)
    const keys = requests.map(({ json }) => json.dedup_key)
    expect(new Set(keys).size).toBe(2)
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(255)
  })
})

describe('the title of an incident', () => {
  const hour = 3_600_000
  test.each([
    [at, 'prod: Reboot of web_0 at 12:15 UTC'],
    [at + hour, 'prod: Reboot of web_0 at 12:15 UTC'],
    [at - 10 * hour, 'prod: Reboot of web_0 at 12:15 UTC'],
    [at - 12 * hour - 60_000, 'prod: Reboot of web_0 at 2026-11-21 12:15 UTC'],
    [at - 6 * 24 * hour, 'prod: Reboot of web_0 at 2026-11-21 12:15 UTC'],
  ])('holds whenever it is read (%i)', async (now, summary) => {
    const what = step('scheduled')
    const message = compose({ ...notification(), at: now }, now)
    const { json } = await capture({ ...what, message })
    expect(json.payload.summary).toBe(summary)
    expect(json.payload.custom_details.When).toBe('2026-11-21 12:15 UTC')
  })

  test('has the date if it is another day, however near', async () => {
    const midnight = Date.parse('2026-11-22T00:05:00Z')
    const event = toView(record({ facts: facts({ notBeforeAt: midnight }) }))
    const now = midnight - 15 * 60_000
    const message = compose(notification({ event, at: now }), now)
    const { json } = await capture({ ...step('scheduled'), message })
    expect(json.payload.summary).toBe('prod: Reboot of web_0 at 2026-11-22 00:05 UTC')
  })

  test.each(moments)('"%s" says nothing that time makes wrong', async (moment) => {
    const { json } = await capture(step(moment, { decided: approved }))
    expect(json.payload.summary).not.toMatch(/\bin \d|\bago\b|not known/)
    expect(json.payload.summary).toContain('Reboot of web_0')
  })
})

describe('the payload', () => {
  test('a Freeze of a few seconds wakes nobody', async () => {
    const short = facts({ eventType: 'Freeze', durationSeconds: 5 })
    const { json } = await capture(step('scheduled', { facts: short }))
    expect([json.event_action, json.payload.severity]).toEqual(['trigger', 'info'])
  })

  test('says the outcome when it is resolved', async () => {
    const ended = { at, outcome: 'cancelled', inferred: 'gone_before_its_time' } as const
    const what = step('cancelled', { phase: 'cancelled', ended })
    const { json } = await capture(what)
    expect(json.event_action).toBe('resolve')
    expect(json.payload.summary).toBe('prod: Probably cancelled at 12:00 UTC: Reboot of web_0')
    expect(json.payload.custom_details['In short']).toContain(
      'cancelled, or approved outside Foghorn',
    )
  })

  test('has a summary of 1 024 characters at most', async () => {
    const what = step('scheduled')
    const { json } = await capture({
      ...what,
      message: { ...what.message, lastingTitle: '🚢'.repeat(2_000) },
    })
    expect(json.payload.summary.length).toBeLessThanOrEqual(1_024)
    expect(json.payload.summary).toMatch(/🚢…$/u)
  })

  test.each([
    ['x', 1],
    ['☃', 3],
  ])(
    'of 512 000 bytes is whole (in %s), and beyond it goes without details',
    async (filling, width) => {
      const what = step('scheduled')
      const send = (bytes: number) => {
        const value = filling.repeat(bytes / width) + 'x'.repeat(bytes % width)
        return capture({ ...what, message: { ...what.message, facts: [{ name: 'Why', value }] } })
      }
      const room = 512_000 - (await send(0)).bytes
      const [whole, cut] = [await send(room), await send(room + 1)]
      expect([whole.bytes, whole.json.payload.custom_details.Why.length > 1]).toEqual([
        512_000,
        true,
      ])
      expect(cut.json.payload).not.toHaveProperty('custom_details')
      expect(cut.json.payload.summary).toBe(what.message.lastingTitle)
      expect(cut.json.links).toHaveLength(2)
    },
  )

  test.each([
    'https://events.pagerduty.com/v2/enqueue',
    'https://events.eu.pagerduty.com/v2/enqueue',
  ])('goes to %s where the configuration says so', async (endpoint) => {
    const asked: string[] = []
    const send: Send = async (url) => {
      asked.push(url)
      return new Response('{"status":"success"}', { status: 202 })
    }
    await notify('pagerduty', send, step('scheduled'), { ...channels.pagerduty, endpoint })
    expect(asked).toEqual([endpoint])
  })
})
