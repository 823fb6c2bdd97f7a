// A VM says of an event of others that it is its own, before one of them has shown it. Azure's list counts more, and
// so do other VMs that see the event.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { type event as Event, event, eventId, FakeBeacon, started } from '../support/world.ts'

const own = { resources: ['db_2'] }
let later: ReturnType<typeof Event>
let liar: FakeBeacon
let neighbors: FakeBeacon[]

beforeEach(async () => {
  await startWithAzure()
  later = event({ notBeforeAt: world.clock.now + 3 * hour })
  liar = new FakeBeacon(world, 'db_2')
  neighbors = ['web_1', 'web_2'].map((name) => new FakeBeacon(world, name))
})
afterEach(() => world.store.close())

const facts = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!.facts

/** What corrects the liar. Without one of them, the VM that came first is believed. */
const corrections: [string, () => Promise<unknown>][] = [
  [
    "Azure's list",
    async () => list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 })),
  ],
  [
    'two neighbors',
    async () => {
      for (const one of neighbors) await one.sees([later])
    },
  ],
]

const lies: [string, () => ReturnType<typeof Event>][] = [
  ['has started', () => started(own)],
  ['is a freeze', () => ({ ...later, ...own, eventType: 'Freeze' })],
  ['is in ten days', () => ({ ...later, ...own, notBeforeAt: later.notBeforeAt! + 240 * hour })],
]

/** All report each 10 s. Returns for how long the event did not wait as its VM shows it. */
async function go(ms: number, lie: () => ReturnType<typeof Event>, correct: () => unknown) {
  let hidden = 0
  for (let at = 0; at < ms; at += 10 * second) {
    await liar.sees([lie()])
    await correct()
    await beacon.sees([later])
    await world.pass(10 * second)
    const { phase } = await outcome()
    const { eventType, notBeforeAt } = await facts()
    const isRight = eventType === later.eventType && notBeforeAt === later.notBeforeAt
    if (phase !== 'scheduled' || !isRight) hidden += 10 * second
  }
  return hidden
}

describe.each(corrections)('%s', (_who, correct) => {
  test.each(lies)('corrects who says that the event of others %s', async (_what, lie) => {
    await liar.sees([lie()])
    // Azure's list is read every five minutes
    await go(6 * minute, lie, correct)
    expect(await go(20 * minute, lie, correct)).toBe(0)
    expect((await facts()).resources).toEqual(['web_0'])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    expect((await beacon.sees([later])).directives).toHaveLength(1)
  })
})

test("the VM has no beacon: Azure's list says whose event it is, and neighbors agree", async () => {
  list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
  for (let at = 0; at < 10 * minute; at += 10 * second) {
    await liar.sees([started(own)])
    for (const one of neighbors) await one.sees([later])
    await world.pass(10 * second)
  }
  expect((await outcome()).phase).toBe('scheduled')
  expect(await facts()).toMatchObject({ resources: ['web_0'], notBeforeAt: later.notBeforeAt })
})

describe('the VM that came first names others, too', () => {
  test.each<[string, string[]]>([
    ['the VM of the event', ['db_2', 'web_0']],
    ['its neighbors', ['db_2', 'web_1', 'web_2']],
  ])('%s: a minute later, what more VMs show counts', async (_, resources) => {
    const lie = () => ({ ...started(), resources })
    await liar.sees([lie()])
    const correct = async () => {
      for (const one of neighbors) await one.sees([later])
    }
    await go(2 * minute, lie, correct)
    expect(await go(20 * minute, lie, correct)).toBe(0)
    expect((await facts()).resources).toEqual(['web_0'])
  })
})

describe('the VM has no beacon, and two neighbors show its event', () => {
  const all = async (lie: () => Promise<unknown>, ms: number) => {
    let hidden = 0
    for (let at = 0; at < ms; at += 10 * second) {
      await lie()
      for (const one of neighbors) await one.sees([later])
      await world.pass(10 * second)
      if ((await outcome()).phase !== 'scheduled') hidden += 10 * second
    }
    return hidden
  }

  test.each([
    ['goes on saying so', async () => liar.sees([started(own)])],
    ['says so once', async () => {}],
  ])('one that names itself says that it has started, and %s', async (_, goOn) => {
    await all(async () => {}, minute)
    await liar.sees([started(own)])
    expect(await all(goOn, 20 * minute)).toBeLessThanOrEqual(80 * second)
    expect(await facts()).toMatchObject({ resources: ['web_0'], eventType: 'Reboot' })
  })

  test('it says so now and then, and loses the event in between: an end that it alone saw is none', async () => {
    list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
    await all(async () => {}, 6 * minute)
    let turn = 0
    const flap = () => liar.sees(turn++ % 18 < 12 ? [started(own)] : [])
    expect(await all(flap, 20 * minute)).toBeLessThanOrEqual(200 * second)
  })

  test('one was wrong about the start: that of the others is told, whatever an old list says', async () => {
    list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
    await all(async () => {}, 6 * minute)
    await all(() => liar.sees([started()]), 20 * second)
    await all(async () => {}, 5 * minute)
    for (const one of neighbors) await one.sees([started()])
    expect((await outcome()).phase).toBe('started')
  })
})

test('onlookers that contradict each other bring an ended event back once in ten minutes', async () => {
  await neighbors[0]!.sees([later])
  await liar.sees([later])
  await world.drain()
  const before = world.sent.length
  for (let turn = 0; turn < 6 * 30; turn++) {
    await liar.sees(turn % 3 < 2 ? [started()] : [])
    await neighbors[0]!.sees([])
    await world.pass(10 * second)
  }
  // two messages in each of four channels
  expect(world.sent.length - before).toBeLessThanOrEqual(4 * 2 * 5)
})
