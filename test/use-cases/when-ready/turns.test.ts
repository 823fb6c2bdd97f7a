// Rules with `maxConcurrent`: of one group, the relay prepares and approves few VMs at a time.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { slotRows } from '../../../functions/store/small-rows.ts'
import { takeSlot } from '../../../functions/use-cases/take-slot.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { HookRun, Report } from '../../../shared/report.ts'
import { createWorld, event, FakeBeacon, startAt, type World } from '../../support/world.ts'

const minute = 60_000
const now = startAt
const due = startAt + 15 * minute
const inSet = (scaleSet: string): Partial<Report['vm']> => ({ scaleSet })

let world: World
let web0: FakeBeacon
let web1: FakeBeacon

beforeEach(() => begin())

async function begin(changes: object = {}) {
  const rule = { name: 'one at a time', match: {}, decide: 'approve', whenReady: true }
  const policy = [{ ...rule, maxConcurrent: 1, ...changes }]
  world = await createWorld({ config: { policy } })
  web0 = new FakeBeacon(world, 'web_0', { vm: inSet('web') })
  web1 = new FakeBeacon(world, 'web_1', { vm: inSet('web') })
}

const eventOf = (vm: string, changes: Partial<ScheduledEvent> = {}) =>
  event({ eventId: `event-of-${vm}`, resources: [vm], notBeforeAt: due - 6 * minute, ...changes })
const [one, two] = [eventOf('web_0'), eventOf('web_1')]

const recordOf = async ({ eventId }: ScheduledEvent) =>
  (await world.store.readEvent({ fleet: 'prod', eventId }))!
const turnOf = async (of: ScheduledEvent) => (await recordOf(of)).wait.slot?.state
const holders = async () =>
  (await slotRows.read(world.store, 'prod'))?.holders.map((h) => h.eventId) ?? []

/** What the answer says of its own event, after the sweep could look at it. */
async function whenOf(beacon: FakeBeacon, of: ScheduledEvent, state: HookRun['state'] = 'planned') {
  const { preparations } = await beacon.runs([of], state)
  await world.pass(10)
  return preparations.map(({ when }) => when)
}

test('the first answer says hold, and the next one after its turn came says now', async () => {
  expect(await whenOf(web0, one)).toEqual(['hold'])
  expect(await turnOf(one)).toBe('held')
  expect(await whenOf(web0, one)).toEqual(['now'])
})

test('of two events of one scale set, the second waits until the first is over', async () => {
  await whenOf(web0, one)
  await whenOf(web1, two)
  expect([await turnOf(one), await turnOf(two)]).toEqual(['held', 'waits'])
  expect((await recordOf(two)).wait.slot).toMatchObject({ behind: ['web_0'] })
  expect(await whenOf(web1, two)).toEqual(['hold'])
  await whenOf(web0, one, 'succeeded')
  expect((await recordOf(one)).decided).toMatchObject({ how: 'policy' })
  expect(await whenOf(web1, two)).toEqual(['hold'])

  await web0.sees([], { hooks: hooksOf(one, 'succeeded') })
  await world.pass(11_000)
  expect((await recordOf(one)).ended).toBeDefined()
  await world.pass(5_000)
  expect([await turnOf(two), await holders()]).toEqual(['held', [one.eventId, two.eventId]])
  expect(await whenOf(web1, two)).toEqual(['now'])
  await whenOf(web1, two, 'succeeded')
  expect((await recordOf(two)).decided).toMatchObject({ how: 'policy' })
})

