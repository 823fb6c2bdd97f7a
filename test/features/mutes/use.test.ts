// Mutes: people are not told, machines are, and what is still open when a mute ends is told.
import { beforeEach, describe, expect, test } from 'vitest'
import { mutesRow } from '../../../functions/features/mutes/load.ts'
import type { MuteWish } from '../../../functions/features/mutes/rule.ts'
import { addMute, endMute, mutesFor } from '../../../functions/features/mutes/use.ts'
import { shipRule } from '../../simulator/sinks/ship.ts'
import { has } from '../../support/features.ts'
import { askApi } from '../../support/tokens.ts'
import {
  adminKey,
  createWorld,
  event,
  eventId,
  FakeBeacon,
  startAt,
  type World,
} from '../../support/world.ts'

const minute = 60_000
const admin = { by: 'admin' } as const
const hour = { fleet: 'prod', until: startAt + 60 * minute }
const far = event({ notBeforeAt: startAt + 300 * minute })

let world: World
let beacon: FakeBeacon

beforeEach(async () => {
  const config = {
    routes: [{ match: {}, channels: ['chat', 'team', 'pager', 'hook'] }],
  }
  world = await createWorld({ config })
  beacon = new FakeBeacon(world, 'web_0', { vm: { scaleSet: 'web', tags: { role: 'web' } } })
})

async function mute(wish: Partial<MuteWish> = {}): Promise<string> {
  const added = await addMute(world.relay, admin, { ...hour, ...wish })
  if (added.outcome !== 'added') throw new Error(added.outcome)
  return added.mute.id
}

async function sees(changes: Parameters<typeof event>[0] = {}) {
  await beacon.sees([{ ...far, ...changes }])
  await world.drain()
}

const recordNow = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!
/** How many messages each channel got. */
function told() {
  const hosts = ['slack', 'teams', 'pager', 'hook']
  return hosts.map((host) => world.sent.filter(({ url }) => url.includes(host)).length)
}

describe('while a mute counts', () => {
  test('people are not told of an event and its end, and machines are', async () => {
    await mute({ reason: 'planned work' })
    await sees()
    expect(told()).toEqual([0, 0, 0, 1])
    expect((await recordNow()).muted?.until).toBe(hour.until)
    await sees({ status: 'Started' })
    await beacon.sees([])
    await world.pass(11_000)
    expect((await recordNow()).ended).toBeDefined()
    expect(told()).toEqual([0, 0, 0, 3])
  })

  test('one that begins later counts from then on', async () => {
    await mute({ from: startAt + 30 * minute })
    await sees({ eventId: 'before' })
    expect(told()).toEqual([1, 1, 1, 1])
    world.clock.now += 30 * minute
    await sees()
    expect(told()).toEqual([1, 1, 1, 2])
  })

  test('who knew of the event is told its end, and nothing before', async () => {
    await sees()
    expect(told()).toEqual([1, 1, 1, 1])
    await mute()
    await sees({ status: 'Started' })
    expect(told()).toEqual([1, 1, 1, 2])
    await beacon.sees([])
    await world.pass(11_000)
    expect(told()).toEqual([2, 2, 2, 3])
  })

  test.each<[Partial<MuteWish>, boolean]>([
    [{ scaleSet: 'web' }, true],
    [{ scaleSet: 'db' }, false],
    [{ tag: 'role=web' }, true],
    [{ tag: 'role' }, true],
    [{ tag: 'role=db' }, false],
    [{ scaleSet: 'web', tag: 'role=db' }, false],
    [{ fleet: 'test' }, false],
  ])('%j hides an event of this VM: %s', async (wish, isHidden) => {
    const world2 = await createWorld({
      config: { ...twoFleets(), routes: [{ match: {}, channels: ['chat'] }] },
    })
    const added = await addMute(world2.relay, admin, { ...hour, ...wish })
    expect(added.outcome).toBe('added')
    const vm = { scaleSet: 'web', tags: { role: 'web' } }
    await new FakeBeacon(world2, 'web_0', { vm }).sees([far])
    await world2.drain()
    expect(world2.sent.length).toBe(isHidden ? 0 : 1)
  })

  test('an event that also affects another VM is told', async () => {
    await mute({ scaleSet: 'web' })
    const both = { resources: ['web_0', 'db_0'] }
    await sees(both)
    expect(told()).toEqual([0, 0, 0, 1])
    const db = new FakeBeacon(world, 'db_0', { vm: { scaleSet: 'db' } })
    await db.sees([{ ...far, ...both }])
    await world.drain()
    expect(told()).toEqual([1, 1, 1, 1])
  })

  test('what may be muted waits for the beacon of its VM, 10 s at most', async () => {
    await mute({ scaleSet: 'web' })
    const observer = new FakeBeacon(world, 'web_7', { vm: { scaleSet: 'web' } })
    await observer.sees([far])
    await world.drain()
    expect(told()).toEqual([0, 0, 0, 1])
    await world.pass(9_000)
    expect(told()).toEqual([0, 0, 0, 1])
    await world.pass(2_000)
    expect(told()).toEqual([1, 1, 1, 1])
  })
})

