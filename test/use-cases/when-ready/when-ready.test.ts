// Rules with `whenReady`: they approve once every affected VM is ready, and otherwise people are
// asked in time.
import { beforeEach, describe, expect, test } from 'vitest'
import { drillSchema, startDrill } from '../../../functions/use-cases/run-drill.ts'
import { sentTo } from '../../support/deliveries.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  startAt,
  type World,
} from '../../support/world.ts'

const minute = 60_000
const rule = { name: 'drained', match: {}, decide: 'approve', whenReady: true }
const both = event({ resources: ['web_0', 'web_1'] })
const key = { fleet: 'prod', eventId }

let world: World
let web0: FakeBeacon
let web1: FakeBeacon

beforeEach(() => begin())

async function begin(config: object = {}) {
  world = await createWorld({ config: { policy: [rule], ...config } })
  web0 = new FakeBeacon(world, 'web_0')
  web1 = new FakeBeacon(world, 'web_1')
}

const recordNow = async () => (await world.store.readEvent(key))!
const moments = () => world.told().map((type) => type.split('.').at(-1))

/** Lets time pass while all beacons report what they last did. */
async function wait(ms: number, ...reporting: (() => Promise<unknown>)[]): Promise<void> {
  for (let left = ms; left > 0; left -= minute) {
    await world.pass(Math.min(left, minute))
    for (const report of reporting) await report()
    await world.drain()
  }
}

test('approves once the last VM is ready, and not before', async () => {
  await web0.runs([both], 'running')
  await web1.runs([both], 'planned')
  await world.pass(20_000)
  expect((await recordNow()).decided).toBeUndefined()
  await web0.runs([both], 'succeeded')
  await world.pass(10_000)
  expect((await recordNow()).decided).toBeUndefined()
  expect(moments()).toEqual(['scheduled'])

  const { directives } = await web1.runs([both], 'succeeded')
  expect(directives.map((one) => one.eventId)).toEqual([eventId])
  await world.drain()
  expect((await recordNow()).decided).toMatchObject({ how: 'policy', who: 'drained' })
  expect(moments()).toEqual(['scheduled', 'approved'])
})

test('if the relay died before it stored that the VM is ready, the end of the event ends no approval', async () => {
  const own = event()
  await web0.runs([own], 'running')
  const { writeBeacon } = world.store
  world.store.writeBeacon = async () => {
    throw new Error('the process is dead')
  }
  await expect(web0.runs([own], 'succeeded')).rejects.toThrow('500')
  world.store.writeBeacon = writeBeacon.bind(world.store)
  expect((await recordNow()).decided).toMatchObject({ who: 'drained' })
  await world.pass(10_000)
  await web0.sees([], { hooks: { available: ['prepare'], runs: [] } })
  expect((await recordNow()).decided).toMatchObject({ who: 'drained' })
})

test.each<[string, { eventType?: string }]>([['a beacon', { eventType: 'Freeze' }]])(
  'VMs of %s that prepared for another type are not ready',
  async (_, own) => {
    const freeze = { ...both, eventType: 'Freeze' }
    for (const one of [web0, web1]) await one.runs([freeze], 'planned')
    await web0.runs([freeze], 'succeeded', own)
    await world.pass(20_000)
    await web0.runs([both], 'succeeded', { ageMs: 20_000, ...own })
    await web1.runs([both], 'succeeded', { eventType: 'Reboot' })
    await world.pass(70_000)
    expect((await recordNow()).decided).toBeUndefined()
    expect((await recordNow()).wait.readiness?.counts).toEqual({ planned: 1, ready: 1 })
    await web0.runs([both], 'succeeded', { eventType: 'Reboot' })
    expect((await recordNow()).decided).toMatchObject({ who: 'drained' })
  },
)