test('an event that is back after its slot was given on counts: no third one comes beside it', async () => {
  await begin({ maxConcurrent: 2, whenReady: false })
  const web2 = new FakeBeacon(world, 'web_2', { vm: inSet('web') })
  const three = eventOf('web_2')
  await whenOf(web0, one)
  await whenOf(web0, one)
  await web0.sees([])
  await world.pass(11_000)
  expect((await recordOf(one)).ended).toBeDefined()
  await whenOf(web1, two)
  await whenOf(web1, two)
  expect(await turnOf(two)).toBe('held')

  await web0.sees([{ ...one, status: 'Started' }])
  expect(await recordOf(one)).toMatchObject({ epoch: 2, phase: 'started' })
  for (let i = 0; i < 3; i++) {
    await web2.sees([three])
    await world.pass(6_000)
  }
  expect((await recordOf(three)).wait.slot).toMatchObject({ behind: ['web_0', 'web_1'] })
  expect((await recordOf(three)).decided).toBeUndefined()
})

test.each([
  ['is done', 'succeeded' as const],
  ['has failed', 'failed' as const],
])('the second also waits until restore %s', async (_, state) => {
  await whenOf(web0, one, 'succeeded')
  await whenOf(web1, two)
  const restores = (how: HookRun['state']) => web0.sees([], { hooks: hooksOf(one, how) })
  await restores('planned')
  await world.pass(11_000)
  expect((await recordOf(one)).ended).toBeDefined()
  await restores('running')
  await world.pass(30_000)
  expect(await turnOf(two)).toBe('waits')
  await restores(state)
  await world.pass(5_000)
  expect(await turnOf(two)).toBe('held')
})

/** What the beacon of a prepared VM reports after the event. */
function hooksOf({ eventId }: ScheduledEvent, state: HookRun['state']): Report['hooks'] {
  const run = { eventId, ageMs: 0 }
  return {
    available: ['prepare', 'restore'],
    runs: [
      { ...run, hook: 'prepare', state: 'succeeded' },
      { ...run, hook: 'restore', state },
    ],
  }
}

test('if its turn does not come in time, people are asked and told who came first', async () => {
  await whenOf(web0, one)
  await whenOf(web1, two)
  for (let at = 0; at < 8; at++) {
    await world.pass(minute)
    if (world.clock.now < due - 7 * minute) {
      await web0.runs([one], 'running')
      await web1.runs([two], 'planned')
    }
  }
  const { wait, policy } = await recordOf(two)
  const { notReady, slot } = wait
  expect(notReady).toMatchObject({ why: 'no_turn_in_time' })
  expect(policy.decide).toBe('ask')
  expect(slot).toMatchObject({ behind: ['web_0'] })
  expect(world.told().filter((type) => type.endsWith('not_ready'))).toHaveLength(2)
})

test('an event with more VMs of a group than allowed asks people at once', async () => {
  const both = eventOf('web_0', { resources: ['web_0', 'web_1'] })
  await web0.runs([both], 'planned')
  await web1.runs([both], 'planned')
  await world.drain()
  expect((await recordOf(both)).wait.notReady?.why).toBe('too_many_vms')
  expect(await holders()).toEqual([])
})

test('days ahead nobody has the turn, and the beacon must wait for it', async () => {
  const far = eventOf('web_0', { notBeforeAt: due + 60 * minute })
  expect(await whenOf(web0, far)).toEqual(['hold'])
  expect(await whenOf(web0, far)).toEqual(['hold'])
  expect([await turnOf(far), await holders()]).toEqual(['waits', []])
  await whenOf(web1, two)
  expect(await turnOf(two)).toBe('held')
})

test('an event that people decide still gets its turn to prepare', async () => {
  await whenOf(web0, one)
  await whenOf(web0, one, 'failed')
  await whenOf(web1, two)
  expect((await recordOf(one)).wait.notReady).toBeDefined()
  // its other VMs may be prepared
  expect(await turnOf(two)).toBe('waits')
})

