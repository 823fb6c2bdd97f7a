// Whose event it is, as VMs fall silent, lose it from sight and come back: honest courses, and those of a liar.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { beacon, hour, minute, moments, outcome, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

let later: ReturnType<typeof event>

beforeEach(async () => {
  await startWithAzure()
  later = event({ notBeforeAt: world.clock.now + 3 * hour })
})
afterEach(() => world.store.close())

const stored = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!

/** Each 10 s. Returns for how long the event did not wait. */
async function go(ms: number, step: () => Promise<unknown>): Promise<number> {
  let hidden = 0
  for (let at = 0; at < ms; at += 10 * second) {
    await world.pass(10 * second)
    await step()
    if ((await outcome()).phase !== 'scheduled') hidden += 10 * second
  }
  return hidden
}

test('Azure moves the event to another VM: it is back a minute later, and its start is told', async () => {
  const other = new FakeBeacon(world, 'web_1')
  const moved = { ...later, resources: ['web_1'] }
  await beacon.sees([later])
  await world.drain()
  await go(2 * minute, async () => {
    await beacon.sees([])
    await other.sees([moved])
  })
  expect((await stored()).facts.resources).toEqual(['web_1'])
  expect((await outcome()).phase).toBe('scheduled')
  await other.sees([started({ resources: ['web_1'] })])
  await world.drain()
  expect(moments().at(-1)).toBe('started')
})

test('Azure moves the event to a VM without a beacon: it is back a minute later, as two others show it', async () => {
  const neighbors = ['web_1', 'web_2'].map((name) => new FakeBeacon(world, name))
  for (const one of [beacon, ...neighbors]) await one.sees([later])
  await world.drain()
  const moved = { ...later, resources: ['ice_9'] }
  await go(2 * minute, async () => {
    await beacon.sees([])
    for (const one of neighbors) await one.sees([moved])
  })
  expect((await outcome()).phase).toBe('scheduled')
  expect((await stored()).facts.resources).toEqual(['ice_9'])
  expect(moments()).toEqual(['scheduled', 'cancelled', 'scheduled'])
})

test('a VM that Azure took, and another one that shows the event: it is back once', async () => {
  const taken = event({ eventType: 'Preempt', notBeforeAt: world.clock.now + minute })
  await beacon.sees([taken])
  await world.drain()
  await world.pass(5 * minute)
  expect((await outcome()).phase).toBe('completed')
  const other = new FakeBeacon(world, 'web_1')
  const moved = { ...taken, resources: ['web_1'], notBeforeAt: world.clock.now + hour }
  await go(5 * minute, () => other.sees([moved]))
  const { epoch, facts } = await stored()
  expect([epoch, facts.resources]).toEqual([2, ['web_1']])
})

test('a lost event is back with the values of the VM that shows it', async () => {
  await beacon.sees([event()])
  await world.drain()
  await world.pass(hour)
  expect((await outcome()).outcome).toBe('lost')
  world.clock.now += second
  const both = event({ resources: ['web_0', 'web_1'], notBeforeAt: world.clock.now + hour })
  await new FakeBeacon(world, 'web_1').sees([both])
  await world.drain()
  expect((await stored()).facts).toMatchObject({ resources: ['web_0', 'web_1'] })
  expect(moments()).toEqual(['scheduled', 'lost', 'scheduled'])
})

describe.each([
  ['eleven minutes', 11 * minute],
  ['four minutes', 4 * minute],
])('a VM is silent for %s, and one that names itself takes its event', (_, ms) => {
  test('it is that of the VM again a minute after that VM is back', async () => {
    await beacon.sees([later])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    await world.pass(ms)
    const liar = new FakeBeacon(world, 'liar')
    const own = { resources: ['liar'] }
    for (let i = 0; i < 10; i++) {
      await liar.sees([{ ...later, ...own }])
      await world.pass(minute)
    }
    const hidden = await go(10 * minute, async () => {
      await beacon.sees([later])
      await liar.sees([started(own)])
    })
    expect(hidden).toBeLessThanOrEqual(80 * second)
    expect((await stored()).facts.resources).toEqual(['web_0'])
    await beacon.sees([started()])
    await world.drain()
    expect(moments().at(-1)).toBe('started')
  })
})

test('an onlooker tells of an old start: it was when the VM showed it', async () => {
  await beacon.sees([later])
  const at = world.clock.now
  const onlooker = new FakeBeacon(world, 'an_onlooker')
  const step = { kind: 'changed' as const, ageMs: 24 * hour, firstPoll: false, event: started() }
  await onlooker.sees([started()], { changes: [step] })
  world.clock.now += 30 * second
  await beacon.sees([started()])
  expect((await stored()).started!.at).toBeGreaterThanOrEqual(at)
})