test('no message follows from a change of readiness alone', async () => {
  await web0.runs([both], 'planned')
  await web1.runs([both], 'planned')
  await world.pass(10_000)
  await web0.runs([both], 'running')
  await web0.runs([both], 'succeeded')
  await world.pass(10_000)
  expect(moments()).toEqual(['scheduled'])
  expect((await recordNow()).wait.readiness).toMatchObject({ counts: { ready: 1, planned: 1 } })
})

describe('asks people at once', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ['if a hook fails', () => web1.runs([both], 'failed', { exitCode: 3, note: 'busy' }), 'failed'],
    ['if a hook is refused', () => web1.runs([both], 'refused'), 'refused'],
    ['if a VM has no hook', () => web1.sees([both]), 'no_hook'],
    [
      'if a runner has no hook for it',
      () => web1.sees([both], { hooks: { available: ['restore'], runs: [] } }),
      'no_hook',
    ],
  ])('%s', async (_, report, state) => {
    await web0.runs([both], 'succeeded')
    await world.drain()
    await report()
    await world.drain()
    const { policy, wait, history } = await recordNow()
    const { notReady, readiness } = wait
    expect(moments()).toEqual(['scheduled', 'not_ready'])
    expect(policy).toMatchObject({ decide: 'ask', rule: 'drained' })
    expect(notReady).toEqual({ at: startAt, rule: 'drained', why: 'cannot_be_ready' })
    expect(readiness?.unready).toMatchObject([{ vm: 'web_1', state }])
    expect(history.map(({ what }) => what)).toContain('not_ready')
  })

  test('in the first message, if the first VM to report has no hook', async () => {
    await web0.sees([event()])
    await world.drain()
    // a program counts on every step
    expect(moments()).toEqual(['scheduled', 'not_ready'])
    expect(sentTo(world, 'slack')).toHaveLength(1)
    const { text } = world.sent
      .map(({ json }) => json as { text?: string })
      .find((one) => one.text)!
    expect(text).toContain('Policy rule "drained" did not approve it')
  })

  test('also in a channel whose route names this moment only', async () => {
    const routes = [
      { match: {}, channels: ['chat'] },
      { match: {}, channels: ['hook'], moments: ['not_ready'] },
    ]
    await begin({ routes })
    await web0.sees([event()])
    await world.drain()
    expect(moments()).toEqual(['not_ready'])
  })

  test('once, and then people decide, even if all VMs are ready later', async () => {
    await web0.runs([both], 'succeeded')
    await web1.runs([both], 'failed')
    await world.drain()
    await web1.runs([both], 'succeeded')
    await wait(
      5 * minute,
      () => web0.runs([both], 'succeeded'),
      () => web1.runs([both], 'succeeded'),
    )
    expect((await recordNow()).decided).toBeUndefined()
    expect(moments()).toEqual(['scheduled', 'not_ready'])
  })
})

test('once people were asked, a rule that does not wait approves nothing, either', async () => {
  const short = { name: 'freezes', match: { eventType: 'Freeze' }, decide: 'approve' }
  await begin({ policy: [short, rule] })
  await web0.runs([both], 'failed')
  await web1.runs([both], 'succeeded')
  expect((await recordNow()).wait.notReady).toBeDefined()
  const freeze = { ...both, eventType: 'Freeze' }
  const report = () => Promise.all([web0.sees([freeze]), web1.sees([freeze])])
  await report()
  await wait(2 * minute, report)
  const { facts, policy, decided, wait: waits } = await recordNow()
  expect(facts.eventType).toBe('Freeze')
  expect(policy).toMatchObject({ decide: 'ask', rule: 'freezes' })
  expect(decided).toBeUndefined()
  expect(waits.notReady?.rule).toBe('drained')
})

