// The first word about an event is a lie, and stays as little as it can: all places of onlookers are taken, the liar
// changes its word, the VM has no beacon, each lie comes under a fresh name, or people have heard of enough changes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { type event as Event, event, eventId, FakeBeacon, started } from '../support/world.ts'

type Shown = ReturnType<typeof Event>

let later: Shown
let liar: FakeBeacon

beforeEach(async () => {
  await startWithAzure({}, { routes: [{ match: {}, channels: ['hook'] }] })
  later = event({ notBeforeAt: world.clock.now + 3 * hour })
  liar = new FakeBeacon(world, 'db_2')
})
afterEach(() => world.store.close())

const named = (...names: string[]) => names.map((name) => new FakeBeacon(world, name))
const readFacts = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!.facts
const listIt = () => list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))

/** All report each 10 s for 20 min. Returns for how many seconds the event was not as Azure has it. */
async function hiddenSeconds(
  lie: (turn: number) => Shown | undefined,
  honest: FakeBeacon[],
  others: (turn: number) => Promise<unknown> = async () => {},
): Promise<number> {
  let hidden = 0
  for (let turn = 0; turn < 120; turn++) {
    const said = lie(turn)
    if (said !== undefined) await liar.sees([said])
    await others(turn)
    for (const one of honest) await one.sees([later])
    await world.pass(10 * second)
    const { eventType, notBeforeAt, resources } = await readFacts()
    const isRight =
      (await outcome()).phase === 'scheduled' &&
      eventType === later.eventType &&
      notBeforeAt === later.notBeforeAt &&
      resources.includes('web_0')
    if (!isRight) hidden += 10
  }
  return hidden
}

describe('all places of onlookers are taken', () => {
  test('a VM that names itself takes that of one that names others', async () => {
    const neighbors = named('web_1', 'web_2', 'web_3', 'web_4')
    const lie = () => started({ resources: ['db_2'] })
    expect(await hiddenSeconds(lie, [...neighbors, beacon])).toBeLessThanOrEqual(80)
  })

  test("a VM that Azure's list names has a place of its own", async () => {
    listIt()
    const fakes = named('fake_0', 'fake_1', 'fake_2', 'fake_3')
    const hidden = await hiddenSeconds(
      () => started({ resources: ['db_2'] }),
      [beacon],
      async () => {
        for (const one of fakes) await one.sees([{ ...later, resources: [one.name] }])
      },
    )
    expect(hidden).toBeLessThanOrEqual(80)
  })
})

describe('the liar changes its word, as Azure changes events', () => {
  const both = ['db_2', 'web_0']
  test.each<[string, (turn: number) => Shown]>([
    ['its description', (turn) => started({ resources: both, description: `d${turn % 6 < 3}` })],
    ['its names', (turn) => started({ resources: [...both, `x${turn % 6 < 3}`] })],
    [
      'its type',
      (turn) => ({ ...later, resources: both, eventType: turn % 2 ? 'Redeploy' : 'Freeze' }),
    ],
  ])('%s', async (_what, lie) => {
    expect(await hiddenSeconds(lie, [beacon, ...named('web_1', 'web_2')])).toBeLessThanOrEqual(140)
  })
})

describe('another VM of the event is silent', () => {
  test('what it showed last shields no liar', async () => {
    await liar.sees([started({ resources: ['db_2', 'web_1'] })])
    await named('web_1')[0]!.sees([{ ...later, resources: ['web_1'] }])
    later = { ...later, resources: ['web_0', 'web_1'] }
    const lie = () => started({ resources: ['db_2', 'web_1'] })
    const honest = [beacon, ...named('web_2', 'web_3', 'web_4')]
    expect(await hiddenSeconds(lie, honest)).toBeLessThanOrEqual(120)
  })

  test('one vote does not outweigh it if others show a third list', async () => {
    const silent = named('web_1')[0]!
    await silent.sees([{ ...later, resources: ['web_1'] }])
    await world.pass(90 * second)
    later = { ...later, resources: ['web_0', 'web_1'] }
    const lie = () => started({ resources: ['web_0', 'db_2'] })
    const hidden = await hiddenSeconds(lie, named('web_2', 'web_3', 'web_4'))
    // three minutes pass until the silent VM counts as silent
    expect(hidden).toBeLessThanOrEqual(400)
    expect(world.sent.length).toBeLessThanOrEqual(8)
  })
})

