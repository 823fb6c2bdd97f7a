// VMs whose documents are late neither delay an end nor reopen an event.
import { beforeEach, describe, expect, test } from 'vitest'
import { readList } from '../../../functions/use-cases/published.ts'
import { sweep } from '../../../functions/use-cases/sweep.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Answer, Change } from '../../../shared/report.ts'
import { list, publication, startWithAzure } from '../../support/azure.ts'
import { forge, press } from '../../support/people.ts'
import { eventNow, moments, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, started } from '../../support/world.ts'

let beacons: FakeBeacon[]
beforeEach(async () => {
  await startRelay()
  beacons = [0, 1, 2, 3].map((i) => new FakeBeacon(world, `web_${i}`))
  for (const one of beacons) await one.sees([])
})

type Shows = (seconds: number) => ScheduledEvent[]

/**
 * Every beacon reports a change at once, and its document every 30 s. The relay sweeps every
 * second.
 */
async function watchFor(seconds: number, shows: (vm: number) => Shows): Promise<number> {
  const last: string[] = []
  for (let second = 0; second <= seconds; second++) {
    for (const [vm, beacon] of beacons.entries()) {
      const events = shows(vm)(second)
      const text = JSON.stringify(events)
      if (text !== last[vm] || second % 30 === 0) await beacon.sees(events)
      last[vm] = text
    }
    await world.drain()
    if (moments().at(-1) === 'completed') return second
    await world.pass(1_000)
  }
  return Number.POSITIVE_INFINITY
}

const running = [started({ resources: ['web_0', 'web_1'] })]
const until = (second: number) => (now: number) => (now < second ? running : [])

describe('the end of a started event is notified within 30 s of the time when the affected VMs miss it', () => {
  test('even if an unaffected VM lags 14 s behind', async () => {
    expect(await watchFor(120, (vm) => until(vm === 3 ? 24 : 10))).toBeLessThanOrEqual(21)
  })

  test('even if an affected VM lags 14 s behind', async () => {
    expect(await watchFor(120, (vm) => until(vm === 1 ? 24 : 10))).toBeLessThanOrEqual(40)
  })

  test('even if an unaffected VM always shows an old document', async () => {
    expect(await watchFor(120, (vm) => until(vm === 3 ? 1_000 : 10))).toBeLessThanOrEqual(21)
    for (let minutes = 0; minutes < 5; minutes++) {
      await beacons[3]!.sees(running)
      await world.pass(60_000)
    }
    expect(moments()).toEqual(['started', 'completed'])
  })

  test('most observers end it within 40 s if one affected VM always shows an old document', async () => {
    expect(await watchFor(120, (vm) => until(vm === 1 ? 1_000 : 10))).toBeLessThanOrEqual(41)
  })

  test('if no affected VM has a beacon, half of the onlookers decide, 30 s later', async () => {
    const elsewhere = [started({ resources: ['db_0'] })]
    const shows = (vm: number) => (now: number) => (now < (vm === 3 ? 1_000 : 10) ? elsewhere : [])
    expect(await watchFor(120, shows)).toBeLessThanOrEqual(41)
  })
})

describe('the sweep runs before the rows of beacons that report at once are written', () => {
  const all = { resources: beaconNames() }
  /** They report at once, and the relay sweeps before any of their rows is written. */
  async function reportAtOnce(those: FakeBeacon[], events: ScheduledEvent[]): Promise<void> {
    const { relay, store } = world
    const write = store.writeBeacon.bind(store)
    let waiting = 0
    const swept = new Promise<void>((resolve) => {
      store.writeBeacon = async (...args) => {
        waiting += 1
        if (waiting === those.length) {
          for (let times = 0; times < 3; times++) {
            world.clock.now += 5
            await sweep(relay)
          }
          resolve()
        }
        await swept
        return write(...args)
      }
    })
    await Promise.all(those.map((one) => one.sees(events)))
    store.writeBeacon = write
  }

  test('after a document without the event, the end is notified in time', async () => {
    for (const one of beacons) await one.sees([event(all)])
    await beacons[1]!.sees([])
    await world.pass(15_000)
    for (const one of beacons) await one.sees([started(all)])
    await reportAtOnce(beacons, [])
    await world.pass(40_000)
    expect(moments()).toEqual(['scheduled', 'started', 'completed'])
  })

  test('if one VM missed the event 10 s earlier, the end is notified in time', async () => {
    for (const one of beacons) await one.sees([started(all)])
    await beacons[0]!.sees([])
    world.clock.now += 9_990
    await reportAtOnce(beacons.slice(1), [])
    await world.pass(40_000)
    expect(moments()).toEqual(['started', 'completed'])
  })
})

