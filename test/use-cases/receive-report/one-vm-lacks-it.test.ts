// One VM's document lacks an event that others show. It may be in another place of Azure now, be late,
// or lie. While the affected VM shows the event, it goes on: with reminders, rules and approvals.
import { describe, expect, test } from 'vitest'
import { countAll } from '../../../functions/use-cases/count.ts'
import { forge, press } from '../../support/people.ts'
import { minute, moments, outcome, second, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt } from '../../support/world.ts'

let hit: FakeBeacon
let other: FakeBeacon
let lacking: FakeBeacon
/** On the affected VM. */
let hook: 'running' | 'succeeded' | 'failed' | undefined

const shown = event({ notBeforeAt: startAt + 25 * minute })
/** While a VM sees an event, the relay notes every minute that it was heard. */
const another = event({
  eventId: 'another',
  resources: ['db_9'],
  notBeforeAt: startAt + 900 * minute,
})
/** What the VM sees that lacks the event. */
let elsewhere: (typeof shown)[]

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  hook = undefined
  elsewhere = []
  const [one, two, three] = ['web_0', 'web_1', 'web_2'].map((name) => new FakeBeacon(world, name))
  hit = one!
  other = two!
  lacking = three!
}

async function all(): Promise<void> {
  for (const one of [hit, other, lacking]) await one.sees([shown])
}

/** These report every 2 s, or every 10 s if it takes minutes. The others are not heard. */
async function pass(ms: number, seeing: FakeBeacon[], missing: FakeBeacon[] = []): Promise<number> {
  let directives = 0
  const everyMs = (ms < minute ? 2 : 10) * second
  for (let at = 0; at < ms; at += everyMs) {
    for (const one of seeing) {
      const answer = one === hit && hook ? one.runs([shown], hook) : one.sees([shown])
      directives += (await answer).directives.length
    }
    for (const one of missing) await one.sees(elsewhere)
    await world.pass(everyMs)
  }
  return directives
}

const reminded = (minutes: number) => ({
  routes: [{ match: {}, channels: ['hook'], remindBeforeSeconds: [minutes * 60] }],
})

const both: [string, boolean][] = [
  ['goes on reporting', true],
  ['is not heard again', false],
]

