// An owner decides by the events API, and reads the whole record there: which beacons saw the
// event, which channels were notified, who decided, and which VM passed the approval on.
import { beforeEach, describe, expect, test } from 'vitest'
import { linkOf, press } from '../../support/people.ts'
import { ann, tenant } from '../../support/principals.ts'
import { beacon, eventNow, startRelay, startWithEvent, world } from '../../support/relay.ts'
import { adminKey, event, eventId, FakeBeacon, started } from '../../support/world.ts'

beforeEach(() => startWithEvent())

async function decide(body: string, path = `prod/${eventId}`, key = adminKey) {
  const headers = { authorization: `Bearer ${key}` }
  const url = `/v1/events/${path}/decision`
  const response = await world.app.request(url, { method: 'POST', headers, body })
  const json = (await response.json()) as ReturnType<typeof JSON.parse>
  return { status: response.status, type: response.headers.get('content-type'), json }
}
const approve = '{"decision":"approve"}'
const notNow = '{"decision":"not_now"}'

describe('an owner decides', () => {
  test('approve: recorded as admin, notified and passed on', async () => {
    const { status, json } = await decide(approve)
    expect(status).toBe(200)
    expect(json.approvals).toEqual([
      { decision: 'approved', how: 'admin', who: 'admin', at: '2026-11-21T12:00:00.000Z' },
    ])
    await world.drain()
    expect(world.told().at(-1)).toBe('foghorn.event.approved')
    expect(world.sent.at(-1)!.body).toContain('admin')
    expect((await beacon.sees([event()])).directives).toMatchObject([{ eventId }])
  })

  test('approve after "not now": the overruled decision stays on record', async () => {
    expect((await decide(notNow, `prod/${eventId.toUpperCase()}`)).status).toBe(200)
    expect((await decide(approve)).json.approvals).toMatchObject([
      { decision: 'declined', how: 'admin' },
      { decision: 'approved', how: 'admin' },
    ])
  })

  test('even if approvers are listed: the admin key is the owner', async () => {
    const routes = [{ match: {}, channels: ['chat', 'team', 'pager', 'hook'], approvers: [ann] }]
    await startRelay({ signIn: { tenantId: tenant }, routes })
    await new FakeBeacon(world, 'web_0').sees([event()])
    expect((await decide(approve)).status).toBe(200)
  })

  test('a drill like any event', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const body = JSON.stringify({ fleet: 'prod', type: 'Reboot' })
    const begun = await world.app.request('/v1/drills', { method: 'POST', headers, body })
    const drill = (await begun.json()) as { eventId: string }
    const { json } = await decide(approve, `prod/${drill.eventId}`)
    expect(json).toMatchObject({ drill: true, approvals: [{ how: 'admin' }] })
    expect((await beacon.sees([event()])).directives).toEqual([])
  })

  test.each<[string, string, string, () => unknown]>([
    [
      'an approved event',
      'already_approved',
      'approved through the link sent to "chat" at 2026',
      () => press(world, linkOf(world), 'approve'),
    ],
    [
      'a started event',
      'started',
      'it started at 2026-11-21T12:00:00.000Z',
      () => beacon.sees([started()]),
    ],
    [
      'an ended event',
      'ended',
      'Z: cancelled',
      async () => {
        await beacon.sees([])
        await world.pass(10_001)
      },
    ],
  ])('not %s: 409 says why', async (_, code, said, happens) => {
    await happens()
    const before = await eventNow()
    const { status, type, json } = await decide(approve)
    expect([status, type, json.code]).toEqual([409, 'application/problem+json', code])
    expect(json.detail).toContain(said)
    expect(await eventNow()).toEqual(before)
  })

  test('"not now" twice: 409, which says that approving is still possible', async () => {
    await decide(notNow)
    const { status, json } = await decide(notNow)
    expect([status, json.code]).toEqual([409, 'already_declined'])
    expect(json.detail).toContain('can still approve')
  })

  test.each<[string, [body: string, path?: string, key?: string], number, string]>([
    ['no body', [''], 400, 'decision_malformed'],
    ['another decision', ['{"decision":"approved"}'], 400, 'decision_malformed'],
    ['more than the decision', ['{"decision":"approve","who":"me"}'], 400, 'decision_malformed'],
    ['an unknown event', [approve, 'prod/other'], 404, 'event_unknown'],
    ['an event of another fleet', [approve, `test/${eventId}`], 404, 'event_unknown'],
    ['a wrong key', [approve, `prod/${eventId}`, 'wrong'], 401, 'unauthorized'],
    ['no key', [approve, `prod/${eventId}`, ''], 401, 'unauthorized'],
    ['a body beyond 4 KB', [approve.padEnd(5_000)], 413, 'body_too_large'],
  ])('%s: refused', async (_, given, status, code) => {
    expect(await decide(...given)).toMatchObject({ status, json: { code } })
    expect((await eventNow()).approvals).toEqual([])
  })
})

describe('the record', () => {
  test('shows which beacons saw the event and when, with the affected VM first', async () => {
    world.clock.now += 5_000
    await new FakeBeacon(world, 'a_9').sees([event()], { ageMs: 1_000 })
    world.clock.now += 60_000
    await beacon.sees([event()])
    world.clock.now += 60_000
    await beacon.sees([])
    const { body } = await world.getEvent(eventId)
    expect(body.seenBy).toEqual([
      {
        vm: 'web_0',
        hit: true,
        firstSeenAt: '2026-11-21T12:00:00.000Z',
        lastSeenAt: '2026-11-21T12:01:05.000Z',
        goneAt: '2026-11-21T12:02:05.000Z',
      },
      {
        vm: 'a_9',
        hit: false,
        firstSeenAt: '2026-11-21T12:00:04.000Z',
        lastSeenAt: '2026-11-21T12:00:04.000Z',
      },
    ])
  })

  test('shows when a VM saw the event before it could report it', async () => {
    const appeared = { kind: 'appeared' as const, ageMs: 30_000, firstPoll: false, event: event() }
    await new FakeBeacon(world, 'b_1').sees([event()], { changes: [appeared] })
    const { body } = await world.getEvent(eventId)
    expect(body.seenBy[1]).toMatchObject({ vm: 'b_1', firstSeenAt: '2026-11-21T11:59:30.000Z' })
  })

  test('shows which channels were notified, when, and with what result', async () => {
    const { body } = await world.getEvent(eventId)
    expect(body.deliveries[0]).toMatchObject({
      ...{ channel: 'chat', moment: 'scheduled', state: 'delivered', attempts: 1 },
      ...{ plannedAt: '2026-11-21T12:00:00.000Z', settledAt: '2026-11-21T12:00:00.000Z' },
    })
    world.channels.answer = () => new Response('later', { status: 503 })
    await decide(approve)
    await world.drain()
    const [waiting] = (await eventNow()).deliveries.slice(4)
    expect(waiting).toMatchObject({ moment: 'approved', state: 'pending' })
    expect(waiting.settledAt).toBeUndefined()
  })
})