function beaconNames(): string[] {
  return [0, 1, 2, 3].map((i) => `web_${i}`)
}

describe('an end that people were notified of', () => {
  const shows = (vm: number) => until(vm === 1 ? 1_000 : 10)

  test('is not revoked by a VM whose document is old', async () => {
    const endedAt = await watchFor(120, shows)
    for (let second = endedAt; second < 600; second++) {
      if (second % 30 === 0) {
        for (const [vm, one] of beacons.entries()) await one.sees(shows(vm)(second))
      }
      await world.pass(1_000)
    }
    expect(moments()).toEqual(['started', 'completed'])
  })
})

describe('an event never ends before it started', () => {
  const [scheduled, running] = [event({ notBeforeAt: startAt + 10_000 }), started()]

  test('if a lagging document shows the start last', async () => {
    const [hit, other] = beacons as [FakeBeacon, FakeBeacon]
    for (const one of [hit, other]) await one.sees([scheduled])
    await world.pass(20_000)
    await hit.sees([])
    await world.pass(4_000)
    await other.sees([running])
    await world.pass(4_000)
    await other.sees([])
    await world.pass(60_000)
    expect(moments()).toEqual(['scheduled', 'started', 'completed'])
    const { startedAt, endedAt } = await eventNow()
    expect(Date.parse(endedAt)).toBeGreaterThanOrEqual(Date.parse(startedAt))
  })
})

describe('a scheduled event', () => {
  test('is not cancelled while an affected VM sees it', async () => {
    for (const one of beacons) await one.sees([event()])
    for (const one of beacons.slice(1)) await one.sees([])
    await world.pass(30_000)
    await beacons[0]!.sees([event()])
    await world.pass(60_000)
    expect(moments()).toEqual(['scheduled'])
  })

  test('is cancelled even if one unaffected VM shows an old document', async () => {
    for (const one of beacons) await one.sees([event()])
    for (const one of beacons.slice(0, 3)) await one.sees([])
    await world.pass(11_000)
    expect(moments()).toEqual(['scheduled', 'cancelled'])
    await beacons[3]!.sees([event()])
    await world.pass(120_000)
    await beacons[3]!.sees([event()])
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'cancelled'])
    expect((await eventNow()).epoch).toBe(1)
  })
})

describe('an event that Azure cancels early', () => {
  test("is cancelled if the VM's beacon was stopped for a minute and the VM ran on", async () => {
    const [hit, other] = beacons as [FakeBeacon, FakeBeacon]
    for (const one of [hit, other]) await one.sees([event()])
    await world.pass(20_000)
    await other.sees([])
    await world.pass(30_000)
    expect(moments()).toEqual(['scheduled'])
    hit.bootId = 'after-the-update'
    hit.uptimeMs += 60_000
    await hit.sees([])
    await world.pass(10_001)
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })
})

describe('a restarted beacon that cannot read an entry', () => {
  const unreadable = async (one: FakeBeacon, events: ScheduledEvent[]) => {
    const report = one.body(events)
    const document = { ...report.document!, unreadable: 1 }
    expect((await one.post({ ...report, document })).status).toBe(200)
  }

  test('misses no event that its earlier boot saw, for five minutes', async () => {
    const [hit] = beacons as [FakeBeacon]
    await hit.sees([event({ notBeforeAt: world.clock.now + 3_600_000 })])
    hit.bootId = 'after-a-restart'
    for (let round = 0; round < 5; round++) {
      await unreadable(hit, [])
      await world.pass(60_000)
    }
    expect(moments()).toEqual(['scheduled'])
    await world.pass(1_000)
    await unreadable(hit, [])
    await world.pass(10_001)
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })
})