describe('the VM has no beacon', () => {
  const inTwoDays = () => ({ notBeforeAt: later.notBeforeAt! + 48 * hour })
  const lies: [string, () => Shown][] = [
    ['of a VM that there is not', () => ({ ...later, resources: ['made_up'] })],
    ['of a freeze', () => ({ ...later, resources: ['made_up'], eventType: 'Freeze' })],
    ['of a later time', () => ({ ...later, ...inTwoDays() })],
    ['that it is its own, later', () => ({ ...later, resources: ['db_2'], ...inTwoDays() })],
    ['that its own has started', () => started({ resources: ['db_2'] })],
  ]
  test.each(lies)('more VMs outweigh a word %s', async (_what, lie) => {
    const neighbors = named('web_1', 'web_2', 'web_3')
    expect(await hiddenSeconds(lie, neighbors)).toBeLessThanOrEqual(80)
  })

  test.each<[string, () => Shown]>([
    ['of a freeze', () => ({ ...later, eventType: 'Freeze' })],
    ['of a later time', () => ({ ...later, ...inTwoDays() })],
  ])("Azure's list alone outweighs a word %s", async (_what, lie) => {
    await liar.sees([lie()])
    listIt()
    // it is read every five minutes
    expect(await hiddenSeconds(lie, [])).toBeLessThanOrEqual(6 * 60)
  })

  test('each time another name says that it has started', async () => {
    const neighbors = named('web_1', 'web_2')
    listIt()
    for (const one of neighbors) await one.sees([later])
    await world.pass(10 * second)
    const hidden = await hiddenSeconds(
      () => undefined,
      neighbors,
      async (turn) => {
        if (turn % 2 === 0) await named(`fake_${turn}`)[0]!.sees([started()])
      },
    )
    expect(hidden).toBeLessThanOrEqual(400)
    expect(world.sent.length).toBeLessThanOrEqual(14)
  })
})

test('people have heard of fifty changes by the liar: the correction is told at once', async () => {
  const honest = [beacon, ...named('web_1', 'web_2')]
  const lie = { ...later, resources: ['db_2', 'web_0'] }
  for (let at = 0; at < 56; at++) {
    await liar.sees([{ ...lie, eventType: at % 2 ? 'Redeploy' : 'Freeze' }])
    for (const one of honest) await one.sees([later])
    await world.pass(second)
  }
  await world.pass(4 * second)
  const before = world.sent.length
  for (const one of honest) await one.sees([later])
  await world.pass(second)
  const told = JSON.stringify(world.sent.slice(before).map(({ json }) => json.data))
  expect(told).toContain('Reboot')
  expect(told).not.toContain('"db_2"')
})

test('a VM that names itself brings an ended event of others back once in ten minutes', async () => {
  const honest = [beacon, ...named('web_1', 'web_2', 'web_3')]
  for (const one of honest) await one.sees([later])
  await world.pass(10 * second)
  for (const one of honest) await one.sees([])
  await world.pass(90 * second)
  const before = world.sent.length
  for (let turn = 0; turn < 180; turn++) {
    await liar.sees(turn % 6 < 3 ? [{ ...later, resources: ['web_0', 'db_2'] }] : [])
    for (const one of honest) await one.sees([])
    await world.pass(10 * second)
  }
  expect(world.sent.length - before).toBeLessThanOrEqual(10)
})

test('fifty changes by an onlooker before the VM speaks do not hold up what the VM says then', async () => {
  for (let i = 0; i < 60; i++) {
    const wrong = { eventType: i % 2 === 0 ? 'Freeze' : 'Redeploy' }
    await liar.sees([event({ ...wrong, notBeforeAt: world.clock.now + 72 * hour })])
    await world.drain()
  }
  const due = world.clock.now + 14 * minute
  const toldOf = async (notBeforeAt: number) => {
    await beacon.sees([event({ notBeforeAt })])
    await world.pass(second)
    return world.sent.some(({ body }) => body.includes(new Date(notBeforeAt).toISOString()))
  }
  expect(await toldOf(due)).toBe(true)
  // Azure moves it
  await world.pass(minute)
  expect(await toldOf(due + minute)).toBe(true)
})
