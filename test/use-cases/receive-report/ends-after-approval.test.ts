// How an approved event ends: what Azure was told, and what nobody knows of it.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Start } from '../../../shared/report.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, minute, moments, outcome, second, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

let other: FakeBeacon

beforeEach(async () => {
  await startRelay()
  other = new FakeBeacon(world, 'web_1')
})

type Shown = ReturnType<typeof event>

async function approved(shown: Shown): Promise<void> {
  await beacon.sees([shown])
  await other.sees([shown])
  await press(world, await forge(world), 'approve')
  expect((await beacon.sees([shown])).directives).toHaveLength(1)
}

const answers = (how: Start['outcome'], status?: number) => ({
  starts: [{ eventId, outcome: how, ageMs: 0, ...(status === undefined ? {} : { status }) }],
})

/** Both VMs run on, without the event. */
async function vanishes(): Promise<void> {
  for (let i = 0; i < 12; i++) {
    for (const one of [beacon, other]) {
      one.uptimeMs += 2 * second
      await one.sees([])
    }
    await world.pass(2 * second)
  }
}

const cancelled = { outcome: 'cancelled', inferred: 'gone_before_its_time' }
const completed = { outcome: 'completed', inferred: 'start_not_seen_approved' }

describe('an approved event that is gone before its time', () => {
  test.each<[Start['outcome'], number | undefined]>([
    ['rejected', 400],
    ['not_scheduled', undefined],
    ['not_as_approved', undefined],
  ])('if the beacon did not start it (%s): is cancelled', async (how, status) => {
    await approved(event())
    await beacon.sees([event()], answers(how, status))
    await vanishes()
    expect(await outcome()).toMatchObject(cancelled)
  })

  test('if Azure accepted: is completed', async () => {
    await approved(event())
    await beacon.sees([event()], answers('accepted', 200))
    await vanishes()
    expect(await outcome()).toMatchObject(completed)
  })
})

describe('a person is not called because of an approval that is stuck', () => {
  test('while the event is gone, and may be over', async () => {
    await approved(event())
    for (let i = 0; i < 14; i++) {
      await beacon.sees([event()], answers('rejected', 400))
      await world.pass(2 * second)
    }
    await vanishes()
    expect(moments()).toEqual(['scheduled', 'approved', 'cancelled'])
  })

  test('if the VM was down for 12 minutes, and shows that the event is over', async () => {
    await startRelay()
    await beacon.sees([event()])
    await press(world, await forge(world), 'approve')
    await beacon.sees([event()])
    await beacon.sees([event()], answers('accepted', 200))
    await world.pass(12 * minute)
    Object.assign(beacon, { bootId: 'after-the-reboot', uptimeMs: 5 * second })
    for (let i = 0; i < 6; i++) {
      await beacon.sees([])
      await world.pass(2 * second)
    }
    expect(moments()).toEqual(['scheduled', 'approved', 'lost', 'completed'])
  })
})

describe('a VM that is removed once Azure was told', () => {
  const terminate = event({ eventType: 'Terminate' })

  test('is completed after two minutes of silence', async () => {
    await startRelay()
    await beacon.sees([terminate])
    await press(world, await forge(world), 'approve')
    await beacon.sees([terminate])
    await beacon.sees([terminate], answers('accepted', 200))
    await world.pass(2 * minute + second)
    expect(await outcome()).toMatchObject({ outcome: 'completed', inferred: 'vm_gone' })
  })

  test('not while another VM still sees the event', async () => {
    await approved(terminate)
    await beacon.sees([terminate], answers('accepted', 200))
    for (let i = 0; i < 30; i++) {
      await other.sees([terminate])
      await world.pass(5 * second)
    }
    expect((await outcome()).phase).toBe('scheduled')
  })
})
