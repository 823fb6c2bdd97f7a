// What the laws of events must get right, one timeline each: what beacons report, minute by minute,
// and which messages people get of it. A timeline names a scenario of real fleets.
import { describe, expect, test } from 'vitest'
import type { Change } from '../../shared/report.ts'
import { sentTo } from '../support/deliveries.ts'
import { forge, press } from '../support/people.ts'
import { minute, moments, outcome, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, started } from '../support/world.ts'

const notBeforeAt = startAt + 5 * minute
const shown = (changes: Parameters<typeof event>[0] = {}) => event({ notBeforeAt, ...changes })

async function begin(config: object = {}, vms = ['web_0', 'web_1', 'web_2']) {
  await startRelay(config)
  return vms.map((vm) => new FakeBeacon(world, vm))
}

type Document = Parameters<FakeBeacon['sees']>[0]

/** These VMs report this document every 2 s. Returns the VMs that were told to start the event. */
async function pass(ms: number, beacons: FakeBeacon[], document: Document): Promise<string[]> {
  const directed: string[] = []
  for (let at = 0; at < ms; at += 2 * second) {
    for (const one of beacons) {
      const { directives } = await one.sees(document)
      if (directives.length > 0) directed.push(one.name)
    }
    await world.pass(2 * second)
  }
  return directed
}

/** Time passes, and nobody reports. */
async function silence(ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10 * second) await world.pass(10 * second)
}

/** The VM restarts: its beacon has a new boot, and so does its operating system. */
function restart(one: FakeBeacon, uptimeMs = 20 * second): void {
  one.bootId = crypto.randomUUID()
  one.counter = 0
  one.uptimeMs = uptimeMs
}

function accepted(one: FakeBeacon, document: Document) {
  return one.sees(document, {
    starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }],
  })
}

describe.each(['Redeploy', 'Terminate'])(
  '%s: a VM is killed before it sees Started',
  (eventType) => {
    test('onlookers see the start and the end, and people get each once', async () => {
      const [hit, ...others] = await begin()
      const scheduled = shown({ eventType })
      await pass(5 * minute, [hit!, ...others], [scheduled])
      await pass(60 * second, others, [started({ eventType })])
      await pass(3 * minute, others, [])
      expect(moments()).toEqual(['scheduled', 'started', 'completed'])
      expect(await outcome()).toMatchObject({ phase: 'completed' })
    })
  },
)

test('a reboot of more than 2 min beside a neighbor: started, and completed once', async () => {
  const [hit, other] = await begin()
  await pass(5 * minute, [hit!, other!], [shown()])
  await pass(4 * minute, [other!], [started()])
  restart(hit!)
  await pass(10 * second, [hit!, other!], [started()])
  await pass(2 * minute, [hit!, other!], [])
  expect(moments()).toEqual(['scheduled', 'started', 'completed'])
  expect(await outcome()).toMatchObject({ phase: 'completed' })
})

test('an owner reboots a hung VM: neighbors report it, the rule approves, one of them tells Azure', async () => {
  const policy = [{ match: { source: 'User' }, decide: 'approve' }]
  const [, ...others] = await begin({ policy })
  const scheduled = shown({ source: 'User' })
  const directed = await pass(10 * second, others, [scheduled])
  expect(directed.length).toBeGreaterThan(0)
  expect(moments()).toEqual(['scheduled', 'approved'])
})

test('no affected VM has a beacon: onlookers carry the event from the first message to the end', async () => {
  const others = await begin({}, ['web_1', 'web_2'])
  await pass(minute, others, [shown()])
  await press(world, await forge(world), 'approve')
  const directed = await pass(4 * second, others, [shown()])
  expect(directed.length).toBeGreaterThan(0)
  await accepted(others[0]!, [shown()])
  await pass(20 * second, others, [started()])
  await pass(minute, others, [])
  expect(moments()).toEqual(['scheduled', 'approved', 'started', 'completed'])
})

test('a VM that restarted during the event, and again before it is over: completed', async () => {
  const all = await begin()
  const both = shown({ resources: all.slice(0, 2).map(({ name }) => name) })
  await pass(10 * second, all.slice(0, 2), [both])
  await silence(30 * second)
  restart(all[0]!)
  await all[0]!.sees([])
  // the other VM is silent, so the relay waits for it
  await silence(30 * second)
  restart(all[0]!, second)
  await pass(30 * second, all.slice(0, 2), [])
  expect(await outcome()).toMatchObject({
    phase: 'completed',
    inferred: 'start_not_seen_vm_rebooted',
  })
})

test('the polls of a beacon fail while its event ends: a failed poll ends nothing', async () => {
  const [hit] = await begin()
  await pass(10 * second, [hit!], [started()])
  await pass(40 * second, [hit!], null)
  expect(await outcome()).toEqual({ phase: 'started' })
  await pass(20 * second, [hit!], [])
  expect(moments()).toEqual(['started', 'completed'])
})

test('Azure moves NotBefore and moves it back: both are changes', async () => {
  const [hit, ...others] = await begin()
  const all = [hit!, ...others]
  await pass(10 * second, all, [shown({ notBeforeAt: startAt + 15 * minute })])
  await pass(10 * second, all, [shown({ notBeforeAt: startAt + 30 * minute })])
  await pass(10 * second, all, [shown({ notBeforeAt: startAt + 15 * minute })])
  expect(moments()).toEqual(['scheduled', 'changed', 'changed'])
})

