// Alerts to owners whose channel does not accept them: what its fallback gets, and how the incident
// that an alert opened is closed.
import { beforeEach, expect, test } from 'vitest'
import { answer, down, gone, passInSteps, sentTo, textsTo } from '../../support/deliveries.ts'
import { minute, second, startRelay, world } from '../../support/relay.ts'
import { adminKey, FakeBeacon, hookSecret, routingKey, usualAnswer } from '../../support/world.ts'

const team = { kind: 'teams', url: 'https://teams.example/flow?sig=secret' }
const pager = { kind: 'pagerduty', routingKey, endpoint: 'https://pager.example/v2/enqueue' }
const hook = { kind: 'webhook', url: 'https://hook.example/in', secret: hookSecret }
let vms: FakeBeacon[]

async function start(channels: object, owners: string[]): Promise<void> {
  const routes = [{ match: {}, channels: ['hook'] }]
  await startRelay({ channels: { ...channels, hook } as never, routes, owners })
  world.relay.host.heartbeats = { paceMs: minute }
  vms = ['web_0', 'web_1', 'web_2'].map((vm) => new FakeBeacon(world, vm))
  for (const one of vms) await one.sees([])
}

/** Minutes in which only these VMs are heard. */
async function stays(minutes: number, alive: FakeBeacon[]): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    for (const one of alive) await one.sees([])
    await passInSteps(world, minute, 30 * second)
  }
}

/** What became of the incident about silent beacons. */
const incidents = (from = 0) =>
  sentTo(world, 'pager', from)
    .filter(({ json }) => json.dedup_key.includes('beacons_silent'))
    .map(({ json }) => json.event_action)

beforeEach(async () => {
  await start({ team: { ...team, fallback: 'pager' }, pager }, ['team'])
})

test('while the channel of the owners is down, its fallback gets each alert about silent VMs', async () => {
  answer(world, 'teams', down)
  await stays(60, vms.slice(1))
  expect(textsTo(world, 'pager').filter((text) => text.includes('silent'))).not.toEqual([])
  const before = world.sent.length
  await stays(60, vms.slice(2))
  expect(textsTo(world, 'pager', before).join()).toContain('web_1')
})

test("a fallback that opened an incident closes it, though the owners' channel works by then", async () => {
  answer(world, 'teams', down)
  await stays(20, vms.slice(1))
  world.channels.answer = usualAnswer
  await stays(60, vms.slice(1))
  await stays(20, vms)
  expect(textsTo(world, 'teams').at(-1)).toContain('Back: 1 beacon')
  expect(incidents()).toEqual(['trigger', 'resolve'])
})

test('if more VMs fall silent, people who acknowledged the first incident are paged again', async () => {
  await start({ pager }, ['pager'])
  await stays(30, vms.slice(1))
  await stays(30, vms.slice(2))
  await stays(30, vms.slice(1))
  await stays(30, vms)
  const [first, second] = ['', '/2'].map((which) => `foghorn/alert/prod/beacons_silent/1${which}`)
  expect(sentTo(world, 'pager').map(({ json }) => [json.event_action, json.dedup_key])).toEqual([
    ['trigger', first],
    ['trigger', second],
    ['resolve', first],
    ['resolve', first],
    ['resolve', second],
  ])
})

test('each trouble of a channel is an incident, as nobody may have resolved the last one', async () => {
  for (let i = 0; i < 2; i++) {
    answer(world, 'teams', down)
    await stays(20, vms.slice(1))
    world.channels.answer = usualAnswer
    await stays(120, vms)
  }
  const keys = sentTo(world, 'pager').map(({ json }) => json.dedup_key)
  expect(new Set(keys.filter((key) => key.startsWith('foghorn/channel/team'))).size).toBe(2)
})

test('a replay does not open the incident of an alert that is over', async () => {
  await start({ pager: { ...pager, fallback: 'team' }, team }, ['pager'])
  const since = new Date(world.clock.now).toISOString()
  answer(world, 'pager', gone)
  await stays(60, vms.slice(1))
  world.channels.answer = usualAnswer
  await stays(60, vms)
  const before = world.sent.length
  await replay(since)
  await stays(5, vms)
  expect(incidents(before)).toEqual([])
})

test('an alert to a channel that is renamed meanwhile goes to the owners of the day', async () => {
  await start({ team }, ['team'])
  answer(world, 'teams', down)
  await stays(10, vms.slice(1))
  const { config } = world.relay
  config.channels.ops = config.channels.team!
  delete config.channels.team
  config.owners = ['ops']
  world.channels.answer = usualAnswer
  const before = world.sent.length
  await stays(10, vms.slice(1))
  expect(textsTo(world, 'teams', before).join()).toContain('silent')
})

/** As an owner does after the repair. */
async function replay(since: string): Promise<void> {
  const response = await world.app.request('/v1/deliveries/replay', {
    ...{ method: 'POST', headers: { authorization: `Bearer ${adminKey}` } },
    body: JSON.stringify({ channel: 'pager', since }),
  })
  expect(await response.json()).toEqual({ replayed: 1 })
}
