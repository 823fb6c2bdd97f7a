// The relay fails to store one event of a report. The others do not suffer from that.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FoghornError } from '../../../shared/errors.ts'
import { idOf } from '../../support/deliveries.ts'
import { forge, press } from '../../support/people.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

let web: FakeBeacon
let heal: () => void
beforeEach(async () => {
  await startRelay({ owners: ['hook'] })
  web = new FakeBeacon(world, 'web_0')
})
afterEach(() => world.store.close())

const events = [event(), event({ eventId: idOf(1) }), event({ eventId: idOf(2) })]
const isStored = async (id: string) => (await world.getEvent(id)).status === 200

function failFor(...eventIds: string[]): void {
  const { store } = world
  const { commit } = store
  store.commit = async (one) => {
    if (eventIds.includes(one.record.eventId)) throw new Error('disk I/O error')
    return commit.call(store, one)
  }
  heal = () => {
    store.commit = commit
  }
}

/** Reports again and again, as a beacon does whose report was not accepted. */
async function failsFor(seconds: number, seen = events): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 10) {
    expect((await web.post(web.body(seen))).status).toBe(500)
    // the counter of such a report is not stored
    web.counter -= 1
    await world.pass(10_000)
  }
}

test('the others are stored, and the report is not accepted, so the beacon sends it again', async () => {
  failFor(idOf(1))
  await failsFor(20)
  expect(await Promise.all([eventId, idOf(1), idOf(2)].map(isStored))).toEqual([true, false, true])
})

test('the next report stores it', async () => {
  failFor(idOf(1))
  await failsFor(10)
  heal()
  expect((await web.sees(events)).refused).toEqual([])
  expect(await isStored(idOf(1))).toBe(true)
})

test('after a minute it keeps nothing back: the report is accepted, and an approved event starts', async () => {
  failFor(idOf(1))
  await failsFor(60)
  await press(world, await forge(world), 'approve')
  const { directives, refused, paceMs } = await web.sees(events)
  expect(refused).toEqual([
    { eventId: idOf(1), reason: 'the relay fails to store it, and logs why' },
  ])
  expect(directives.map((one) => one.eventId)).toEqual([eventId])
  expect(paceMs).toBeLessThanOrEqual(10_000)
  heal()
  expect((await web.sees(events)).refused).toEqual([])
  expect(await isStored(idOf(1))).toBe(true)
})

test('if its end could not be stored, the end is told later', async () => {
  await web.sees(events)
  failFor(eventId)
  await failsFor(60, events.slice(1))
  const left = events.slice(1)
  expect((await web.sees(left)).refused).toMatchObject([{ eventId }])
  heal()
  await web.sees(left)
  await world.pass(30_000)
  await web.sees(left)
  await world.drain()
  expect((await eventNow()).phase).toBe('cancelled')
})

test('if the storage itself fails, no report is accepted, however long it lasts', async () => {
  const { store } = world
  store.commit = async () => {
    throw new FoghornError('storage_unavailable', 'no answer')
  }
  await failsFor(120)
})
