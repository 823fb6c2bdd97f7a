// A relay with a lifelike day of a company: three fleets, open events in every state, half a year of
// history, channels in trouble and subscriptions. For pictures and tests of the console.
import { jobs } from '../../functions/use-cases/jobs.ts'
import { sweep } from '../../functions/use-cases/sweep.ts'
import { createToken } from '../../functions/use-cases/tokens.ts'
import { askApi } from '../support/tokens.ts'
import {
  adminKey,
  createWorld,
  event,
  FakeBeacon,
  startAt,
  started,
  testKey,
  type World,
} from '../support/world.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** `publicUrl` is of this machine, so that browsers keep the cookies without TLS. */
export const consoleConfig = {
  publicUrl: 'http://127.0.0.1:7071',
  fleets: {
    prod: {
      key: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      expectedBeacons: [
        'web_0',
        'web_1',
        'web_2',
        'web_3',
        'web_4',
        'web_5',
        'db_0',
        'db_1',
        'db_2',
      ],
    },
    payments: { key: testKey },
    batch: { key: 'whsec_YmF0Y2hiYXRjaGJhdGNoYmF0Y2hiYXRjaGJhdGNo' },
  },
  channels: {
    'ops-chat': { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' },
    'on-call': {
      kind: 'pagerduty',
      routingKey: '0123456789abcdef0123456789abcdef',
      endpoint: 'https://pager.example/v2/enqueue',
      fallback: 'ops-chat',
    },
    'dba-team': {
      kind: 'teams',
      url: 'https://teams.example/workflow?sig=teams-secret',
      fallback: 'ops-chat',
    },
    inventory: {
      kind: 'webhook',
      url: 'https://hook.example/in',
      secret: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
    },
  },
  policy: [
    { name: 'own reboots', match: { source: 'User' }, decide: 'approve' },
    {
      name: 'short freezes',
      match: { eventType: 'Freeze', maxDurationSeconds: 8 },
      decide: 'approve',
    },
    { name: 'spot VMs', match: { eventType: 'Preempt' }, decide: 'notify' },
  ],
  routes: [
    { match: {}, channels: ['ops-chat', 'inventory'] },
    { match: { fleet: ['prod', 'payments'] }, channels: ['on-call'], remindBeforeSeconds: [300] },
    { match: { resource: 'db_*' }, channels: ['dba-team'] },
  ],
}

const keys = Object.fromEntries(
  Object.entries(consoleConfig.fleets).map(([name, { key }]) => [name, key]),
)

const scaleSetOf = (vm: string) => vm.replace(/_\d+$/, '')

/** Of a version that the relay supports. */
class ReleasedBeacon extends FakeBeacon {
  override body(...of: Parameters<FakeBeacon['body']>) {
    const report = super.body(...of)
    return { ...report, beacon: { ...report.beacon, version: '0.1.0' } }
  }
}

function beaconIn(world: World, fleet: string, name: string): FakeBeacon {
  const vm = { scaleSet: scaleSetOf(name), resourceGroup: `${fleet}-rg` }
  return new ReleasedBeacon(world, name, { fleet, key: keys[fleet]!, vm })
}

const idOf = (n: number) =>
  `${(0xc7061bac + n * 7919).toString(16)}-afdc-4513-b24b-${(0xaa5f13a16123 + n * 104729).toString(16)}`

type Sees = Parameters<typeof event>[0]

/** The same history each time: a small generator of numbers from a seed. */
function numbers(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

async function past(world: World, beacons: Map<string, FakeBeacon>, count: number): Promise<void> {
  const pick = numbers(7)
  const types = ['Reboot', 'Redeploy', 'Freeze', 'Freeze', 'Preempt', 'Terminate']
  const names = [...beacons.keys()]
  const begin = startAt - 175 * day
  for (let i = 0; i < count; i++) {
    world.clock.now = begin + Math.floor((i / count) * 174 * day) + pick(6) * hour
    const name = names[Math.floor((pick(100) * pick(100) * names.length) / 10_000)]!
    const [fleet = '', vm = ''] = name.split('/')
    const beacon = beacons.get(name)!
    const eventType = types[pick(types.length)]!
    const notBeforeAt =
      world.clock.now + (eventType === 'Preempt' ? 30_000 : (10 + pick(7)) * minute)
    const own = {
      eventId: idOf(i + 100),
      eventType,
      resources: [vm],
      notBeforeAt,
      durationSeconds: pick(3) === 0 ? 5 : -1,
    }
    await beacon.sees([event(own)])
    await world.drain()
    world.clock.now += (1 + pick(6)) * minute
    const kind = pick(10)
    if (kind < 6) {
      await world.relay.store.readEvent({ fleet, eventId: own.eventId })
      await decide(world, fleet, own.eventId, kind === 5 ? 'not_now' : 'approve')
    }
    world.clock.now += 20_000
    if (kind === 9) await beacon.sees([])
    else {
      world.clock.now = Math.max(world.clock.now, kind < 5 ? 0 : notBeforeAt)
      await beacon.sees([started(own)])
      await world.drain()
      world.clock.now += (1 + pick(5)) * minute
      await beacon.sees([])
    }
    await world.pass(minute)
  }
}

async function decide(world: World, fleet: string, eventId: string, decision: string) {
  const headers = {
    authorization: `Bearer ${world.relay.credentials.adminKey}`,
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ decision })
  await world.app.request(`/v1/events/${fleet}/${eventId}/decision`, {
    method: 'POST',
    headers,
    body,
  })
}

const vmsOf: Record<string, string[]> = {
  prod: ['web_0', 'web_1', 'web_2', 'web_3', 'web_4', 'db_0', 'db_1', 'db_2', 'cache_0', 'cache_1'],
  payments: ['ledger_0', 'ledger_1', 'ledger_2', 'gateway_0'],
  batch: ['spot_0', 'spot_1', 'spot_2', 'spot_3', 'train_0'],
}

interface Options {
  /** Events of the last half year. */
  events?: number
  /** What is open now. `few`: two events. Default: one in each state. */
  open?: 'none' | 'few' | 'all'
  /** Further open events, as an update of many hosts brings them. */
  further?: number
}

export async function consoleWorld(options: Options = {}): Promise<World> {
  const { events = 40, open = 'all', further = 0 } = options
  const world = await createWorld({ config: consoleConfig })
  const beacons = new Map<string, FakeBeacon>()
  world.clock.now = startAt - 176 * day
  for (const [fleet, vms] of Object.entries(vmsOf)) {
    for (const vm of vms) beacons.set(`${fleet}/${vm}`, beaconIn(world, fleet, vm))
  }
  await past(world, beacons, events)
  world.clock.now = startAt - 9 * minute
  const of = (name: string) => beacons.get(name)!
  const at = (ms: number) => startAt + ms
  const silent = ['prod/web_4', 'batch/spot_3']
  for (const [name, beacon] of beacons) if (!silent.includes(name)) await beacon.sees([])
  const wish = (url: string, description: string) =>
    askApi(world, adminKey, '/v1/subscriptions', {
      ...{ method: 'POST', body: { url, description, fleets: ['prod'] } },
    })
  await wish('https://hook.cmdb.example/maintenance', 'Inventory of the platform team')
  await wish('https://autoscaler.example/events', 'Drains nodes of the batch cluster')
  await world.drain()
  if (open === 'all') await present(world, of, at)
  else await calm(world, beacons, at, open === 'few')
  await crowd(world, further, at)
  for (const job of jobs) await job.run(world.relay)
  // what time brings, such as that nobody can tell Azure
  await sweep(world.relay)
  await world.drain()
  await createToken(world.relay, { by: 'admin' }, { name: 'wall screen', scopes: ['read'] })
  return world
}

const longName = 'a-virtual-machine-whose-name-has-40-char'

/** Three of four are freezes of one scale set, the others of VMs of their own. */
async function crowd(world: World, count: number, at: (ms: number) => number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const name = i === 3 ? longName : i % 4 === 3 ? `job_${i}` : `edge_${i}`
    const own = {
      eventId: idOf(1_000 + i),
      eventType: i % 4 === 3 ? 'Reboot' : 'Freeze',
      resources: [name],
      notBeforeAt: at((11 + (i % 7)) * minute),
      durationSeconds: i % 4 === 3 ? -1 : 30,
    }
    await beaconIn(world, i % 4 === 3 ? 'batch' : 'prod', name).sees([event(own)])
  }
  await world.drain()
}