test('after "not now", no rule approves, even if the event disappears for 11 s', async () => {
  const policy = [{ match: { source: 'User' }, decide: 'approve' }]
  const [hit] = await begin({ policy })
  await pass(10 * second, [hit!], [shown()])
  await press(world, await forge(world), 'not_now')
  await pass(12 * second, [hit!], [])
  const directed = await pass(minute, [hit!], [shown({ source: 'User' })])
  expect(directed).toEqual([])
  expect(moments()).toEqual(['scheduled', 'declined', 'cancelled', 'scheduled'])
})

test('two VMs have one name, in two groups: the one that lacks the event does not end it', async () => {
  await begin()
  const vm = (resourceGroup: string) => ({ vmId: resourceGroup, resourceGroup })
  const here = new FakeBeacon(world, 'web_0', { vm: vm('here') })
  const elsewhere = new FakeBeacon(world, 'web_0', { vm: vm('elsewhere') })
  for (let at = 0; at < 3 * minute; at += 2 * second) {
    await here.sees([shown()])
    await elsewhere.sees([])
    await world.pass(2 * second)
  }
  expect(moments()).toEqual(['scheduled'])
  await pass(minute, [here, elsewhere], [])
  expect(moments()).toEqual(['scheduled', 'cancelled'])
})

test('a Redeploy keeps a lone VM away for 12 min: lost, then completed once it is back', async () => {
  const [hit] = await begin()
  const scheduled = shown({ eventType: 'Redeploy' })
  await pass(5 * minute, [hit!], [scheduled])
  await silence(12 * minute)
  expect(moments()).toEqual(['scheduled', 'lost'])
  restart(hit!)
  await pass(minute, [hit!], [])
  expect(moments()).toEqual(['scheduled', 'lost', 'completed'])
  expect(await outcome()).toMatchObject({ phase: 'completed' })
})

test('100 affected VMs report within 2 s: one message for each channel', async () => {
  const vms = Array.from({ length: 100 }, (_, i) => `web_${i}`)
  const beacons = await begin({}, vms)
  const document = [shown({ resources: vms })]
  await Promise.all(beacons.map((one) => one.sees(document)))
  await world.drain()
  for (const host of ['slack', 'teams', 'pager', 'hook']) {
    expect(sentTo(world, host)).toHaveLength(1)
  }
})

test('the relay is away over an announcement and a start: people hear that it runs, with notice', async () => {
  const [hit, other] = await begin()
  for (const one of [hit!, other!]) await one.sees([])
  world.clock.now += 130 * second
  world.relay.listeningSince = world.clock.now
  const { eventId: _, ...rest } = shown()
  const changes: Change[] = [
    { kind: 'appeared', ageMs: 120_000, firstPoll: false, event: { eventId, ...rest } },
    { kind: 'changed', ageMs: 30_000, firstPoll: false, event: started() },
  ]
  for (const one of [hit!, other!]) await one.sees([started()], { changes })
  await world.drain()
  expect(moments()).toEqual(['started'])
  const [message] = sentTo(world, 'hook')
  expect(message!.json.data.startKind).not.toBe('none')
})

test('tags become known after the first message: the channel that they route to is notified', async () => {
  const routes = [
    { match: { tag: ['team=db'] }, channels: ['team'] },
    { match: {}, channels: ['hook'] },
  ]
  await begin({ routes })
  const onlooker = new FakeBeacon(world, 'web_1')
  await pass(10 * second, [onlooker], [shown()])
  expect(sentTo(world, 'teams')).toHaveLength(0)
  const hit = new FakeBeacon(world, 'web_0', { vm: { tags: { team: 'db' } } })
  await pass(4 * second, [hit, onlooker], [shown()])
  expect(sentTo(world, 'teams')).toHaveLength(1)
  expect(moments()).toEqual(['scheduled'])
})

test('tags become known with a reminder: the channel that they route to is notified all the same', async () => {
  const routes = [
    { match: { tag: ['team=db'] }, channels: ['team'] },
    { match: {}, channels: ['hook'], remindBeforeSeconds: [60] },
  ]
  await begin({ routes })
  const onlooker = new FakeBeacon(world, 'web_1')
  await pass(10 * second, [onlooker], [shown()])
  world.clock.now = startAt + 4 * minute + second
  const hit = new FakeBeacon(world, 'web_0', { vm: { tags: { team: 'db' } } })
  await hit.sees([shown()])
  await world.drain()
  expect(moments()).toEqual(['scheduled', 'reminder'])
  expect(sentTo(world, 'teams')).toHaveLength(1)
})

test('a change that the newest document does not show waits for the document', async () => {
  const [hit, lagging] = await begin()
  const both = shown({ resources: ['web_0', 'web_1'] })
  await pass(4 * second, [hit!, lagging!], [both])
  const { eventId: _, ...rest } = { ...both, eventType: 'Redeploy' as const }
  const change = { ...rest, eventId }
  const changes: Change[] = [{ kind: 'changed', ageMs: 1_000, firstPoll: false, event: change }]
  // the poll after the change failed
  await hit!.sees(null, { changes })
  await pass(4 * second, [lagging!], [both])
  await pass(4 * second, [hit!], [change])
  expect(moments()).toEqual(['scheduled', 'changed'])
})

test('a VM takes every directive and never tells Azure: another VM gets it, and people hear of it', async () => {
  const all = await begin()
  await pass(10 * second, all, [shown()])
  await press(world, await forge(world), 'approve')
  const directed = await pass(40 * second, all, [shown()])
  expect(new Set(directed).size).toBeGreaterThan(1)
  expect(moments()).toEqual(['scheduled', 'approved', 'stuck'])
})
