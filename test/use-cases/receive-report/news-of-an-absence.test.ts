// News that came while IMDS showed nothing for a moment: people are notified once it is clear that
// the event is there, and not at all if it is over.
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

test('a change that came during a failure is notified when the event is back', async () => {
  await beacon.sees([event()])
  await beacon.sees([], { changes: [changed, { ...gone, event: moved }] })
  expect(await told()).toEqual(['scheduled'])
  world.clock.now += 2_000
  await beacon.sees([moved])
  await beacon.sees([moved])
  expect(await told()).toEqual(['scheduled', 'changed'])
})

test('for an event without any notification yet, only its presence is notified', async () => {
  await beacon.sees([], { changes: [appeared, changed, { ...gone, event: moved }] })
  expect(await told()).toEqual([])
  world.clock.now += 2_000
  await beacon.sees([moved])
  expect(await told()).toEqual(['scheduled'])
})

test('an event that was notified as cancelled but runs is notified as started, not as over', async () => {
  await beacon.sees([event()])
  await beacon.sees([])
  await world.pass(10_001)
  const running: Change = { kind: 'changed', ageMs: 1_000, event: started(), ...common }
  world.clock.now += 2_000
  await beacon.sees([started()], { changes: [{ ...running, kind: 'appeared' }] })
  expect(await told()).toEqual(['scheduled', 'cancelled', 'started'])
})

test('if the event is over, only the end is notified', async () => {
  await beacon.sees([event()])
  await beacon.sees([], { changes: [changed, { ...gone, event: moved }] })
  await world.pass(10_001)
  expect(await told()).toEqual(['scheduled', 'cancelled'])
})