describe('without whenReady', () => {
  beforeEach(() => begin({ whenReady: false }))

  test('the turn is for the approval, and nothing is prepared before', async () => {
    // it must be stored before it can have its turn
    expect(await whenOf(web0, one)).toEqual(['hold'])
    expect(await whenOf(web1, two)).toEqual(['hold'])
    expect((await recordOf(one)).decided).toMatchObject({ how: 'policy' })
    expect(await whenOf(web0, one)).toEqual([])
    expect((await recordOf(two)).decided).toBeUndefined()
    await web0.sees([])
    await world.pass(11_000)
    await world.pass(5_000)
    expect((await recordOf(two)).decided).toMatchObject({ how: 'policy' })
  })

  test('if the group of a VM stays unknown, people are asked', async () => {
    await web1.sees([one])
    await world.pass(minute)
    expect((await recordOf(one)).decided).toBeUndefined()
    await web1.sees([one])
    await world.pass(minute)
    expect((await recordOf(one)).wait.notReady?.why).toBe('group_unknown')
  })
})

test('while it is unknown whether such a rule applies, beacons wait', async () => {
  await begin({ match: { tag: 'role=web' } })
  const tagged = (name: string) =>
    new FakeBeacon(world, name, { vm: { ...inSet(''), tags: { role: 'web' } } })
  const [a, b] = [tagged('web_0'), tagged('web_1')]
  const both = eventOf('web_0', { resources: ['web_0', 'web_1'] })
  expect(await whenOf(a, both)).toEqual(['hold'])
  await whenOf(b, both)
  expect((await recordOf(both)).policy.rule).toBe('one at a time')

  const alone = eventOf('web_0', { eventId: 'other', resources: ['web_0', 'web_7'] })
  expect(await whenOf(a, alone)).toEqual(['hold'])
  await world.pass(2 * minute)
  expect(await whenOf(a, alone)).toEqual([])
})

