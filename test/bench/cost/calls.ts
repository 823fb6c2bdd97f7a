// Storage calls of one step of the relay on Azure Functions: every request to the tables, and every
// wake-up in the queue. The store of Azure Tables keeps its rows in memory, and the real requests send.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Requests } from '../../../functions/host/azure/requests.ts'
import type { Table } from '../../../functions/store/azure/table.ts'
import { RelayStore } from '../../../functions/store/relay-store.ts'
import { reconcile } from '../../../functions/use-cases/published.ts'
import { sweep } from '../../../functions/use-cases/sweep.ts'
import { cloudEvent } from '../../simulator/event-grid.ts'
import { MemoryTable } from '../../support/memory-table.ts'
import { azureRows } from '../../support/stores.ts'
import { makeToken } from '../../support/tokens.ts'
import { baseConfig, createWorld, event, FakeBeacon, hookSecret } from '../../support/world.ts'
import type { Figure } from '../figures.ts'

const minute = 60_000
const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
const second = { kind: 'webhook', url: 'https://hook.example/second', secret: hookSecret }

/** The calls, in order: what was asked of which partition. */
function noted(table: Table, calls: string[]): Table {
  return {
    read(partition, row) {
      calls.push(`read ${partition} ${row}`)
      return table.read(partition, row)
    },
    list(partition, from, to, limit) {
      calls.push(`list ${partition} ${from}`)
      return table.list(partition, from, to, limit)
    },
    change(partition, changes) {
      const names = changes.map(({ kind, row }) => `${kind} ${row}`)
      if (changes.length > 0) calls.push(`change ${partition} ${names.join(', ')}`)
      return table.change(partition, changes)
    },
  }
}

async function createMeter(channels: string[], more: object = {}) {
  const calls: string[] = []
  const world = await createWorld({
    config: {
      ...baseConfig,
      channels: { ...(baseConfig.channels as object), second },
      routes: [{ match: {}, channels }],
      ...more,
    },
    paced: true,
  })
  const table = noted(new MemoryTable(), calls)
  const rows = azureRows(table, () => world.clock.now)
  const store = new RelayStore({ rows, newId: randomUUID, random: Math.random, gather: sleep })
  const schedule = async () => void calls.push('queue')
  const requests = new Requests(world.relay, schedule)
  let committed = 0
  const wake: Requests['hint'] = (...args) => {
    committed = calls.length
    requests.hint(...args)
  }
  world.relay.store = store
  world.relay.work.wake = wake
  /** `sending`: calls after the last commit, except those of the beacon's own row. */
  const count = async (act: () => Promise<unknown>) => {
    calls.length = 0
    committed = 0
    await requests.during(act)
    const all = [...calls]
    const isSending = (call: string, i: number) =>
      i >= committed && !/ (beacons |index \S+ ?(silent|heard|vms))/.test(call)
    return { all, sending: committed === 0 ? [] : all.filter(isSending) }
  }
  return { world, count }
}

/** Each step with its calls, in order. A heartbeat and an earlier event were before. */
export async function measureCalls(): Promise<Record<string, string[]>> {
  const { world, count } = await createMeter(['hook', 'second'])
  const beacons = Array.from({ length: 7 }, (_, i) => new FakeBeacon(world, `web_${i}`))
  for (const beacon of beacons) await count(() => beacon.sees([]))
  world.clock.now += 15 * minute
  const heartbeats: string[][] = []
  for (const beacon of beacons) heartbeats.push((await count(() => beacon.sees([]))).all)
  // the first message of a channel in a minute also notes that it works
  await count(() => beacons[6]!.sees([event({ eventId: 'an-earlier-one' })]))
  world.clock.now += 10_000
  const reports = []
  for (const beacon of beacons) reports.push(await count(() => beacon.sees([event()])))
  const [first, secondOne, third] = reports
  return {
    heartbeat: heartbeats[0]!,
    'first report of an event, without its messages': first!.all.filter(
      (call) => !first!.sending.includes(call),
    ),
    'its two messages': first!.sending,
    'its message to a channel with a rate': await pacedMessage(),
    'looks at a channel that waits for its rate': await waitingMessage(),
    "second VM's report": secondOne!.all,
    'report of one of the first four onlookers': third!.all,
    "a further onlooker's report": reports[5]!.all,
    ...(await azuresDoor()),
  }
}

/** Azure Event Grid sends an event, and later that it has started. */
async function azuresDoor(): Promise<Record<string, string[]>> {
  const { world, count } = await createMeter(['hook', 'second'], {
    fleets: { prod: { azureSubscriptions: subscription } },
    azure: { subscriptions: [subscription] },
  })
  const listReadable = async (subscriptions: string[]) => subscriptions
  const graph = { listEvents: async () => [], listMachines: async () => [], listReadable }
  const manager = { acknowledge: async () => ({ outcome: 'failed', reason: '', isFinal: false }) }
  const azure = { graph, manager, subscriptions: [subscription] }
  Object.assign(world.relay.outside, { azure })
  const { token } = await makeToken(world, { scopes: ['report'] })
  const send = (status: 'Scheduled' | 'Started', eventId: string) =>
    world.app.request('/v1/azure/events', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(
        cloudEvent({
          ...{ eventId, subscription, status, resource: 'virtualMachineScaleSets/web' },
          at: world.clock.now,
        }),
      ),
    })
  await count(async () => send('Scheduled', 'an-earlier-one'))
  world.clock.now += 10_000
  // the inventory of the earlier one
  await sweep(world.relay)
  const first = await count(async () => send('Scheduled', 'one'))
  const again = await count(async () => send('Scheduled', 'one'))
  await reconcile(world.relay)
  world.clock.now += minute
  const look = await count(() => reconcile(world.relay))
  return {
    'first notification of Event Grid, without its messages': first.all.filter(
      (call) => !first.sending.includes(call),
    ),
    'the same notification again': again.all,
    "each minute: whether to read Azure's list": look.all,
  }
}

/** Slack takes one message a second, and all workers share that rate. */
async function pacedMessage(): Promise<string[]> {
  const { world, count } = await createMeter(['chat'])
  const beacon = new FakeBeacon(world, 'web_0')
  await count(() => beacon.sees([]))
  await count(() => beacon.sees([event({ eventId: 'an-earlier-one' })]))
  world.clock.now += 10_000
  return (await count(() => beacon.sees([event()]))).sending
}

/** Ten events at once: the tenth message waits behind the others, and so does what is under way. */
async function waitingMessage(): Promise<string[]> {
  const { world, count } = await createMeter(['chat'])
  const beacon = new FakeBeacon(world, 'web_0')
  await count(() => beacon.sees([]))
  let last: string[] = []
  for (let ten = 1; ten <= 10; ten++) {
    const events = Array.from({ length: ten }, (_, i) => event({ eventId: `one-${i}` }))
    last = (await count(() => beacon.sees(events))).sending
  }
  return last
}

export async function storageCalls(): Promise<Figure[]> {
  const steps = await measureCalls()
  return Object.entries(steps).map(([name, calls]) => {
    return { name: `${name}, storage calls`, value: calls.length, unit: '' }
  })
}
