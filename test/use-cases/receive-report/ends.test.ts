// How the relay sees the end of an event, with a moved clock: the event is gone, or no beacon sees
// it. Every incident that was opened for it is closed.
import { beforeEach, describe, expect, test } from 'vitest'
import {
  beacon,
  eventNow,
  minute,
  moments,
  outcome,
  report,
  startRelay,
  startWithEvent,
  world,
} from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, started } from '../../support/world.ts'

beforeEach(() => startRelay())

describe('gone', () => {
  test('a poll later than the first gone reopens it under a new epoch, and people are notified again', async () => {
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await report(event())
    const { body } = await world.getEvent(eventId)
    expect([body.epoch, body.phase]).toEqual([2, 'scheduled'])
    expect(world.told().filter((type) => type.endsWith('.scheduled'))).toHaveLength(2)
  })

  test('an event that began and ended between reports is notified once', async () => {
    const event_ = event({ notBeforeAt: startAt - 60_000 })
    const changes = [
      { kind: 'appeared' as const, ageMs: 120_000, firstPoll: false, event: event_ },
      {
        kind: 'gone' as const,
        ageMs: 30_000,
        lastSeenAgeMs: 31_000,
        firstPoll: false,
        event: event_,
      },
    ]
    await beacon.sees([], { changes })
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.completed'])
  })

  test('a late report that it had started is in the history, and corrects nothing', async () => {
    await beacon.sees([event()])
    await world.pass(60_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect((await outcome()).phase).toBe('cancelled')
    const changes = [
      { kind: 'changed' as const, ageMs: 11_000, firstPoll: false, event: started() },
    ]
    for (const one of ['web_1', 'web_2']) await new FakeBeacon(world, one).sees([], { changes })
    await world.drain()
    expect(await outcome()).toMatchObject({ phase: 'cancelled' })
    expect(moments()).toEqual(['scheduled', 'cancelled'])
    const { history } = await eventNow()
    expect(history.map(({ what }: { what: string }) => what)).toContain('started')
  })
})

describe('an end that no beacon sees', () => {
  test.each(['Preempt', 'Terminate'])(
    '%s removes the VM: completed, incident resolved',
    async (type) => {
      await beacon.sees([event({ eventType: type })])
      await report(started({ eventType: type }))
      await world.pass(119_000)
      expect((await outcome()).phase).toBe('started')
      await world.pass(1_001)
      expect(await outcome()).toEqual({
        phase: 'completed',
        outcome: 'completed',
        inferred: 'vm_gone',
      })
      const pages = world.sent.filter(({ url }) => url.includes('pager'))
      expect(pages.at(-1)?.json.event_action).toBe('resolve')
    },
  )

  test.each(['removed', 'upgrade'])(
    'Terminate: after a goodbye (%s) of its beacon, only the documents of others decide',
    async (goodbye) => {
      const terminate = event({ eventType: 'Terminate', notBeforeAt: startAt + 5 * minute })
      const other = new FakeBeacon(world, 'web_1')
      for (const one of [beacon, other]) await one.sees([terminate])
      await world.pass(4 * minute)
      await beacon.post({ ...beacon.body([terminate]), goodbye })
      for (let i = 0; i < 16; i++) {
        await other.sees([terminate])
        await world.pass(minute / 2)
      }
      expect(moments()).toEqual(['scheduled'])
    },
  )

  test('all beacons silent for 10 min after NotBefore: lost, incident resolved', async () => {
    await report(event())
    await world.pass(25 * 60_000 - 1)
    expect((await outcome()).outcome).toBeUndefined()
    await world.pass(2)
    expect((await outcome()).outcome).toBe('lost')
    const pages = world.sent.filter(({ url }) => url.includes('pager'))
    expect(pages.at(-1)?.json.event_action).toBe('resolve')
  })

  test('an incident is resolved even if its route sends PagerDuty only the start', async () => {
    const routes = [
      { match: {}, channels: ['hook'] },
      { match: {}, moments: ['scheduled'], channels: ['pager', 'chat'] },
    ]
    await startWithEvent({ routes })
    await beacon.sees([])
    await world.pass(10_001)
    const pages = world.sent.filter(({ url }) => url.includes('pager'))
    expect(pages.map(({ json }) => json.event_action)).toEqual(['trigger', 'resolve'])
    expect(world.sent.filter(({ url }) => url.includes('slack'))).toHaveLength(1)
  })

  test('a beacon that reports again after that shows how it ended', async () => {
    await beacon.sees([event()])
    await world.pass(26 * 60_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect(await outcome()).toMatchObject({ phase: 'completed', outcome: 'completed' })
  })
})
