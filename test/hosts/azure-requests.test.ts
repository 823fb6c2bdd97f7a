// Which wake-ups the loop of the Azure host queues. Each one is an invocation, which costs money.
import { afterEach, expect, test, vi } from 'vitest'
import { Requests, requestWaitMs } from '../../functions/host/azure/requests.ts'
import { has } from '../support/features.ts'
import { heardBy, subscribe } from '../support/subscriptions.ts'
import {
  createWorld,
  event,
  FakeBeacon,
  startAt,
  usualAnswer,
  type World,
} from '../support/world.ts'

let world: World
let requests: Requests
/** Delays of the queued wake-ups. */
let set: number[]

async function start() {
  world = await createWorld()
  set = []
  requests = new Requests(world.relay, async (delayMs) => void set.push(delayMs))
  world.relay.work.wake = (...hint) => requests.hint(...hint)
}

afterEach(() => requests.stop(0))

test('nothing is due: no wake-up', async () => {
  await start()
  await requests.run()
  expect(set).toEqual([])
})

test('a retry queues one wake-up, however many requests come before it', async () => {
  await start()
  const beacon = new FakeBeacon(world, 'web_0')
  world.channels.answer = (request) =>
    request.url.includes('//hook.') ? new Response(null, { status: 500 }) : usualAnswer(request)
  await requests.during(() => beacon.sees([event()]))
  expect(set).toHaveLength(1)
  expect(set[0]).toBeGreaterThan(500)
  await requests.run()
  expect(set).toHaveLength(1)
  world.clock.now += set[0]!
  await requests.run()
  expect(set).toHaveLength(2)
})

test('if the timer is dead, a request sends what is due', async () => {
  await start()
  await requests.run()
  const beacon = new FakeBeacon(world, 'web_0')
  const isBusy = ({ url }: { url: string }) => url.includes('//hook.')
  const busy = { status: 503, headers: { 'retry-after': '75' } }
  world.channels.answer = (request) =>
    isBusy(request) ? new Response(null, busy) : usualAnswer(request)
  await requests.during(() => beacon.sees([event()]))
  const tries = () => world.sent.filter(isBusy).length
  expect(tries()).toBe(1)
  for (let i = 0; i < 9; i++) {
    world.clock.now += 10_000
    await requests.during(() => beacon.sees([event()]))
  }
  await vi.waitFor(() => expect(tries()).toBe(2))
})

test('if a request could not send because the store failed, a wake-up follows', async () => {
  await start()
  const { claim } = world.store
  world.store.claim = async () => {
    world.store.claim = claim
    throw new Error('the storage is busy')
  }
  await requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.lines.join('\n')).toContain('"loop_failed"')
  expect(set).toEqual([1_000])
})

test('at the end, a running claim is sent, and the host waits for it', async () => {
  await start()
  const { claim } = world.store
  const claiming = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  world.store.claim = async (request) => {
    claiming.resolve()
    await go.promise
    return claim.call(world.store, request)
  }
  const answered = requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  await claiming.promise
  const ended = requests.stop(5_000)
  go.resolve()
  await ended
  const deliveries = await world.store.readDeliveries({ fleet: 'prod', eventId: event().eventId })
  expect(deliveries.map(({ state }) => state)).toEqual(Array(4).fill('delivered'))
  await answered
})

test('after the end nothing begins: another worker gets a wake-up', async () => {
  await start()
  await requests.stop(0)
  await requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.sent).toEqual([])
  expect(set).toEqual([0])
})

test('a request waits for a channel only as long as its limit', async () => {
  await start()
  world.channels.answer = () => new Promise<never>(() => {})
  const from = performance.now()
  await requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]), 20)
  expect(performance.now() - from).toBeLessThan(requestWaitMs)
  // on a slow machine the wait ends before anything is claimed, and sending continues
  await expect.poll(() => world.sent.length).toBeGreaterThan(0)
})

test('a commit of a request after its answer is sent, too', async () => {
  await start()
  const go = Promise.withResolvers<void>()
  let late: Promise<unknown> | undefined
  await requests.during(async () => {
    late = go.promise.then(() => new FakeBeacon(world, 'web_0').sees([event()]))
  })
  expect(world.sent).toEqual([])
  go.resolve()
  await late
  await expect.poll(() => world.sent.length).toBe(4)
})

test('a queue that accepts no message fails no request', async () => {
  await start()
  const away = async () => {
    throw new Error('the queue is away')
  }
  requests = new Requests(world.relay, away)
  world.channels.answer = () => new Response(null, { status: 500 })
  await requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.lines.join('\n')).toContain('the queue is away')
})

test('a slow storage does not delay sending until the function is aborted', async () => {
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
  await requests.run()
  expect(tried).toBe(1)
  expect(world.sent.length).toBeGreaterThan(known)
})

test('an event that always fails does not cause one wake-up after another', async () => {
  await start()
  const beacon = new FakeBeacon(world, 'web_0')
  await requests.during(() => beacon.sees([event({ notBeforeAt: startAt + 60_000 })]))
  await requests.during(() => beacon.sees([]))
  world.clock.now += 3_600_000
  world.store.commit = async () => {
    throw new Error('this event cannot be written')
  }
  set = []
  await requests.run()
  expect(world.lines.join('\n')).toContain('"conclusion_failed"')
  expect(set).toEqual([10_000])
  // and others are not affected
  await requests.run()
  expect(set).toEqual([10_000])
})

test.runIf(has('subscriptions'))(
  'a request also sends what it causes for subscriptions',
  async () => {
    await start()
    world.relay.config.routes = []
    await subscribe(world)
    await requests.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
    expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled'])
  },
)

test.runIf(has('subscriptions'))('subscriptions that hang leave places to channels', async () => {
  await start()
  const patience = { timeout: 10_000 }
  for (let i = 0; i < 70; i++) await subscribe(world, { url: `https://cmdb.example/${i}` })
  const isHanging = ({ url }: { url: string }) => url.includes('cmdb.example')
  world.channels.answer = (sent) =>
    isHanging(sent) ? new Promise<never>(() => {}) : usualAnswer(sent)
  const known = world.sent.length
  const beacon = new FakeBeacon(world, 'web_0')
  const toChannels = () => world.sent.slice(known).filter((sent) => !isHanging(sent))
  await requests.during(() => beacon.sees([event()]), 20)
  const hanging = () => world.sent.slice(known).filter(isHanging)
  await expect.poll(() => hanging().length, patience).toBeGreaterThan(30)
  await expect.poll(() => toChannels().length, patience).toBe(4)
  const other = event({ eventId: 'another' })
  await requests.during(() => beacon.sees([event(), other]), 20)
  await expect.poll(() => toChannels().length, patience).toBe(8)
})
