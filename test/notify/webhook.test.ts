// Webhooks as a receiver sees them: signatures that independent libraries accept, a CloudEvent, and
// the same bytes at every attempt.
import { Webhook as Standard } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { describe, expect, test } from 'vitest'
import { moments } from '../../functions/core/event/moment.ts'
import { toView } from '../../functions/core/event/view.ts'
import type { Send } from '../../functions/notify/notifier.ts'
import { at, claimed, facts, notification, record } from '../support/records.ts'
import { eventId, hookSecret, prodKey } from '../support/world.ts'
import { channels } from './kinds.ts'
import { about, links, notify, outgoing } from './outgoing.ts'

async function capture(what = outgoing(), secret = [hookSecret], channel = channels.webhook) {
  const sent: { body: string; headers: Record<string, string> }[] = []
  const send: Send = async (_url, init) => {
    sent.push({ body: String(init.body), headers: Object.fromEntries(new Headers(init.headers)) })
    return new Response(null, { status: 204 })
  }
  expect(await notify('webhook', send, what, { ...channel, secret })).toMatchObject({
    outcome: 'delivered',
  })
  return { ...sent[0]!, json: JSON.parse(sent[0]!.body) }
}

/** The libraries use the clock of this machine. */
const present = () => outgoing({ now: Date.now() })

describe('the signature', () => {
  test.each([
    ['standardwebhooks', Standard],
    ['svix', Svix],
  ])('is accepted by %s, and not for another body or key', async (_, Library) => {
    const { body, headers } = await capture(present())
    expect(() => new Library(hookSecret).verify(body, headers)).not.toThrow()
    expect(() => new Library(hookSecret).verify(`${body} `, headers)).toThrow()
    expect(() => new Library(prodKey).verify(body, headers)).toThrow()
  })

  test('while a secret is replaced both keys are valid', async () => {
    const { body, headers } = await capture(present(), [prodKey, hookSecret])
    for (const secret of [prodKey, hookSecret]) new Standard(secret).verify(body, headers)
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
  })

  test('covers letters beyond ASCII as they are sent', async () => {
    const what = { ...about({ resources: ['Ünïcödé ☃ 🚢 \ud83d'] }), now: Date.now() }
    const { body, headers } = await capture(what)
    new Standard(hookSecret).verify(Buffer.from(body), headers)
  })

  test('its id is the delivery, without a dot, and a header can carry it', async () => {
    const id = 'prod/a%2Eb/1/scheduled/hook'
    const { headers } = await capture(outgoing({ delivery: claimed(id) }))
    expect(headers['webhook-id']).toBe(id)
    expect(headers['webhook-timestamp']).toBe(String(at / 1_000))
  })
})

