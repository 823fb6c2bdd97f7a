// What the rules of a configuration cause: who is asked, who is notified, what starts without a
// question, and what no rule may start.
import { describe, expect, test } from 'vitest'
import { sentTo } from '../../support/deliveries.ts'
import { forge, linkOf, press } from '../../support/people.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../../support/world.ts'

const approved = { eventId, eventType: 'Reboot', resources: ['web_0'], source: 'Platform' }
/** A rule's approval covers only this duration. */
const directed = [{ ...approved, durationSeconds: -1 }]

let first: FakeBeacon
let second: FakeBeacon

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  first = new FakeBeacon(world, 'web_0')
  second = new FakeBeacon(world, 'web_1')
}

/** In a message that asks, the button is primary. */
const isAsked = () => sentTo(world, 'slack').some(({ body }) => body.includes('"style":"primary"'))

describe('policy', () => {
  const rule = (decide: string, match: object = {}) => ({
    policy: [{ name: decide, match, decide }],
  })

  test('approve: recorded as the rule, and in the answer to the same report', async () => {
    await begin(rule('approve'))
    expect((await first.sees([event()])).directives).toEqual(directed)
    await world.drain()
    expect((await eventNow()).approvals).toMatchObject([
      { decision: 'approved', how: 'policy', who: 'approve' },
    ])
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.approved'])
    expect(isAsked()).toBe(false)
  })

  test('ask: people are asked, and no beacon gets a directive', async () => {
    await begin(rule('ask'))
    expect((await first.sees([event()])).directives).toEqual([])
    await world.drain()
    expect(isAsked()).toBe(true)
  })

  test('notify: people are notified without a question, and the page still lets a person approve', async () => {
    await begin(rule('notify'))
    await first.sees([event()])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    expect(isAsked()).toBe(false)
    await press(world, linkOf(world), 'approve')
    expect((await first.sees([event()])).directives).toEqual([approved])
  })

  test('ignore: recorded, and no channel is notified', async () => {
    await begin(rule('ignore'))
    await first.sees([event()])
    await first.sees([started()])
    await first.sees([])
    await world.pass(10_001)
    expect(world.sent).toEqual([])
    expect((await eventNow()).outcome).toBe('completed')
  })

  test('never after a person said "not now"', async () => {
    const scaleSet = { policy: [{ match: { scaleSet: 'web' }, decide: 'approve' }] }
    await begin(scaleSet)
    await second.sees([event()])
    await press(world, await forge(world), 'not_now')
    const hit = new FakeBeacon(world, 'web_0', { vm: { scaleSet: 'web' } })
    expect((await hit.sees([event()])).directives).toEqual([])
    expect((await second.sees([event({ durationSeconds: 5 })])).directives).toEqual([])
    const { body } = await world.getEvent(eventId)
    expect(body.approvals).toMatchObject([{ decision: 'declined' }])
    expect(body.policy.decide).toBe('ask')
  })

  test('a channel whose route asks for a tag is notified once the affected VM is known', async () => {
    const routes = [{ match: { tag: 'team=db' }, channels: ['hook'] }]
    await begin({ routes })
    await second.sees([event()])
    await world.drain()
    expect(world.told()).toEqual([])
    const hit = new FakeBeacon(world, 'web_0', { vm: { tags: { team: 'db' } } })
    await hit.sees([event()])
    await second.sees([event()])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('and once another VM is affected, also after the start', async () => {
    await begin({ routes: [{ match: { tag: 'team=db' }, channels: ['hook'] }] })
    const later = new FakeBeacon(world, 'web_5', { vm: { tags: { team: 'db' } } })
    await later.sees([event()])
    await second.sees([event()])
    await second.sees([started()])
    await second.sees([started({ resources: ['web_0', 'web_5'] })])
    await later.sees([started({ resources: ['web_0', 'web_5'] })])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.started'])
  })

  test('an event that was ignored until the affected VM was known is notified then', async () => {
    const policy = [
      { match: { tag: 'env=prod' }, decide: 'ask' },
      { match: {}, decide: 'ignore' },
    ]
    await begin({ policy })
    await second.sees([event()])
    await world.drain()
    expect(world.told()).toEqual([])
    const hit = new FakeBeacon(world, 'web_0', { vm: { tags: { env: 'prod' } } })
    await hit.sees([event()])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })
})

describe('a policy that needs to know the VM', () => {
  const policy = [{ match: { tag: 'maintenance=any' }, decide: 'approve' }]
  const tagged = { vm: { tags: { maintenance: 'any' } } }

  test('is judged again when a tag changes', async () => {
    await begin({ policy })
    await first.sees([event()])
    expect((await first.sees([event()])).directives).toEqual([])
    Object.assign(first.vm, tagged.vm)
    expect((await first.sees([event()])).directives).toMatchObject(directed)
  })

  test('never approves after a person said not now, not even when the event comes back', async () => {
    await begin({ policy })
    await second.sees([event()])
    await world.drain()
    await press(world, await forge(world), 'not_now')
    first = new FakeBeacon(world, 'web_0', tagged)
    await first.sees([event()])
    for (const beacon of [first, second]) await beacon.sees([])
    await world.pass(12_000)
    expect((await first.sees([event()])).directives).toEqual([])
    const { body } = await world.getEvent(eventId)
    expect(body).toMatchObject({ epoch: 2, approvals: [{ decision: 'declined', how: 'link' }] })
  })

  test('approves nothing that is gone by then', async () => {
    await begin({ policy })
    await second.sees([event()])
    first = new FakeBeacon(world, 'web_0', tagged)
    const changes = [
      { kind: 'appeared' as const, ageMs: 9_000, firstPoll: false, event: event() },
      {
        kind: 'gone' as const,
        ageMs: 1_000,
        lastSeenAgeMs: 2_000,
        firstPoll: false,
        event: event(),
      },
    ]
    await first.sees([], { changes })
    expect((await eventNow()).approvals).toEqual([])
  })
})
