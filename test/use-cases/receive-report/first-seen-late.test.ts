// Events that reach the relay late: first seen after their time, or after the relay was away. While
// a beacon that sees an event reports, time concludes nothing about it.
import { beforeEach, describe, expect, test } from 'vitest'
import { sweep } from '../../../functions/use-cases/sweep.ts'
import { FoghornError } from '../../../shared/errors.ts'
import type { Change } from '../../../shared/report.ts'
import {
  beacon,
  eventNow,
  minute,
  moments,
  report,
  startRelay,
  world,
} from '../../support/relay.ts'
import { event, FakeBeacon, started, type World } from '../../support/world.ts'

beforeEach(async () => {
  await startRelay()
  sweepInside(world)
})

/** The sweep runs between the write of an event and the write of the beacon that reported it. */
function sweepInside({ relay, store, clock }: World): void {
  const write = store.writeBeacon.bind(store)
  store.writeBeacon = async (...args) => {
    clock.now += 9
    await sweep(relay)
    return write(...args)
  }
}

const change = (kind: Change['kind'], ageMs: number, shown: Change['event']): Change => ({
  ...{ kind, ageMs, event: shown, firstPoll: false },
})

describe('an event that is first seen long after its NotBefore', () => {
  test.each(['Reboot', 'Terminate', 'Preempt'])('%s: is scheduled, and no more', async (type) => {
    const overdue = event({ eventType: type, notBeforeAt: world.clock.now - 11 * minute })
    await report(overdue)
    for (let seconds = 0; seconds < 90; seconds += 30) {
      world.clock.now += 30_000
      await report(overdue)
    }
    expect(moments()).toEqual(['scheduled'])
  })

  test('is lost ten minutes after the last beacon was heard, not before', async () => {
    await beacon.sees([event({ notBeforeAt: world.clock.now - 11 * minute })])
    await world.pass(9 * minute)
    expect(moments()).toEqual(['scheduled'])
    await world.pass(minute + 1_000)
    expect(moments()).toEqual(['scheduled', 'lost'])
  })

  test('even if the beacon that saw it first is silent and another one reports', async () => {
    await beacon.sees([event()])
    const { notBeforeAt } = event()
    world.clock.now = notBeforeAt! + 10 * minute - 4
    await new FakeBeacon(world, 'web_1').sees([event()])
    await world.drain()
    expect(moments()).toEqual(['scheduled'])
  })
})

describe('an event that was announced and started while the relay was away', () => {
  const terminate = (status: 'Scheduled' | 'Started') =>
    status === 'Scheduled' ? event({ eventType: 'Terminate' }) : started({ eventType: 'Terminate' })

  async function returns(): Promise<void> {
    await beacon.sees([])
    world.clock.now += 135_000
    world.relay.listeningSince = world.clock.now
    const changes = [
      change('appeared', 134_000, terminate('Scheduled')),
      change('changed', 125_000, terminate('Started')),
    ]
    await beacon.sees([terminate('Started')], { changes })
    await world.drain()
  }

  test('is running while its VM reports', async () => {
    await returns()
    for (let round = 0; round < 4; round++) {
      world.clock.now += 30_000
      await report(terminate('Started'))
    }
    expect(moments()).toEqual(['started'])
    const { phase, startKind, notice } = await eventNow()
    expect([phase, startKind ?? notice]).toEqual(['started', 'reported_late'])
  })

  test('is over once its VM is silent for two minutes', async () => {
    await returns()
    await world.pass(2 * minute + 60_000)
    expect(moments()).toEqual(['started', 'completed'])
  })

  test('the first report after the relay was down counts no beacon as silent', async () => {
    const other = new FakeBeacon(world, 'web_1')
    const scheduled = event({ eventType: 'Terminate', notBeforeAt: world.clock.now + minute })
    await beacon.sees([scheduled])
    await other.sees([scheduled])
    world.clock.now += 5 * minute
    world.relay.listeningSince = world.clock.now
    await other.sees([])
    world.clock.now += 11_000
    await other.sees([])
    await world.drain()
    await report(scheduled)
    expect(moments()).toEqual(['scheduled'])
  })
})

describe('without notice', () => {
  test('is not said of an event that seemed cancelled and is back as Started', async () => {
    await beacon.sees([event()])
    await world.pass(1_000)
    await beacon.sees([])
    await world.pass(14_000)
    expect(moments()).toEqual(['scheduled', 'cancelled'])
    await beacon.sees([started()], { changes: [change('appeared', 100, started())] })
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'cancelled', 'started'])
    expect((await eventNow()).startKind).toBeUndefined()
    const page = world.sent.findLast(({ url }) => url.includes('slack'))!
    expect(page.body.toLowerCase()).not.toContain('without notice')
  })
})

test('a disk that is full for 12 minutes makes no VM silent', async () => {
  const terminate = event({ eventType: 'Terminate', notBeforeAt: world.clock.now + 5 * minute })
  await report(terminate)
  const { commit, writeBeacon } = world.store
  const full = async () => {
    throw new FoghornError('disk_full', 'The disk is full.')
  }
  Object.assign(world.store, { commit: full, writeBeacon: full })
  for (let minutes = 0; minutes < 12; minutes += 1) {
    world.clock.now += minute
    await expect(report(terminate)).rejects.toThrow('503')
  }
  Object.assign(world.store, { commit, writeBeacon })
  await sweep(world.relay)
  expect(moments()).toEqual(['scheduled'])
  await report(terminate)
  await world.pass(10_000)
  expect(moments()).toEqual(['scheduled'])
})

test('an event that a first report only names, and the next one shows: people are notified at once', async () => {
  const named = event({ eventId: 'named-first' })
  const appeared = { kind: 'appeared' as const, ageMs: 100, firstPoll: false, event: named }
  // the beacon has started again, and not polled yet
  await beacon.post(beacon.body(null, { changes: [appeared] }))
  await world.drain()
  expect(world.told()).toEqual([])
  world.clock.now += 10_000
  await beacon.sees([named])
  await world.drain()
  expect(world.told()).toEqual(['foghorn.event.scheduled'])
})