/** All VMs report. */
async function calm(
  world: World,
  beacons: Map<string, FakeBeacon>,
  at: (ms: number) => number,
  isAnyOpen: boolean,
): Promise<void> {
  const few = [
    { eventId: idOf(1), resources: ['web_3'], notBeforeAt: at(6 * minute) },
    { eventId: idOf(2), eventType: 'Freeze', resources: ['db_1'], notBeforeAt: at(14 * minute) },
  ]
  beacons.set('prod/web_5', beaconIn(world, 'prod', 'web_5'))
  for (const moment of [-minute, 0]) {
    world.clock.now = at(moment)
    for (const [name, beacon] of beacons) {
      const own = few.filter(({ resources: [vm] }) => isAnyOpen && name === `prod/${vm}`)
      await beacon.sees(own.map((one) => event(one)))
    }
    await world.drain()
  }
}

async function present(
  world: World,
  of: (name: string) => FakeBeacon,
  at: (ms: number) => number,
): Promise<void> {
  const see = (name: string, ...own: Sees[]) => of(name).sees(own.map((one) => event(one)))
  const reboot = { eventId: idOf(1), resources: ['web_3'], notBeforeAt: at(6 * minute) }
  const rollout = { eventId: idOf(9), resources: ['web_0', 'web_1'], notBeforeAt: at(2.5 * hour) }
  const later = {
    eventId: idOf(10),
    eventType: 'Redeploy',
    resources: ['web_2'],
    notBeforeAt: at(2.6 * hour),
  }
  const failing = {
    eventId: idOf(2),
    eventType: 'Redeploy',
    resources: ['db_1'],
    notBeforeAt: at(3 * day + 5 * hour),
    description: 'The hardware of the host is failing.',
  }
  const frozen = {
    eventId: idOf(3),
    eventType: 'Freeze',
    resources: ['ledger_0', 'ledger_1', 'ledger_2'],
    notBeforeAt: at(14 * minute),
    durationSeconds: 30,
  }
  await of('prod/web_3').runs([event(reboot)], 'running')
  await see('prod/web_0', rollout)
  await see('prod/web_1', rollout)
  await see('prod/web_2', later)
  await see('prod/db_1', failing)
  world.channels.answer = (request) =>
    request.url.startsWith('https://pager.')
      ? new Response('invalid routing key', { status: 400 })
      : request.url.startsWith('https://hook.')
        ? new Response('no server is available', { status: 503 })
        : new Response('ok')
  await see('payments/ledger_0', frozen)
  await see('payments/ledger_1', frozen)
  const stuck = { eventId: idOf(4), resources: ['gateway_0'], notBeforeAt: at(12 * minute) }
  await see('payments/gateway_0', stuck)
  await world.drain()
  await decide(world, 'payments', idOf(4), 'approve')
  const declined = { eventId: idOf(5), resources: ['cache_0'], notBeforeAt: at(20 * minute) }
  await see('prod/cache_0', declined)
  await decide(world, 'prod', idOf(5), 'not_now')
  const running = { eventId: idOf(6), resources: ['db_2'], notBeforeAt: at(-3 * minute) }
  await see('prod/db_2', running)
  const spot = {
    eventId: idOf(7),
    eventType: 'Preempt',
    resources: ['spot_1'],
    notBeforeAt: at(-8 * minute),
  }
  await see('batch/spot_1', spot)
  await world.drain()
  world.clock.now = at(-4 * minute)
  await of('payments/gateway_0').sees([event(stuck)])
  world.clock.now = at(-3 * minute)
  await of('prod/db_2').sees([started(running)])
  await of('batch/spot_1').sees([started(spot)])
  await world.drain()
  world.clock.now = at(-20_000)
  await of('prod/web_3').runs([event(reboot)], 'running')
  for (const name of ['prod/web_0', 'prod/web_1']) await see(name, rollout)
  await see('prod/web_2', later)
  await see('prod/db_1', failing)
  await see('prod/cache_0', declined)
  for (const name of ['payments/ledger_0', 'payments/ledger_1']) await see(name, frozen)
  world.clock.now = at(0)
  await world.drain()
}