describe('an event that a document may hide', () => {
  const hiding = async (one: FakeBeacon, extra: { changes?: Change[] } = {}) => {
    const report = one.body([], extra)
    const document = { ...report.document!, unreadable: 1, hidden: [eventId] }
    const response = await one.post({ ...report, document })
    expect(response.status).toBe(200)
    return (await response.json()) as Answer
  }

  test('is neither gone nor gets a directive', async () => {
    const [hit] = beacons as [FakeBeacon]
    await hit.sees([event()])
    await press(world, await forge(world), 'approve')
    for (let round = 0; round < 4; round++) {
      const { directives, paceMs } = await hiding(hit)
      expect([directives, paceMs]).toEqual([[], 60_000])
      await world.pass(20_000)
    }
    expect(moments()).not.toContain('cancelled')
    expect((await hit.sees([event()])).directives).toHaveLength(1)
  })

  test('is not gone even if the same report shows that it appeared', async () => {
    const [hit] = beacons as [FakeBeacon]
    await hiding(hit, {
      changes: [{ kind: 'appeared', ageMs: 9, firstPoll: false, event: event() }],
    })
    await world.pass(20_000)
    await hiding(hit)
    await world.pass(20_000)
    expect(moments()).toEqual(['scheduled'])
  })

  const redeploy = event({ eventType: 'Redeploy' })
  const changes: Change[] = [{ kind: 'changed', ageMs: 9, firstPoll: false, event: redeploy }]

  test('has the values of its last change, so that a rule need not wait for it', async () => {
    await startRelay({ policy: [{ match: { eventType: 'Redeploy' }, decide: 'approve' }] })
    const [hit, other] = [new FakeBeacon(world, 'web_0'), new FakeBeacon(world, 'web_1')]
    for (const one of [hit, other]) await one.sees([event()])
    await hiding(hit, { changes })
    await other.sees([redeploy], { changes })
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'changed', 'approved'])
  })

  test('is gone once a document lacks it, even if it was hidden as it changed', async () => {
    const [hit] = beacons as [FakeBeacon]
    await hit.sees([event()])
    await hiding(hit, { changes })
    hit.bootId = 'after-a-restart'
    await hit.sees([])
    await world.pass(10_001)
    expect(moments()).toEqual(['scheduled', 'changed', 'cancelled'])
  })

  test('reopens nothing', async () => {
    const [hit] = beacons as [FakeBeacon]
    await hit.sees([event()])
    await hit.sees([])
    await world.pass(11_000)
    for (let round = 0; round < 4; round++) {
      await hiding(hit)
      await world.pass(30_000)
    }
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })
})

test('a document from before the last change changes nothing, although its VM shows that value for the first time', async () => {
  const [web0, web1] = beacons as [FakeBeacon, FakeBeacon]
  const shown = (eventType: string) => [event({ eventType, resources: ['web_0', 'web_1'] })]
  for (const one of [web0, web1]) await one.sees(shown('Freeze'))
  for (const eventType of ['Reboot', 'Terminate']) {
    world.clock.now += 5_000
    await web0.sees(shown(eventType))
  }
  await web1.sees(shown('Reboot'), { ageMs: 1_000 })
  expect((await eventNow()).eventType).toBe('Terminate')
  world.clock.now += 5_000
  await web1.sees(shown('Redeploy'))
  expect((await eventNow()).eventType).toBe('Redeploy')
})

test("Azure's list, which goes on showing a cancelled event for minutes, does not bring it back", async () => {
  await startWithAzure()
  const notBeforeAt = world.clock.now + 3 * 3_600_000
  const web0 = new FakeBeacon(world, 'web_0')
  list(publication({ notBeforeAt, durationSeconds: -1 }))
  for (let i = 0; i < 6; i++) {
    await web0.sees([event({ notBeforeAt })])
    await world.pass(30_000)
  }
  // then the VM is removed
  for (let i = 0; i < 3; i++) {
    await web0.sees([])
    await world.pass(10_000)
  }
  for (let minutes = 0; minutes < 8; minutes++) {
    await readList(world.relay)
    await world.pass(60_000)
  }
  expect(moments()).toEqual(['scheduled', 'cancelled'])
})
