// While a decision may be near, the relay holds the answers to beacons that can wait, so that an
// approval reaches one of them at once.
import { beforeEach, describe, expect, test } from 'vitest'
import { holdMs } from '../../../functions/core/event/pace.ts'
import { createHolds } from '../../../functions/host/holds.ts'
import { controlWaits, WaitingBeacon, type Waits } from '../../support/held.ts'
import { forge, press } from '../../support/people.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { event, eventId, startAt } from '../../support/world.ts'

let first: WaitingBeacon
let second: WaitingBeacon
let waits: Waits

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  waits = controlWaits()
  first = new WaitingBeacon(world, 'web_0')
  second = new WaitingBeacon(world, 'web_1')
}

beforeEach(() => begin())

const decide = async (decision: string) => press(world, await forge(world), decision)

test('an approval ends the wait, and the next report gets the directive', async () => {
  expect(await first.sees([event()])).toMatchObject({ paceMs: 2_000, waitMs: holdMs })
  await second.sees([event()])
  const held = [first.waits([event()]), second.waits([event()])]
  await waits.until(2)
  await decide('approve')
  for (const answer of await Promise.all(held)) {
    expect(answer).toMatchObject({ directives: [], waitMs: holdMs })
  }
  expect((await second.waits([event()])).directives).toMatchObject([{ eventId }])
})

test('without a decision, the wait ends after its time, or that of the beacon', async () => {
  const held = first.waits([event()])
  await waits.until(1)
  waits.passAll()
  expect(await held).toMatchObject({ paceMs: 2_000, waitMs: holdMs })
  const shorter = first.waits([event()], { waitMs: 3_000 })
  await waits.until(2)
  waits.passAll()
  await shorter
  expect(waits.begun).toEqual([holdMs, 3_000])
})

test('the report is stored before the wait', async () => {
  await first.sees([event()])
  const later = event({ notBeforeAt: startAt + 20 * 60_000 })
  const held = first.waits([later])
  await waits.until(1)
  expect((await eventNow()).notBefore).toBe(new Date(later.notBeforeAt!).toISOString())
  waits.passAll()
  await held
})

test('a beacon whose answer is held counts as heard until its next report', async () => {
  const key = `id-prod-${first.name}`
  const held = first.waits([event()])
  await waits.until(1)
  expect((await world.store.readBeacon('prod', key))?.paceMs).toBe(2_000 + holdMs)
  waits.passAll()
  await held
  await first.sees([event()])
  expect((await world.store.readBeacon('prod', key))?.paceMs).toBe(2_000)
})

test('a decision while the report is stored is not missed', async () => {
  await first.sees([event()])
  const { readBeacon } = world.store
  let isFirst = true
  world.store.readBeacon = async (...key) => {
    if (isFirst) {
      isFirst = false
      world.relay.work.holds.wake({ fleet: 'prod', eventId })
    }
    return readBeacon.apply(world.store, key)
  }
  expect((await first.waits([event()])).waitMs).toBe(holdMs)
  expect(waits.begun).toEqual([])
})

test('"Not now" and "Prepare now" end the wait, too', async () => {
  const planned = { eventId, hook: 'prepare', state: 'planned', ageMs: 0 } as const
  const hooks = { available: ['prepare' as const], runs: [planned] }
  for (const decision of ['not_now', 'prepare']) {
    const held = first.waits([event()], { hooks })
    await waits.until(waits.begun.length + 1)
    await decide(decision)
    await held
  }
  // what to prepare is in the answer, so nothing is held
  const { preparations, waitMs } = await first.waits([event()], { hooks })
  expect([preparations, waitMs]).toEqual([[{ eventId, when: 'now' }], undefined])
})

test('a step of another event ends no wait', async () => {
  const other = event({ eventId: 'other' })
  await second.sees([other])
  const held = first.waits([event()])
  await waits.until(1)
  await press(world, await forge(world, { eventId: 'other' }), 'approve')
  await expect(Promise.race([held, Promise.resolve('held')])).resolves.toBe('held')
  waits.passAll()
  await held
})

describe('an answer is not held', () => {
  const answersAtOnce = async (events = [event()]) => {
    const { waitMs } = await first.waits(events)
    expect(waits.begun).toEqual([])
    return waitMs
  }

  test('if the beacon does not say that it can wait', async () => {
    await first.sees([event()])
    await first.sees([event()])
    expect(waits.begun).toEqual([])
  })

  test('while an approval is under way: its lease may end', async () => {
    await first.sees([event()])
    await decide('approve')
    expect((await second.waits([event()])).directives).toHaveLength(1)
    expect(await answersAtOnce()).toBeUndefined()
  })

  test('far from NotBefore, unless a person opened the page lately', async () => {
    const far = event({ notBeforeAt: startAt + 3 * 3_600_000 })
    expect(await answersAtOnce([far])).toBeUndefined()
    await world.app.request(await forge(world))
    expect((await first.sees([far])).waitMs).toBe(holdMs)
    world.clock.now += 15 * 60_000
    expect(await answersAtOnce([far])).toBeUndefined()
  })

  test('to a fifth observer', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await new WaitingBeacon(world, name).sees([event()])
    first = new WaitingBeacon(world, 'e')
    expect(await answersAtOnce()).toBeUndefined()
  })

  test('but to an affected VM that comes after four observers it is', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await new WaitingBeacon(world, name).sees([event()])
    expect((await first.sees([event()])).waitMs).toBe(holdMs)
  })

  test('to a report that was received before', async () => {
    const body = { ...first.body([event()]), waitMs: 60_000 }
    const held = first.post(body)
    await waits.until(1)
    expect(await (await first.post(body)).json()).toMatchObject({ outcome: 'repeated' })
    await held
    expect(waits.begun).toHaveLength(1)
  })

  test('on a host where waiting costs money', async () => {
    world.relay.work.holds = createHolds({ places: { all: 0, ofFleet: 0 } })
    expect((await first.sees([event()])).waitMs).toBeUndefined()
    expect(await answersAtOnce()).toBeUndefined()
  })

  test('beyond the places of a fleet, and of all', async () => {
    for (const places of [
      { all: 9, ofFleet: 1 },
      { all: 1, ofFleet: 9 },
    ]) {
      await begin()
      waits = controlWaits(places)
      const held = first.waits([event()])
      await waits.until(1)
      const refused = await second.waits([event()])
      expect([refused.paceMs, refused.waitMs]).toEqual([2_000, undefined])
      waits.passAll()
      await held
      expect((await second.sees([event()])).waitMs).toBe(holdMs)
    }
  })
})

describe('an answer is released without an offer', () => {
  test('by a newer report of the same beacon, which takes its place', async () => {
    waits = controlWaits({ all: 1, ofFleet: 1 })
    const held = first.waits([event()])
    await waits.until(1)
    const newer = first.waits([event()])
    expect((await held).waitMs).toBeUndefined()
    await waits.until(2)
    waits.passAll()
    expect((await newer).waitMs).toBe(holdMs)
    expect(world.relay.work.holds.hasRoom('prod', 'another')).toBe(true)
  })

  test('when the relay stops, and no other is held then', async () => {
    const held = first.waits([event()])
    await waits.until(1)
    world.relay.work.holds.close()
    expect((await held).waitMs).toBeUndefined()
    expect((await first.waits([event()])).waitMs).toBeUndefined()
    expect(waits.begun).toHaveLength(1)
  })
})