describe('the body', () => {
  test('is a CloudEvent 1.0 with the id of the delivery', async () => {
    const { json, headers } = await capture()
    expect(json).toMatchObject({
      specversion: '1.0',
      id: headers['webhook-id'],
      source: '/fleets/prod',
      type: 'foghorn.event.scheduled',
      time: '2026-11-21T12:00:00.000Z',
      subject: eventId,
      datacontenttype: 'application/json',
    })
    expect(json.data).toEqual({
      fleet: 'prod',
      eventId,
      epoch: 1,
      sequence: 1,
      phase: 'scheduled',
      moment: 'scheduled',
      eventType: 'Reboot',
      source: 'Platform',
      resources: ['web_0'],
      vms: [{ name: 'web_0' }],
      links: {
        page: `https://foghorn.example/console/events/prod/${eventId}`,
        api: `https://foghorn.example/v1/events/prod/${eventId}`,
      },
      notBefore: '2026-11-21T12:15:00.000Z',
      durationSeconds: -1,
      description: 'Virtual machine is going to be restarted.',
      policy: { decide: 'ask', rule: 'default' },
      firstSeenAt: '2026-11-21T12:00:00.000Z',
      approvals: [],
    })
  })

  test.each(moments)('type and moment of "%s"', async (moment) => {
    const decided = { decision: 'declined', how: 'link', who: 'chat', at } as const
    const { json } = await capture(outgoing({}, { moment, event: toView(record({ decided })) }))
    expect([json.type, json.data.moment]).toEqual([`foghorn.event.${moment}`, moment])
  })

  test('is the same at every attempt, while time and signature are not', async () => {
    const delivery = claimed('id', { notification: notification() })
    const first = await capture(outgoing({ delivery }))
    const retried = { ...delivery, attempts: 7, note: 'HTTP 503', nextAt: at + 9, lease: 'other' }
    const second = await capture(outgoing({ delivery: retried, now: at + 3_600_000 }))
    expect(second.body).toBe(first.body)
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature'])
  })

  const bytes = (body: string) => Buffer.byteLength(body)
  const named = (count: number, letter = 'x') =>
    [...Array(count).keys()].map((i) => `${i}-`.padEnd(60, letter))

  test.each([
    [400, 'x'],
    [1_000, 'x'],
    [1_000, '☃'],
  ])('of %i VMs in %s as many are named as keep it below 20 kB', async (count, letter) => {
    const { body, json } = await capture(about({ resources: named(count, letter) }))
    const { resources, resourcesTotal, description } = json.data
    expect(bytes(body)).toBeLessThan(20_000)
    expect(bytes(body)).toBeGreaterThan(17_000)
    expect(resources).toEqual(named(count, letter).slice(0, resources.length))
    expect(resourcesTotal).toBe(count)
    expect(json.data).toMatchObject({ vms: [], vmsTotal: count })
    expect(description).toBe('Virtual machine is going to be restarted.')
  })

  test('nothing is cut if there is room', async () => {
    const { json } = await capture(about({ resources: named(250) }))
    expect(json.data.resources).toHaveLength(250)
    expect(json.data).not.toHaveProperty('resourcesTotal')
  })

  test('VMs of which only the name is known come last, and are cut first', async () => {
    const vms = [{ name: named(40)[20]!, vmId: 'id' }]
    const event = (count: number) => ({
      ...toView(record({ facts: facts({ resources: named(count) }) })),
      vms,
    })
    const few = await capture(outgoing({}, { event: event(40) }))
    expect(few.json.data.vms).toHaveLength(40)
    expect(few.json.data.vms[0]).toEqual(vms[0])
    expect(few.json.data).not.toHaveProperty('vmsTotal')
    const many = await capture(outgoing({}, { event: event(200) }))
    expect(many.json.data).toMatchObject({ vms, vmsTotal: 200 })
    expect(many.json.data.resources).toHaveLength(200)
  })

  test('known VMs are cut after the names and the lists of hooks', async () => {
    const tags = { note: 'x'.repeat(300) }
    const vms = named(60).map((name) => ({ name, vmId: 'id', tags }))
    const unready = Array(20).fill({ vm: 'web_0', state: 'failed' })
    const readiness = { counts: { failed: 20 }, unready }
    const event = {
      ...toView(record({ facts: facts({ resources: named(60) }), wait: { readiness } })),
      vms,
    }
    const { body, json } = await capture(outgoing({}, { event }))
    expect(bytes(body)).toBeLessThan(20_000)
    expect(json.data).toMatchObject({ resources: [], resourcesTotal: 60, vmsTotal: 60 })
    expect(json.data.readiness.unready).toEqual([])
    expect(json.data.vms.length).toBeGreaterThan(30)
    expect(json.data.vms).toEqual(vms.slice(0, json.data.vms.length))
  })

  test('lists of hooks that leave no room are cut, and their counts stay', async () => {
    const note = '\u0001'.repeat(160)
    const one = { vm: '☃'.repeat(256), state: 'failed' as const, since: at, note }
    const unready = Array(20).fill(one)
    const failed = { counts: { failed: 20 }, unready, restore: { counts: {}, failed: unready } }
    const event = toView(record({ wait: { readiness: failed } }))
    const delivery = claimed('id', { notification: notification({ event }) })
    const { body, json } = await capture(outgoing({ delivery }))
    expect(bytes(body)).toBeLessThan(20_000)
    expect(json.data.readiness.counts).toEqual({ failed: 20 })
    expect(json.data.readiness.unready.length).toBeGreaterThan(0)
    expect(json.data.readiness.unready[0]).toMatchObject({ since: '2026-11-21T12:00:00.000Z' })
  })

  test('a description that leaves no room is cut, and shows it', async () => {
    // Six bytes each in JSON.
    const description = '\u0001'.repeat(4_000)
    const { body, json } = await capture(about({ resources: named(3), description }))
    expect(bytes(body)).toBeLessThan(20_000)
    expect(json.data).toMatchObject({ resources: [], resourcesTotal: 3 })
    expect(json.data.description.length).toBeGreaterThan(2_500)
    expect(json.data.description.at(-1)).toBe('…')
  })

  test('every attempt cuts the body in the same way', async () => {
    const what = about({ resources: named(700) })
    const [one, two] = [await capture(what), await capture({ ...what, now: at + 60_000 })]
    expect(two.body).toBe(one.body)
  })

  test('contains no keys, leases or links that decide', async () => {
    const { body } = await capture()
    expect(body).not.toMatch(/whsec|approve\/|lease|watchers/)
  })

  test('contains the link that decides if the channel asks for it, until the event ends', async () => {
    const decides = { ...channels.webhook, links: 'decide' as const }
    const { json } = await capture(outgoing(), [hookSecret], decides)
    expect(json.data.links).toEqual({ ...links, decide: 'https://foghorn.example/approve/token' })
    const ended = toView(record({ phase: 'cancelled', ended: { at, outcome: 'cancelled' } }))
    const over = await capture(
      outgoing({}, { moment: 'cancelled', event: ended }),
      [hookSecret],
      decides,
    )
    expect(over.json.data.links).toEqual(links)
    const advised = about({ eventType: 'SpotRebalanceRecommendation' })
    expect((await capture(advised, [hookSecret], decides)).json.data.links).toEqual(links)
  })
})