describe('asks people in time', () => {
  const due = both.notBeforeAt!

  test('if a hook still runs a minute before NotBefore', async () => {
    const report = () => web0.runs([both], 'running')
    await report()
    await web1.runs([both], 'succeeded')
    const alive = [report, () => web1.runs([both], 'succeeded')]
    await wait(due - minute - 1_000 - world.clock.now, ...alive)
    expect(moments()).toEqual(['scheduled'])
    await world.pass(1_000)
    expect(moments()).toEqual(['scheduled', 'not_ready'])
    expect((await recordNow()).wait.notReady?.why).toBe('not_ready_in_time')
  })

  test('with less notice, a third of it before NotBefore', async () => {
    const soon = event({ notBeforeAt: startAt + 30_000 })
    await web0.runs([soon], 'running')
    await world.pass(19_000)
    expect(moments()).toEqual(['scheduled'])
    await world.pass(1_000)
    expect(moments()).toEqual(['scheduled', 'not_ready'])
  })

  test('if a VM never reports: after two minutes', async () => {
    await web0.runs([both], 'succeeded')
    await wait(2 * minute - 1_000, () => web0.runs([both], 'succeeded'))
    expect(moments()).toEqual(['scheduled'])
    await world.pass(1_000)
    expect(moments()).toEqual(['scheduled', 'not_ready'])
    expect((await recordNow()).wait.readiness?.unready).toMatchObject([
      { vm: 'web_1', state: 'silent' },
    ])
  })

  test('days ahead, not if a beacon is away for a while', async () => {
    const far = { ...both, notBeforeAt: startAt + 2 * 86_400_000 }
    await web1.runs([far], 'planned')
    await wait(10 * minute, () => web0.runs([far], 'planned'))
    expect(moments()).toEqual(['scheduled'])
  })

  test('if Azure moves NotBefore, then later', async () => {
    await web0.runs([both], 'running')
    await web1.runs([both], 'succeeded')
    const later = { ...both, notBeforeAt: due + 60 * minute }
    await web0.runs([later], 'running')
    await wait(
      due - world.clock.now,
      () => web0.runs([later], 'running'),
      () => web1.runs([later], 'succeeded'),
    )
    expect(moments()).toEqual(['scheduled', 'changed'])
  })
})

test('an event that names no VM is never approved', async () => {
  const unnamed = event({ resources: [] })
  await web0.sees([unnamed])
  await world.drain()
  expect((await recordNow()).wait.notReady).toMatchObject({ why: 'cannot_be_ready' })
})

test('a VM that Azure adds must be ready, too', async () => {
  const one = event()
  await web0.runs([one], 'running')
  await world.drain()
  await web0.runs([both], 'succeeded')
  await world.drain()
  expect((await recordNow()).decided).toBeUndefined()
  await web1.runs([both], 'succeeded')
  await world.drain()
  expect((await recordNow()).decided?.scope?.resources).toEqual(['web_0', 'web_1'])
})

test('the time of a state does not move with each report', async () => {
  const since = async () => (await recordNow()).wait.readiness?.unready[0]?.since
  await web0.runs([event()], 'running', { ageMs: 400 })
  const first = await since()
  const { sequence } = await recordNow()
  world.clock.now += 2_000
  await web0.runs([event()], 'running', { ageMs: 2_390 })
  expect(await since()).toBe(first)
  expect((await recordNow()).sequence).toBe(sequence)
})

test('after the end, the record learns how "restore" went', async () => {
  const one = event()
  await web0.runs([one], 'succeeded')
  await world.drain()
  await wait(2 * minute, () => web0.sees([]))
  expect((await recordNow()).ended).toBeDefined()
  const told = moments()
  await web0.runs([], 'failed', { eventId, hook: 'restore', exitCode: 1 })
  await world.pass(minute)
  const { ended, wait: waits } = await recordNow()
  expect(ended).toBeDefined()
  expect(waits.readiness).toMatchObject({
    counts: { ready: 1 },
    restore: { counts: { failed: 1 }, failed: [{ vm: 'web_0', exitCode: 1 }] },
  })
  expect(moments()).toEqual(told)
})

