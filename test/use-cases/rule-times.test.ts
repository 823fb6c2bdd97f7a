// `match.time`: when rules approve and routes notify. The world begins on a Saturday at 12:00 UTC.
import { expect, test } from 'vitest'
import { createWorld, event, FakeBeacon, startAt, type World } from '../support/world.ts'

const hour = 3_600_000
const evening = { from: '13:00', to: '15:00' }
const rule = { name: 'evening', match: { time: evening }, decide: 'approve' }
/** Azure announces failing hardware days ahead. */
const farAway = event({ notBeforeAt: startAt + 40 * hour })

/** Its beacon reports every minute. */
async function pass(world: World, beacon: FakeBeacon, minutes: number, seen = farAway) {
  for (let minute = 0; minute < minutes; minute++) {
    await world.pass(60_000)
    await beacon.sees([seen])
  }
}

const recordIn = async (world: World) =>
  (await world.store.readEvent({ fleet: 'prod', eventId: farAway.eventId }))!
const momentsAt = (world: World, host: string) =>
  world.sent.filter(({ url }) => url.includes(host)).map(({ json }) => json.type)

test('a rule approves what is open when its time begins, at that time', async () => {
  const world = await createWorld({ config: { policy: [rule] } })
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([farAway])
  await pass(world, beacon, 59)
  const waiting = await recordIn(world)
  expect([waiting.policy.decide, waiting.decided, waiting.dueAt]).toEqual([
    'ask',
    undefined,
    startAt + hour,
  ])
  await world.pass(60_000)
  expect((await recordIn(world)).decided).toMatchObject({ how: 'policy', at: startAt + hour })
})

test('what its time ends is no longer approved by it', async () => {
  const world = await createWorld({ config: { policy: [rule] } })
  world.clock.now += 3 * hour
  await new FakeBeacon(world, 'web_0').sees([farAway])
  expect(await recordIn(world)).toMatchObject({ policy: { decide: 'ask', rule: 'default' } })
})

test('if its time ends while it waits, people are asked, once; the next time, it decides', async () => {
  const world = await createWorld({ config: { policy: [{ ...rule, whenReady: true }] } })
  world.clock.now += hour
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.runs([farAway], 'planned')
  expect((await recordIn(world)).policy).toMatchObject({ decide: 'approve', rule: 'evening' })
  for (let minute = 0; minute < 125; minute++) {
    await world.pass(60_000)
    await beacon.runs([farAway], 'planned')
  }
  const { wait, policy, decided } = await recordIn(world)
  expect(wait.notReady).toEqual({ at: startAt + 3 * hour, rule: 'evening', why: 'time_over' })
  expect([policy.decide, decided]).toEqual(['ask', undefined])
  const told = momentsAt(world, 'hook.example').filter((one) => one.includes('not_ready'))
  expect(told).toHaveLength(1)
  // how VMs are prepared stays, and the next evening the rule decides again
  expect(policy.whenReady).toBe(true)
  world.clock.now += 22 * hour
  await beacon.runs([farAway], 'succeeded')
  await world.pass(1_000)
  expect((await recordIn(world)).decided).toMatchObject({ how: 'policy', who: 'evening' })
})

test('an approval outlives the time of its rule', async () => {
  const world = await createWorld({ config: { policy: [rule] } })
  world.clock.now += 3 * hour - 1_000
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([farAway])
  await world.pass(10_000)
  await beacon.sees([farAway])
  expect((await recordIn(world)).decided).toMatchObject({ decision: 'approved', how: 'policy' })
})

test('a route notifies in its time, and also later of what it told', async () => {
  const hook = (name: string) => ({
    kind: 'webhook',
    url: `https://${name}.example/`,
    secret: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
  })
  const world = await createWorld({
    config: {
      channels: { day: hook('day'), evening: hook('evening') },
      routes: [
        { match: { time: { from: '15:00', to: '13:00' } }, channels: ['day'] },
        { match: { time: evening }, channels: ['evening'] },
      ],
    },
  })
  const beacon = new FakeBeacon(world, 'web_0')
  world.clock.now += hour
  await beacon.sees([farAway])
  await world.pass(1_000)
  expect([momentsAt(world, 'day'), momentsAt(world, 'evening')]).toEqual([
    [],
    ['foghorn.event.scheduled'],
  ])
  world.clock.now += 3 * hour
  await beacon.sees([{ ...farAway, status: 'Started' as const }])
  await world.pass(1_000)
  expect([momentsAt(world, 'day'), momentsAt(world, 'evening')]).toEqual([
    ['foghorn.event.started'],
    ['foghorn.event.scheduled', 'foghorn.event.started'],
  ])
})

test('a channel in two shifts gets the end from the route that told it, not the moments of the other', async () => {
  const morning = { match: { time: { from: '12:00', to: '13:00' } }, channels: ['hook'] }
  const other = { match: { time: evening }, channels: ['hook'], moments: ['scheduled'] }
  const world = await createWorld({ config: { routes: [morning, other] } })
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([farAway])
  await world.pass(1_000)
  world.clock.now += hour
  const second = { ...farAway, eventId: 'second' }
  await beacon.sees([{ ...farAway, status: 'Started' as const }, second])
  await world.pass(1_000)
  await beacon.sees([{ ...second, status: 'Started' as const }])
  await world.pass(11_000)
  await beacon.sees([])
  await world.pass(11_000)
  const told = world.sent.filter(({ url }) => url.includes('hook'))
  const of = (id: string) =>
    told.filter(({ json }) => json.subject === id).map(({ json }) => json.type)
  expect(of(farAway.eventId)).toEqual([
    'foghorn.event.scheduled',
    'foghorn.event.started',
    'foghorn.event.completed',
  ])
  expect(of('second')).toEqual(['foghorn.event.scheduled'])
})
