// News that came while the metadata service showed nothing for a moment: told once it is clear that the
// event is there, and not at all where it is over.
import { beforeEach, expect, test } from 'vitest'
import type { Change } from '../../../shared/report.ts'
import { beacon, startRelay, world } from '../../support/relay.ts'
import { event, startAt, started } from '../../support/world.ts'

const moved = event({ notBeforeAt: startAt + 3_600_000 })
const common = { firstPoll: false }
const appeared: Change = { kind: 'appeared', ageMs: 3_000, event: event(), ...common }
const changed: Change = { kind: 'changed', ageMs: 2_000, event: moved, ...common }
const gone = { kind: 'gone' as const, ageMs: 0, lastSeenAgeMs: 1_000, ...common }

beforeEach(async () => {
  await startRelay()
  await beacon.sees([])
})

const told = async () => {
  await world.drain()
  return world.told().map((type) => type.replace('foghorn.event.', ''))
}

test('a change that came with a hiccup is told when the event is back', async () => {
  await beacon.sees([event()])
  await beacon.sees([], { changes: [changed, { ...gone, event: moved }] })
  expect(await told()).toEqual(['scheduled'])
  world.clock.now += 2_000
  await beacon.sees([moved])
  await beacon.sees([moved])
  expect(await told()).toEqual(['scheduled', 'changed'])
})

test('of an event that nobody was told of, only that it is there', async () => {
  await beacon.sees([], { changes: [appeared, changed, { ...gone, event: moved }] })
  expect(await told()).toEqual([])
  world.clock.now += 2_000
  await beacon.sees([moved])
  expect(await told()).toEqual(['scheduled'])
})

test('an event told as cancelled that turns out to run is told as started, and not as over', async () => {
  await beacon.sees([event()])
  await beacon.sees([])
  await world.pass(10_001)
  const running: Change = { kind: 'changed', ageMs: 1_000, event: started(), ...common }
  world.clock.now += 2_000
  await beacon.sees([started()], { changes: [{ ...running, kind: 'appeared' }] })
  expect(await told()).toEqual(['scheduled', 'cancelled', 'started'])
})

test('where it is over, the end is all that is told', async () => {
  await beacon.sees([event()])
  await beacon.sees([], { changes: [changed, { ...gone, event: moved }] })
  await world.pass(10_001)
  expect(await told()).toEqual(['scheduled', 'cancelled'])
})