test('a run for an event that its VM never saw changes nothing', async () => {
  await web0.runs([event()], 'running')
  const { sequence } = await recordNow()
  const other = await web1.runs([], 'succeeded', { eventId })
  expect(other.preparations).toEqual([])
  expect((await recordNow()).sequence).toBe(sequence)
})

test('a drill runs no hooks, so people are asked', async () => {
  const wish = drillSchema.parse({ fleet: 'prod', type: 'Reboot' })
  await startDrill(world.relay, wish, 'one')
  await world.drain()
  const drill = await world.store.readEvent({ fleet: 'prod', eventId: 'drill-one' })
  expect(drill).toMatchObject({ policy: { decide: 'ask', rule: 'drained' } })
  expect(moments()).toEqual(['scheduled'])
})

test('without hooks and without such a rule, nothing is kept', async () => {
  await begin({ policy: [] })
  await web0.sees([both])
  await web1.sees([both], { hooks: { available: [], runs: [] } })
  await world.pass(minute)
  expect((await recordNow()).wait).toEqual({})
})

test('hooks without such a rule are shown, and change no decision', async () => {
  await begin({ policy: [] })
  const { preparations } = await web0.runs([both], 'running')
  expect(preparations).toEqual([])
  await web1.sees([both])
  await world.drain()
  expect(moments()).toEqual(['scheduled'])
  const { body } = await world.getEvent(eventId)
  expect(body.readiness).toMatchObject({ counts: { preparing: 1, no_hook: 1 } })
  expect(body.seenBy[0]).toMatchObject({ vm: 'web_0', hooks: { prepare: { state: 'running' } } })
})

test('people who are asked are told what holds the preparation up', async () => {
  const note = 'held up by shop/db-0 (disruption budget)'
  const reports = [() => web0.runs([both], 'running', { note }), () => web1.runs([both], 'running')]
  for (const report of reports) await report()
  await wait(14 * minute, ...reports)
  const asked = world.sent.filter(({ body }) => body.includes('Not ready')).at(-1)!
  expect(asked.body).toContain('web_0 and web_1 are preparing.')
  expect(asked.body).toContain(`On web_0: \\"${note}\\".`)
})

describe('a beacon that says falsely that a VM is ready', () => {
  const one = event({ resources: ['web_0'] })

  test.each([
    ['under its id', {}],
    ['under its name', { vm: { vmId: 'another' } }],
  ])('%s: the VM whose hook runs is not started, and people are asked', async (_, as) => {
    await web0.sees([])
    await world.pass(minute)
    await new FakeBeacon(world, 'web_0', as).runs([one], 'succeeded')
    await world.pass(6_000)
    expect((await recordNow()).decided).toMatchObject({ how: 'policy' })
    web0.bootId = crypto.randomUUID()
    for (let i = 0; i < 3; i++) {
      expect((await web0.runs([one], 'running')).directives).toEqual([])
      await world.pass(6_000)
    }
    expect((await recordNow()).decided).toBeUndefined()
    expect(moments()).toContain('changed')
  })

  test('and that it told Azure: after a minute, people are asked, and no beacon starts it', async () => {
    const one = event({ resources: ['web_0'], notBeforeAt: startAt + 8 * minute })
    const run = { hook: 'prepare' as const, ageMs: 0, eventId, state: 'succeeded' as const }
    const hooks = { available: ['prepare' as const], runs: [run] }
    const liar = new FakeBeacon(world, 'web_0', { vm: { vmId: 'another' } })
    await liar.sees([one], { hooks })
    await liar.sees([one], {
      hooks,
      starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }],
    })
    expect((await recordNow()).azure.accepted).toBeDefined()
    for (let i = 0; i < 20; i++) {
      expect((await web0.runs([one], 'running')).directives).toEqual([])
      expect((await web1.sees([one])).directives).toEqual([])
      await world.pass(5_000)
    }
    expect((await recordNow()).decided).toBeUndefined()
    expect(moments()).toContain('changed')
  })
})
