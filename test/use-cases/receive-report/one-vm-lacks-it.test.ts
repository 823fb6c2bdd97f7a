// One VM's document lacks an event that others show. It may be in another place of Azure now, be late,
// or lie. While the affected VM shows the event, it goes on: with reminders, rules and approvals.
import { describe, expect, test } from 'vitest'
import { forge, press } from '../../support/people.ts'
import { minute, moments, outcome, second, startRelay, world } from '../../support/relay.ts'
import { adminKey, event, eventId, FakeBeacon, startAt } from '../../support/world.ts'

let hit: FakeBeacon
let other: FakeBeacon
let lacking: FakeBeacon
/** On the affected VM. */
let hook: 'running' | 'succeeded' | 'failed' | undefined

const shown = event({ notBeforeAt: startAt + 25 * minute })

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  hook = undefined
  const [one, two, three] = ['web_0', 'web_1', 'web_2'].map((name) => new FakeBeacon(world, name))
  hit = one!
  other = two!
  lacking = three!
}

async function all(): Promise<void> {
  for (const one of [hit, other, lacking]) await one.sees([shown])
}

/** These report every 2 s, as they are asked to. The others are not heard. */
async function pass(ms: number, seeing: FakeBeacon[], missing: FakeBeacon[] = []): Promise<number> {
  let directives = 0
  for (let at = 0; at < ms; at += 2 * second) {
    for (const one of seeing) {
      const answer = one === hit && hook ? one.runs([shown], hook) : one.sees([shown])
      directives += (await answer).directives.length
    }
    for (const one of missing) await one.sees([])
    await world.pass(2 * second)
  }
  return directives
}

const reminded = { match: {}, channels: ['hook'], remindBeforeSeconds: [300] }

describe.each([
  ['goes on reporting', true],
  ['is not heard again', false],
])('an unaffected VM lacks the event and %s', (_, goesOn) => {
  const missing = () => (goesOn ? [lacking] : [])

  test('people are reminded, and the metrics count the event', async () => {
    await begin({ routes: [reminded] })
    await all()
    await world.pass(minute)
    await lacking.sees([])
    await pass(19 * minute + 10 * second, [hit, other], missing())
    expect(moments()).toEqual(['scheduled', 'reminder'])
    const headers = { authorization: `Bearer ${adminKey}` }
    const metrics = await (await world.app.request('/metrics', { headers })).text()
    expect(metrics).toContain('foghorn_undecided_events{fleet="prod"} 1')
  })

  test.each([
    ['approves once the VM is ready', 'succeeded', 'approved'],
    ['asks people if the hook fails', 'failed', 'not_ready'],
  ] as const)('a rule %s', async (_name, state, moment) => {
    await begin({ policy: [{ match: {}, decide: 'approve', whenReady: true }] })
    hook = 'running'
    await pass(10 * second, [hit, other, lacking])
    await lacking.sees([])
    await pass(minute, [hit, other], missing())
    hook = state
    const directives = await pass(20 * second, [hit, other], missing())
    expect(moments()).toEqual(['scheduled', moment])
    expect(directives > 0).toBe(state === 'succeeded')
  })

  test('a rule approves once the affected VM reports its tag', async () => {
    await begin({ policy: [{ match: { tag: ['auto=yes'] }, decide: 'approve' }] })
    hit = new FakeBeacon(world, 'web_0', { vm: { tags: { auto: 'yes' } } })
    for (const one of [other, lacking]) await one.sees([shown])
    await world.pass(5 * second)
    await lacking.sees([])
    await world.pass(5 * second)
    await pass(20 * second, [hit, other], missing())
    expect(moments()).toEqual(['scheduled', 'approved'])
  })
})

test('if no beacon reaches the relay after an approval, it stays, and Azure is told afterwards', async () => {
  await begin()
  await all()
  await world.pass(minute)
  await lacking.sees([])
  await pass(4 * minute, [hit, other])
  await press(world, await forge(world), 'approve')
  await pass(5 * minute, [])
  expect(moments()).toEqual(['scheduled', 'approved', 'stuck'])
  expect(await pass(20 * second, [hit])).toBeGreaterThan(0)
})

describe.each([
  ['goes on reporting', true],
  ['is not heard again', false],
])('an unaffected VM lacks the event and %s, and the affected VM', (_, goesOn) => {
  const missing = () => (goesOn ? [lacking] : [])

  test('upgrades its beacon for a minute: the event goes on', async () => {
    await begin()
    for (const one of [hit, lacking]) await one.sees([shown])
    await world.pass(minute)
    await lacking.sees([])
    await pass(4 * minute, [hit], missing())
    await hit.post({ ...hit.body([shown]), goodbye: 'upgrade' })
    await pass(minute, [], missing())
    hit.bootId = 'after-the-upgrade'
    await pass(minute, [hit], missing())
    expect(moments()).toEqual(['scheduled'])
  })

  test('upgrades its beacon and then lacks the event, too: it was cancelled', async () => {
    await begin()
    for (const one of [hit, lacking]) await one.sees([shown])
    await world.pass(minute)
    await lacking.sees([])
    await pass(minute, [hit], missing())
    await hit.post({ ...hit.body([shown]), goodbye: 'upgrade' })
    hit.bootId = 'after-the-upgrade'
    await pass(14 * second, [], [hit, ...missing()])
    expect(await outcome()).toMatchObject({ phase: 'cancelled' })
  })
})

test('once both miss it, it is over after ten seconds', async () => {
  await begin()
  await all()
  await world.pass(minute)
  await lacking.sees([])
  await pass(minute, [hit, other], [lacking])
  await pass(12 * second, [], [hit, other, lacking])
  expect(await outcome()).toMatchObject({ phase: 'cancelled' })
  expect((await world.store.readEvent({ fleet: 'prod', eventId }))?.gone?.denied).toBeUndefined()
})