describe('the row of holders', () => {
  const wish = { max: 1, groups: { g: 1 } }
  const own = { fleet: 'prod', eventId: one.eventId, epoch: 1 }

  test('of many who ask at once, one gets the turn', async () => {
    const events = [...Array(8).keys()].map((i) => eventOf(`web_${i}`))
    for (const of of events) {
      const beacon = new FakeBeacon(world, of.resources[0]!)
      await beacon.sees([of])
    }
    const asked = events.map(({ eventId }) => takeSlot(world.store, { ...own, eventId }, wish, now))
    const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome === 'held')).toHaveLength(1)
  })

  test('once enough holders count, the others are not read: each may be large', async () => {
    const groups = Object.fromEntries([...Array(20).keys()].map((i) => [`group-${i}`, 1]))
    const events = Object.keys(groups).map((id) => eventOf(`vm-of-${id}`))
    for (const of of events) await new FakeBeacon(world, of.resources[0]!).sees([of])
    const rows = events.flatMap(({ eventId }, i) => {
      const { epoch } = own
      return { eventId, epoch, groups: { [`group-${i % 10}`]: 1 } }
    })
    await slotRows.write(world.store, { holders: rows }, 0, 'prod')
    const reads = vi.spyOn(world.store, 'readEvent')
    const answer = await takeSlot(world.store, { ...own, eventId: 'late' }, { max: 2, groups }, now)
    // the first group is full, and five names are enough
    expect(answer).toMatchObject({ outcome: 'waits', behind: { length: 5 } })
    expect(reads).toHaveBeenCalledTimes(5)
  })

  test('if the row is full, only holders of its groups are said to be before it', async () => {
    const [first, other] = [eventOf('web_0'), eventOf('web_1')]
    for (const of of [first, other]) await new FakeBeacon(world, of.resources[0]!).sees([of])
    const { epoch } = own
    const groups = (name: string) =>
      Object.fromEntries([...Array(50).keys()].map((i) => [`${name}-${i}`, 1]))
    const full = [...Array(40).keys()].map((i) => {
      return { eventId: other.eventId, epoch, groups: groups(`${i}`) }
    })
    const holders = [{ eventId: first.eventId, epoch, groups: { own: 1 } }, ...full]
    await slotRows.write(world.store, { holders }, 0, 'prod')
    const request = { max: 1, groups: { own: 1 } }
    const answer = await takeSlot(world.store, { ...own, eventId: 'late' }, request, now)
    expect(answer).toEqual({ outcome: 'waits', behind: ['web_0'] })
  })

  test('a holder that the relay no longer knows does not count', async () => {
    expect(await takeSlot(world.store, { ...own, eventId: 'lost' }, wish, now)).toMatchObject({
      outcome: 'held',
    })
    expect(await takeSlot(world.store, own, wish, now)).toEqual({ outcome: 'held' })
  })

  test('a new epoch of an event must take its turn anew', async () => {
    await whenOf(web0, one)
    const { groups } = (await slotRows.read(world.store, 'prod'))!.holders[0]!
    await web0.sees([])
    await world.pass(11_000)
    expect(
      await takeSlot(world.store, { ...own, eventId: 'b' }, { max: 1, groups }, now),
    ).toMatchObject({
      outcome: 'held',
    })
    await web0.runs([one], 'planned')
    await world.pass(5_000)
    const back = await recordOf(one)
    expect(back.epoch).toBe(2)
    expect(await holders()).toEqual([one.eventId])
  })

  describe('after Azure was told', () => {
    const starts = [{ eventId: one.eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
    const grown = eventOf('web_0', { resources: ['web_0', 'web_2'] })

    async function tell() {
      for (let i = 0; i < 3; i++) {
        await web0.sees([one], i === 2 ? { starts } : {})
        await world.pass(2_000)
      }
      expect((await recordOf(one)).azure.accepted).toBeDefined()
    }

    test('an event that was gone and is back still has its turn', async () => {
      await begin({ whenReady: false })
      await tell()
      await web0.sees([])
      await world.pass(11_000)
      await web0.sees([one])
      expect(await recordOf(one)).toMatchObject({ epoch: 2, decided: { how: 'policy' } })
      for (let i = 0; i < 3; i++) {
        await web1.sees([two])
        await world.pass(6_000)
      }
      expect(await turnOf(two)).toBe('waits')
    })

    test('VMs that Azure adds to it count', async () => {
      await begin({ whenReady: false, maxConcurrent: 2 })
      await tell()
      await web0.sees([grown])
      expect((await recordOf(one)).facts.resources).toHaveLength(2)
      for (let i = 0; i < 3; i++) {
        await web1.sees([two])
        await world.pass(6_000)
      }
      expect(await turnOf(two)).toBe('waits')
    })
  })

  test('events that name no VM have no turn, and people are asked', async () => {
    await begin({ whenReady: false })
    for (let i = 0; i < 30; i++) {
      await web0.sees([eventOf('web_0', { resources: [] })])
      await world.pass(5_000)
    }
    expect(await recordOf(one)).toMatchObject({ wait: { notReady: { why: 'group_unknown' } } })
    expect((await recordOf(one)).decided).toBeUndefined()
  })

  test('fleets do not wait for each other', async () => {
    await whenOf(web0, one)
    const { groups } = (await slotRows.read(world.store, 'prod'))!.holders[0]!
    const elsewhere = await takeSlot(
      world.store,
      { ...own, fleet: 'test' },
      { max: 1, groups },
      now,
    )
    expect(elsewhere).toEqual({ outcome: 'held' })
  })
})

test('with prepareBeforeSeconds, the turn and the preparation come that much earlier', async () => {
  await begin({ prepareBeforeSeconds: 3_600 })
  const later = eventOf('web_0', { notBeforeAt: startAt + 61 * minute })
  expect(await whenOf(web0, later)).toEqual(['hold'])
  await world.pass(2 * minute)
  expect(await whenOf(web0, later)).toEqual(['now'])
})

test('it also counts without maxConcurrent', async () => {
  await begin({ prepareBeforeSeconds: 3_600, maxConcurrent: undefined })
  const later = eventOf('web_0', { notBeforeAt: startAt + 61 * minute })
  expect(await whenOf(web0, later)).toEqual([])
  await world.pass(2 * minute)
  expect(await whenOf(web0, later)).toEqual(['now'])
})