describe.each(both)('an unaffected VM lacks the event and %s', (_, goesOn) => {
  const missing = () => (goesOn ? [lacking] : [])

  test('people are reminded, and the event counts as undecided', async () => {
    await begin(reminded(20))
    await all()
    await world.pass(minute)
    await lacking.sees([])
    await pass(4 * minute + 30 * second, [hit, other], missing())
    expect(moments()).toEqual(['scheduled', 'reminder'])
    const { undecided } = await countAll(world.relay)
    expect(undecided).toMatchObject([{ fleet: 'prod', count: 1 }])
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
    await pass(2 * minute, [hit, other], missing())
    expect(moments().slice(0, 2)).toEqual(['scheduled', 'approved'])
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

describe.each(both)('an unaffected VM lacks the event and %s, and the affected VM', (_, goesOn) => {
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
})

describe.each([
  ['and nobody else', false],
  ['and an unaffected VM that lacked it before', true],
])('the affected VM %s: a normal end is told as soon', (_, isThere) => {
  test('a Terminate that Azure accepted: two minutes after the last report', async () => {
    await begin()
    const terminate = { ...shown, eventType: 'Terminate' }
    await hit.sees([terminate])
    if (isThere) await lacking.sees([terminate])
    await world.pass(minute)
    if (isThere) await lacking.sees([])
    for (let i = 0; i < 60; i++) {
      await hit.sees([terminate])
      await world.pass(2 * second)
    }
    if (isThere) await lacking.sees([])
    await press(world, await forge(world), 'approve')
    await hit.sees([terminate])
    await hit.sees([terminate], { starts: [{ eventId, outcome: 'accepted', ageMs: 0 }] })
    for (let i = 0; i < 26; i++) await world.pass(5 * second)
    expect(await outcome()).toMatchObject({ phase: 'completed', inferred: 'vm_gone' })
  })
})

/** How long after now the event ends. The affected VM is silent, and the outlier is heard at times. */
async function endsAfter(heardEvery: number): Promise<number> {
  const from = world.clock.now
  while (moments().length === 1 && world.clock.now - from < 20 * minute) {
    await world.pass(5 * second)
    if ((world.clock.now - from) % heardEvery === 0) await lacking.sees([])
  }
  return world.clock.now - from
}

test('the affected VM is shut down, and a third VM misses the event: it is over after 3 min', async () => {
  await begin()
  await all()
  await world.pass(minute)
  await lacking.sees([])
  await pass(5 * minute, [hit, other])
  await lacking.sees([])
  await hit.post({ ...hit.body([shown]), goodbye: 'shutdown' })
  await world.pass(20 * second)
  await other.sees([])
  expect(await endsAfter(15 * minute)).toBeLessThanOrEqual(3 * minute)
})

test('only the outlier is left: the event is over within three minutes of its next report', async () => {
  await begin()
  for (const one of [hit, lacking]) await one.sees([event({ notBeforeAt: startAt + 480 * minute })])
  await world.pass(minute)
  await lacking.sees([])
  for (let i = 0; i < 4; i++) {
    await hit.sees([event({ notBeforeAt: startAt + 480 * minute })])
    await world.pass(minute)
  }
  expect(await endsAfter(10 * minute)).toBeLessThanOrEqual(13 * minute)
})

test('an approval just before the network of the affected VM fails stays, and Azure is told', async () => {
  await begin()
  elsewhere = [another]
  await hit.sees([shown])
  await lacking.sees([shown, another])
  await world.pass(minute)
  await pass(5 * minute, [hit], [lacking])
  await press(world, await forge(world), 'approve')
  // its beacon never gets this answer
  expect((await hit.sees([shown])).directives).toHaveLength(1)
  await pass(90 * second, [], [lacking])
  expect(await pass(20 * second, [hit])).toBeGreaterThan(0)
  expect((await world.store.readEvent({ fleet: 'prod', eventId }))?.epoch).toBe(1)
})

test('if all fall silent, it is lost once, even if an old document comes again', async () => {
  await begin()
  for (const one of [hit, lacking]) await one.sees([shown])
  await world.pass(minute)
  await lacking.sees([])
  await pass(9 * minute, [hit])
  for (let i = 1; i < 110; i++) {
    await hit.sees([shown], { ageMs: i * minute })
    await world.pass(minute)
  }
  expect(moments()).toEqual(['scheduled', 'lost'])
})

describe('the affected VM is silent', () => {
  test.each([true, false])(
    'others show the event, so people are reminded (goodbye: %s)',
    async (says) => {
      await begin(reminded(20))
      const third = new FakeBeacon(world, 'web_3')
      await all()
      await third.sees([shown])
      if (says) await hit.post({ ...hit.body([shown]), goodbye: 'removed' })
      await world.pass(minute)
      await pass(4 * minute + 30 * second, [other, third], [lacking])
      expect(moments()).toEqual(['scheduled', 'reminder'])
    },
  )

  test.each([0, 20 * second])(
    '%i ms after another VM lacked the event: others show it, so people are reminded',
    async (ms) => {
      await begin(reminded(20))
      const third = new FakeBeacon(world, 'web_3')
      await all()
      await third.sees([shown])
      await world.pass(minute)
      await hit.sees([shown])
      await world.pass(2 * second)
      await lacking.sees([])
      await pass(ms, [hit])
      await pass(4 * minute + 30 * second - ms, [other, third])
      expect(moments()).toEqual(['scheduled', 'reminder'])
    },
  )
})

describe('the affected VM misses a cancelled event, and the other document lags', () => {
  const shown = event({ notBeforeAt: startAt + 15 * minute })

  async function cancelled(hooks: boolean): Promise<void> {
    const state = { hook: 'prepare' as const, eventId, state: 'succeeded' as const, ageMs: 0 }
    const own = hooks ? { hooks: { available: ['prepare' as const], runs: [state] } } : {}
    await hit.sees([], own)
    for (let i = 0; i < 100; i += 2) {
      await hit.sees([], own)
      await other.sees(i < 50 ? [shown] : [])
      await world.pass(2 * second)
    }
    expect(await outcome()).toMatchObject({ phase: 'cancelled' })
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  }

  test('nobody is reminded of it', async () => {
    await begin(reminded(5))
    for (let i = 0; i < 9 * 60 + 40; i += 10) {
      for (const one of [hit, other]) await one.sees([shown])
      await world.pass(10 * second)
    }
    await cancelled(false)
  })

  test('no rule approves it', async () => {
    await begin({ policy: [{ match: {}, decide: 'approve', whenReady: true }] })
    for (let i = 0; i < 60; i += 2) {
      await hit.runs([shown], 'running')
      await other.sees([shown])
      await world.pass(2 * second)
    }
    await cancelled(true)
  })
})

test.each(both)(
  'an affected VM lacks it and %s, and another one shows it: people are reminded',
  async (_, goesOn) => {
    await begin(reminded(20))
    const wide = { ...shown, resources: ['web_0', 'web_2'] }
    for (const one of [hit, lacking]) await one.sees([wide])
    await world.pass(minute)
    await lacking.sees([])
    for (let at = 0; at < 4.5 * minute; at += 10 * second) {
      await hit.sees([wide])
      if (goesOn) await lacking.sees([])
      await world.pass(10 * second)
    }
    expect(moments()).toEqual(['scheduled', 'reminder'])
  },
)

test('an affected VM that lacked it before the event named it, and is silent: people are reminded', async () => {
  await begin(reminded(5))
  await hit.sees([shown])
  await other.sees([shown])
  await world.pass(10 * second)
  await other.sees([])
  await pass(2 * minute, [hit])
  // Azure adds the VM that is not heard any more
  const grown = { ...shown, resources: [...shown.resources, 'web_1'] }
  for (let at = 0; at < 22 * minute; at += 10 * second) {
    await hit.sees([grown])
    await world.pass(10 * second)
  }
  expect(moments()).toContain('reminder')
})
