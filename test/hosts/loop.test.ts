// Node's loop around the use cases: what it begins, what it leaves, and that it stops.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Loop, type LoopOptions } from '../../functions/host/loop.ts'
import { UnderWay } from '../../functions/host/under-way.ts'
import { notifiers } from '../../functions/notify/registry.ts'
import type { Store } from '../../functions/store/store.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import { around } from '../sim/around.ts'
import { has } from '../support/features.ts'
import { endpoint, happen, subscribe } from '../support/subscriptions.ts'
import {
  baseConfig,
  createWorld,
  event,
  FakeBeacon,
  usualAnswer,
  type World,
} from '../support/world.ts'

let world: World
let loop: Loop | undefined

beforeEach(async () => {
  world = await createWorld()
  await new FakeBeacon(world, 'web_0').sees([event()])
})
afterEach(() => loop?.stop(1_000))

function loopOf(relay: Relay, more: Partial<LoopOptions> = {}): Loop {
  const options = { places: { all: 2_048, claimed: 256 }, maxSleepMs: 30_000, keepsHouse: true }
  loop = new Loop(relay, new UnderWay(relay), { set() {} }, { ...options, ...more })
  return loop
}

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** A loop whose calls of one store method wait. `reached` resolves at the first call. */
function loopThatWaits(method: keyof Store, until: Promise<void>) {
  const { open: reach, opened: reached } = gate()
  const store = around(world.store, async (name, _args, call) => {
    if (name === method) {
      reach()
      await until
    }
    return call()
  })
  return { loop: loopOf({ ...world.relay, store }), reached }
}

test('sends what is due, to all channels at once', async () => {
  const { open, opened } = gate()
  const hosts = new Set<string>()
  world.channels.answer = (request) => {
    hosts.add(new URL(request.url).hostname)
    if (hosts.size === 4) open()
    // no channel answers before all have got a request
    return opened.then(() => usualAnswer(request))
  }
  const own = loopOf(world.relay)
  void own.tick()
  await opened
  await own.stop(1_000)
  const { body } = await world.getEvent('c7061bac-afdc-4513-b24b-aa5f13a16123')
  expect(body.deliveries.map(({ state }: { state: string }) => state)).toEqual(
    Array(4).fill('delivered'),
  )
})

test('a hint that comes while the loop looks ahead is not lost', async () => {
  const { open, opened } = gate()
  const { loop, reached } = loopThatWaits('nextDueAt', opened)
  void loop.tick()
  await reached
  const isOver = async () => {
    const { body } = await world.getEvent(event().eventId)
    return body.deliveries.every(({ state }: { state: string }) => state === 'delivered')
  }
  await vi.waitFor(async () => expect(await isOver()).toBe(true))
  const sent = world.sent.length
  await new FakeBeacon(world, 'web_1').sees([event({ eventId: 'next', resources: ['web_1'] })])
  loop.hint(4, { event: { fleet: 'prod', eventId: 'next' }, deliveries: 4 })
  open()
  await loop.settled(5_000)
  expect(world.sent.length).toBeGreaterThan(sent)
})

test('what waits for the rate of a channel is sent when the rate allows it, without another hint', async () => {
  const sleeps: number[] = []
  const set = (ms: number) => sleeps.push(ms)
  const options = { places: { all: 2_048, claimed: 256 }, maxSleepMs: 30_000 }
  const relay = { ...world.relay, sending: { ...world.relay.sending, notifiers } }
  loop = new Loop(relay, new UnderWay(relay), { set }, options)
  await loop.tick()
  await loop.settled(5_000)
  // the rate of Slack: two requests, then one a second
  for (const eventId of ['two', 'three']) {
    await new FakeBeacon(world, eventId).sees([event({ eventId, resources: [eventId] })])
    loop.hint(4, { event: { fleet: 'prod', eventId }, deliveries: 4 })
    await loop.settled(5_000)
  }
  expect(sleeps.at(-1)).toBeLessThanOrEqual(1_000)
})

test('a burst that fills claims and channel exactly is sent to its end', async () => {
  const only = { routes: [{ match: {}, channels: ['hook'] }] }
  world = await createWorld({ config: { ...baseConfig, ...only } })
  const own = loopOf(world.relay, { places: { all: 64, claimed: 16 } })
  await own.tick()
  const events = Array.from({ length: 40 }, (_, i) => event({ eventId: `burst-${i}` }))
  await new FakeBeacon(world, 'web_0').sees(events)
  own.hint(events.length, { event: { fleet: 'prod', eventId: 'burst-0' }, deliveries: 40 })
  await own.settled(5_000)
  expect(world.sent).toHaveLength(events.length)
})

test('a turn that runs when the loop is stopped begins nothing more', async () => {
  const { open, opened } = gate()
  const { loop, reached } = loopThatWaits('dueEvents', opened)
  void loop.tick()
  await reached
  const stopped = loop.stop(1_000)
  open()
  await stopped
  expect(world.sent).toEqual([])
})

