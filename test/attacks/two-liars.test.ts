// One or two VMs of a fleet contradict the one VM that an event affects, or Azure's list, again and again.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, second, world } from '../support/relay.ts'
import { type event as Event, event, eventId, FakeBeacon, started } from '../support/world.ts'

const turns = 180
/** More wrong messages than these in half an hour are a flood. */
const mostMessages = 10

let later: ReturnType<typeof Event>
let liars: [FakeBeacon, FakeBeacon]

beforeEach(async () => {
  await startWithAzure({}, { routes: [{ match: {}, channels: ['hook'] }], owners: ['team'] })
  later = event({ notBeforeAt: world.clock.now + 3 * hour })
  liars = [new FakeBeacon(world, 'fake_0'), new FakeBeacon(world, 'fake_1')]
})
afterEach(() => world.store.close())

/** For half an hour, all report each 10 s. Returns how long the event was not as its VM shows it. */
async function go(lie: (turn: number) => Promise<unknown>, tell: () => unknown, phase: string[]) {
  const sentBefore = world.sent.length
  let wrong = 0
  for (let turn = 0; turn < turns; turn++) {
    await lie(turn)
    await tell()
    await world.pass(10 * second)
    const record = await world.store.readEvent({ fleet: 'prod', eventId })
    if (!phase.includes(record!.phase)) wrong += 10 * second
  }
  return { wrong, messages: world.sent.length - sentBefore }
}

/** The first one says that the event has started, and lacks it in each fourth turn. */
const turnsBack = async (turn: number) => {
  if (turn < 3) return
  const own = started({ resources: ['fake_0', 'made_up'] })
  await liars[0].sees(turn % 4 === 3 ? [] : [own])
  await liars[1].sees([started({ resources: ['made_up'] })])
}

test.each([false, true])(
  'an ended event comes back three times in half an hour (Azure listed it: %s)',
  async (isListed) => {
    if (isListed) list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
    await beacon.sees([later])
    await world.pass(5 * minute + 30 * second)
    await beacon.sees([later])
    list()
    const { wrong, messages } = await go(turnsBack, () => beacon.sees([]), [
      'cancelled',
      'completed',
    ])
    expect(wrong).toBeLessThanOrEqual(2 * minute)
    expect(messages).toBeLessThanOrEqual(mostMessages)
  },
)

test('an open event starts wrongly once, though they name other VMs in each turn', async () => {
  const says: (() => ReturnType<typeof Event>[])[] = [
    () => [started({ resources: [], eventType: 'Preempt' })],
    () => [],
    () => [started({ resources: ['made_up'], eventType: 'Terminate' })],
    () => [started({ resources: ['web_0', 'fake_0'] })],
  ]
  await beacon.sees([later])
  await world.pass(minute)
  const lie = async (turn: number) => {
    await liars[0].sees(says[turn % says.length]!())
    await liars[1].sees([started({ resources: ['made_up'] })])
  }
  const { wrong, messages } = await go(lie, () => beacon.sees([later]), ['scheduled'])
  expect(wrong).toBeLessThanOrEqual(2 * minute)
  expect(messages).toBeLessThanOrEqual(mostMessages)
})

test('an event that Azure alone lists starts wrongly once', async () => {
  const notBeforeAt = world.clock.now + hour
  list(publication({ notBeforeAt, durationSeconds: -1 }))
  await world.pass(5 * minute + 30 * second)
  const lie = async () => {
    for (const one of liars) await one.sees([started()])
  }
  const { wrong, messages } = await go(lie, () => {}, ['scheduled'])
  // the list is read every five minutes
  expect(wrong).toBeLessThanOrEqual(6 * minute)
  expect(messages).toBeLessThanOrEqual(mostMessages)
})

test.each([
  ['names itself, again and again', ['fake_0'], (turn: number) => turn % 4 < 2],
  ['names itself once, and falls silent', ['fake_0'], (turn: number) => turn < 1],
  ['names itself and others', ['fake_0', 'web_0'], () => true],
  ['names its VM once, and falls silent', ['web_0'], (turn: number) => turn < 1],
])(
  'an event that Azure alone lists has started, as one VM says, which %s',
  async (_, resources, says) => {
    const notBeforeAt = world.clock.now + 3 * hour
    list(publication({ notBeforeAt, durationSeconds: -1 }))
    await world.pass(5 * minute + 30 * second)
    const lie = async (turn: number) => {
      if (says(turn)) await liars[0].sees([started({ resources })])
    }
    const { wrong, messages } = await go(lie, () => {}, ['scheduled'])
    expect(wrong).toBeLessThanOrEqual(6 * minute)
    expect(messages).toBeLessThanOrEqual(mostMessages)
    expect((await world.store.readEvent({ fleet: 'prod', eventId }))!.facts.resources).toContain(
      'web_0',
    )
  },
)