describe('when it ends', () => {
  test('by itself, people get the newest message of what is open', async () => {
    await mute()
    await sees()
    await world.pass(59 * minute)
    expect(told()).toEqual([0, 0, 0, 1])
    await world.pass(minute)
    expect(told()).toEqual([1, 1, 1, 1])
    expect(await recordNow()).not.toHaveProperty('muted')
    expect(await mutesFor(world.relay, admin)).toEqual([])
  })

  test('by somebody, too', async () => {
    const id = await mute()
    await sees()
    expect(await endMute(world.relay, admin, id)).toBe('ended')
    await world.drain()
    expect(told()).toEqual([1, 1, 1, 1])
    expect(await endMute(world.relay, admin, id)).toBe('unknown')
  })

  test('another one may still count', async () => {
    const id = await mute()
    await mute({ until: startAt + 120 * minute })
    await sees()
    await endMute(world.relay, admin, id)
    await world.pass(61 * minute)
    expect(told()).toEqual([0, 0, 0, 1])
    await world.pass(60 * minute)
    expect(told()).toEqual([1, 1, 1, 1])
  })
})

test('a decision acknowledges an incident that was open before', async () => {
  await sees()
  await mute()
  await askApi(world, adminKey, `/v1/events/prod/${eventId}/decision`, {
    method: 'POST',
    body: { decision: 'approve' },
  })
  await world.drain()
  const pager = world.sent.filter(({ url }) => url.includes('pager'))
  expect(pager.map(({ json }) => json.event_action)).toEqual(['trigger', 'acknowledge'])
  expect(told()[0]).toBe(1)
})

test('an event that nobody looked at when the mute was ended is found within 5 min', async () => {
  await mute()
  await sees()
  const { version } = (await mutesRow.read(world.store))!
  await mutesRow.write(world.store, { all: [] }, version)
  await world.pass(4 * minute)
  expect(told()).toEqual([0, 0, 0, 1])
  await world.pass(2 * minute)
  expect(told()).toEqual([1, 1, 1, 1])
})

test('its history says until when nobody is told', async () => {
  await mute()
  await sees()
  const noted = (await recordNow()).history.filter(({ what }) => what === 'muted')
  expect(noted).toEqual([{ at: startAt, what: 'muted', note: '2026-11-21T13:00:00.000Z' }])
})

test('a fleet has at most 20 mutes', async () => {
  for (let i = 0; i < 20; i++) await mute()
  expect(await addMute(world.relay, admin, hour)).toEqual({ outcome: 'no_room', most: 20 })
  world.clock.now = hour.until
  expect((await addMute(world.relay, admin, { ...hour, until: hour.until + 1 })).outcome).toBe(
    'added',
  )
})

function twoFleets() {
  const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  return {
    fleets: { prod: { key }, test: { key: 'whsec_dGVzdGtleXRlc3RrZXl0ZXN0a2V5dGVzdGtleQ==' } },
  }
}

test.runIf(has('ship'))('services of Azure get every step', async () => {
  const endpoint = 'https://logs.example'
  world = await createWorld({
    config: { ship: { logs: { kind: 'logs', endpoint, rule: shipRule } } },
    paced: true,
  })
  beacon = new FakeBeacon(world, 'web_0')
  await addMute(world.relay, admin, hour)
  await beacon.sees([far])
  await world.drain()
  const shipped = world.sent.filter(({ url }) => url.startsWith(endpoint))
  expect(shipped.flatMap(({ json }) => json.map((row: { Moment: string }) => row.Moment))).toEqual([
    'scheduled',
  ])
})