test('a running attempt is settled before the loop stops', async () => {
  const { open, opened } = gate()
  const { open: ask, opened: asked } = gate()
  world.channels.answer = (request) => {
    ask()
    return opened.then(() => usualAnswer(request))
  }
  const own = loopOf(world.relay)
  void own.tick()
  await asked
  const stopped = own.stop(1_000)
  open()
  await stopped
  const { body } = await world.getEvent('c7061bac-afdc-4513-b24b-aa5f13a16123')
  const states = body.deliveries.map(({ state }: { state: string }) => state)
  expect(states).toContain('delivered')
  expect(world.sent).toHaveLength(states.filter((state: string) => state === 'delivered').length)
})

test('after a long halt, silence counts anew', async () => {
  world.relay.listeningSince = world.clock.now
  const began = world.clock.now
  const own = loopOf(world.relay)
  const turn = async (ms: number) => {
    world.clock.now += ms
    void own.tick()
    await vi.waitFor(() => expect(turns()).toBeGreaterThan(0))
    await own.settled(5_000)
  }
  let looks = 0
  const { dueEvents } = world.store
  world.store.dueEvents = (...args) => {
    looks += 1
    return dueEvents.apply(world.store, args)
  }
  const turns = () => {
    const count = looks
    looks = 0
    return count
  }
  for (let i = 0; i < 4; i++) await turn(30_000)
  expect(world.relay.listeningSince).toBe(began)
  await turn(51_000)
  expect(world.relay.listeningSince).toBe(world.clock.now)
  expect(world.lines.some((line) => line.includes('relay_halted'))).toBe(true)
})

async function turnAfter(own: Loop, ms: number): Promise<void> {
  world.clock.now += ms
  void own.tick()
  await own.settled(10_000)
}

test('a clock that is set back while the loop rests after a failure ends the rest', async () => {
  let looks = 0
  world.relay.store = around(world.store, async (name, _, call) => {
    if (name === 'readEvent') throw new Error('no storage')
    if (name !== 'dueEvents') return call()
    looks += 1
    return [{ fleet: 'prod', eventId: 'due' }]
  })
  const own = loopOf(world.relay)
  const looksAfter = async (ms: number) => {
    await turnAfter(own, ms)
    return looks
  }
  expect(await looksAfter(60_000)).toBe(1)
  world.relay.outside.lookAt = world.clock.now + 60_000
  world.relay.listeningSince = world.clock.now
  expect(await looksAfter(1_000)).toBe(1)
  expect(await looksAfter(-3_600_000)).toBe(2)
  // what Azure publishes is read again, too, and silence counts from now on
  expect(world.relay.outside.lookAt).toBeUndefined()
  expect(world.relay.listeningSince).toBe(world.clock.now)
})

test.runIf(has('subscriptions'))(
  'endpoints that hang take one place each, so the others get all their messages',
  async () => {
    const hanging = 100
    const most = new Map<string, number>()
    let got = 0
    const done = Promise.withResolvers<void>()
    for (let i = 0; i < hanging; i++) await subscribe(world, { url: `https://hangs.example/${i}` })
    await subscribe(world)
    world.channels.answer = (request) => {
      if (!request.url.startsWith('https://hangs.')) {
        if (request.url === endpoint && ++got === 20) done.resolve()
        return usualAnswer(request)
      }
      most.set(request.url, (most.get(request.url) ?? 0) + 1)
      return new Promise<Response>(() => {})
    }
    const own = loopOf(world.relay)
    world.relay.work.wake = (...about) => own.hint(...about)
    await happen(world, 20)
    await done.promise
    expect(Math.max(...most.values())).toBe(1)
  },
)

test('says that it stands still if the store never answers', async () => {
  const { open, opened } = gate()
  const { loop, reached } = loopThatWaits('dueEvents', opened)
  expect(loop.troubles()).toEqual([])
  void loop.tick()
  await reached
  world.clock.now += 90_000
  expect(loop.troubles()).toEqual([])
  world.clock.now += 1
  expect(loop.troubles()).toEqual([expect.stringContaining('stands still')])
  open()
  await loop.settled(5_000)
  void loop.tick()
  await loop.settled(5_000)
  expect(loop.troubles()).toEqual([])
})

test('where an index names what no row has, the loop looks once a second, and not without end', async () => {
  const waits: number[] = []
  const store = around(world.store, async (name, _args, call) => {
    if (name === 'nextDueAt') return world.clock.now
    return name === 'dueEvents' ? [] : call()
  })
  const options = { places: { all: 2_048, claimed: 256 }, maxSleepMs: 30_000 }
  const host = { set: (ms: number) => void waits.push(ms) }
  const relay = { ...world.relay, store }
  loop = new Loop(relay, new UnderWay(relay), host, options)
  world.channels.answer = usualAnswer
  for (let i = 0; i < 6; i++) {
    await loop.tick()
    await loop.settled(1_000)
  }
  expect(waits.slice(-3)).toEqual([1_000, 1_000, 1_000])
})

test('a job that fails keeps no other from its turn, and is tried again', async () => {
  let forgets = 0
  const store = around(world.store, async (name, _args, call) => {
    if (name !== 'forget') return call()
    forgets += 1
    throw new Error('a row that cannot be read')
  })
  const own = loopOf({ ...world.relay, store })
  await own.tick()
  expect(world.lines.filter((line) => line.includes('"job_failed"'))).toHaveLength(1)
  expect(world.lines.some((line) => line.includes('loop_failed'))).toBe(false)
  world.clock.now += 10_000
  await own.tick()
  expect(forgets).toBe(2)
})
