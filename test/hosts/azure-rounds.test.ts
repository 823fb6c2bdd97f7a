// What the rounds of the Azure host set as wake-ups: a message in the queue is an invocation, which costs.
import { afterEach, expect, test } from 'vitest'
import { Rounds, requestWaitMs } from '../../functions/host/azure/rounds.ts'
import {
  createWorld,
  event,
  FakeBeacon,
  startAt,
  usualAnswer,
  type World,
} from '../support/world.ts'

let world: World
let rounds: Rounds
/** Delays of the wake-ups that were set. */
let set: number[]

async function start() {
  world = await createWorld()
  set = []
  rounds = new Rounds(world.relay, async (delayMs) => void set.push(delayMs))
  world.relay.wake = (owed) => rounds.hint(owed)
}

afterEach(() => rounds.stop(0))

test('nothing is due: no wake-up', async () => {
  await start()
  await rounds.turn()
  expect(set).toEqual([])
})

test('a retry brings one wake-up, however many requests come before it', async () => {
  await start()
  const beacon = new FakeBeacon(world, 'web_0')
  world.channels.answer = (request) =>
    request.url.includes('//hook.') ? new Response(null, { status: 500 }) : usualAnswer(request)
  await rounds.during(() => beacon.sees([event()]))
  expect(set).toHaveLength(1)
  expect(set[0]).toBeGreaterThan(500)
  await rounds.turn()
  expect(set).toHaveLength(1)
  world.clock.now += set[0]!
  await rounds.turn()
  expect(set).toHaveLength(2)
})

test('what a request could not send, as the store failed it, has a wake-up', async () => {
  await start()
  const { claim } = world.store
  world.store.claim = async () => {
    world.store.claim = claim
    throw new Error('the storage is busy')
  }
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.lines.join('\n')).toContain('"round_failed"')
  expect(set).toEqual([0])
})

test('at the end what is being claimed is sent, and it is waited for', async () => {
  await start()
  const { claim } = world.store
  const claiming = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  world.store.claim = async (request) => {
    claiming.resolve()
    await go.promise
    return claim.call(world.store, request)
  }
  const answered = rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  await claiming.promise
  const ended = rounds.stop(5_000)
  go.resolve()
  await ended
  const deliveries = await world.store.readDeliveries({ fleet: 'prod', eventId: event().eventId })
  expect(deliveries.map(({ state }) => state)).toEqual(Array(4).fill('delivered'))
  await answered
})

test('after the end nothing is begun: a wake-up brings it to somebody else', async () => {
  await start()
  await rounds.stop(0)
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.sent).toEqual([])
  expect(set).toEqual([0])
})

test('a request waits for a channel no longer than it says', async () => {
  await start()
  world.channels.answer = () => new Promise<never>(() => {})
  const from = performance.now()
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]), 20)
  expect(performance.now() - from).toBeLessThan(requestWaitMs)
  // on a slow machine the wait ends before anything is claimed, and sending continues
  await expect.poll(() => world.sent.length).toBeGreaterThan(0)
})

test('what a request commits after its answer is sent as well', async () => {
  await start()
  const go = Promise.withResolvers<void>()
  let late: Promise<unknown> | undefined
  await rounds.during(async () => {
    late = go.promise.then(() => new FakeBeacon(world, 'web_0').sees([event()]))
  })
  expect(world.sent).toEqual([])
  go.resolve()
  await late
  await expect.poll(() => world.sent.length).toBe(4)
})

test('a queue that takes no message fails no request', async () => {
  await start()
  rounds = new Rounds(world.relay, async () => {
    throw new Error('the queue is away')
  })
  world.channels.answer = () => new Response(null, { status: 500 })
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.lines.join('\n')).toContain('the queue is away')
})

test('a storage that is slow does not hold sending up until the function is cut off', async () => {
  await start()
  const beacon = new FakeBeacon(world, 'web_0')
  const ids = Array.from({ length: 20 }, (_, i) => `event-${i}`)
  await beacon.sees(ids.map((eventId) => event({ eventId, notBeforeAt: startAt + 60_000 })))
  await beacon.sees([])
  world.clock.now += 3_600_000
  let tried = 0
  world.store.commit = async () => {
    tried += 1
    world.clock.now += 15_000
    throw new Error('the storage did not answer')
  }
  const known = world.sent.length
  await rounds.turn()
  expect(tried).toBe(2)
  expect(world.sent.length).toBeGreaterThan(known)
})

test('an event that fails at every look does not bring one wake-up after another', async () => {
  await start()
  const beacon = new FakeBeacon(world, 'web_0')
  await rounds.during(() => beacon.sees([event({ notBeforeAt: startAt + 60_000 })]))
  await rounds.during(() => beacon.sees([]))
  world.clock.now += 3_600_000
  world.store.commit = async () => {
    throw new Error('this event cannot be written')
  }
  set = []
  await rounds.turn()
  expect(world.lines.join('\n')).toContain('"conclusion_failed"')
  expect(set).toEqual([10_000])
  // and others do not suffer from it
  await rounds.turn()
  expect(set).toEqual([10_000])
})
