// Storage calls of one step of the relay on Azure Functions: every request to the tables, and every
// wake-up in the queue. The store of Azure Tables keeps its rows in memory, and the real rounds send.
import { randomUUID } from 'node:crypto'
import { Rounds } from '../../../functions/host/azure/rounds.ts'
import { JoinedRows } from '../../../functions/store/azure/joined.ts'
import type { Rows } from '../../../functions/store/azure/rows.ts'
import { AzureStore } from '../../../functions/store/azure/store.ts'
import { Table } from '../../sim/table.ts'
import { baseConfig, createWorld, event, FakeBeacon, hookSecret } from '../../support/world.ts'
import type { Figure } from '../figures.ts'

const minute = 60_000
const second = { kind: 'webhook', url: 'https://hook.example/second', secret: hookSecret }
const channels = ['hook', 'second']

/** The calls, in order: what was asked of which partition. */
function notedRows(rows: Rows, calls: string[]): Rows {
  return {
    read: (partition, row) => {
      calls.push(`read ${partition} ${row}`)
      return rows.read(partition, row)
    },
    list: (partition, range) => {
      calls.push(`list ${partition} ${range.from}`)
      return rows.list(partition, range)
    },
    change: (partition, changes) => {
      const names = changes.map(({ kind, row }) => `${kind} ${row}`)
      if (changes.length > 0) calls.push(`change ${partition} ${names.join(', ')}`)
      return rows.change(partition, changes)
    },
  }
}

async function createMeter(match: object) {
  const calls: string[] = []
  const world = await createWorld({
    config: {
      ...baseConfig,
      channels: { ...(baseConfig.channels as object), second },
      routes: [{ match, channels }],
    },
  })
  // joined as on Azure, so that the calls of one moment are one
  const rows = new JoinedRows(notedRows(new Table().plain(), calls), () => new Promise(() => {}))
  const store = new AzureStore({ rows, newId: randomUUID, random: () => 0.5, wait: async () => {} })
  const schedule = async () => void calls.push('queue')
  const rounds = new Rounds(world.relay, schedule, store)
  const wake: Rounds['hint'] = (...args) => rounds.hint(...args)
  Object.assign(world.relay, { store, attention: store.attention, wake })
  const count = async (act: () => Promise<unknown>) => {
    calls.length = 0
    await rounds.during(act)
    return [...calls]
  }
  return { world, count }
}

/** Each step with its calls, in order. */
export async function measureCalls(): Promise<Record<string, string[]>> {
  const { world, count } = await createMeter({})
  const beacons = ['web_0', 'web_1', 'web_2', 'web_3'].map((vm) => new FakeBeacon(world, vm))
  const [first, second, third, other] = beacons as [FakeBeacon, FakeBeacon, FakeBeacon, FakeBeacon]
  for (const beacon of beacons) await count(() => beacon.sees([]))
  world.clock.now += 15 * minute
  const heartbeat = await count(() => first.sees([]))
  for (const beacon of beacons.slice(1)) await count(() => beacon.sees([]))
  // the first message of a channel also notes that it works
  await count(() => other.sees([event({ eventId: 'an-earlier-one' })]))
  world.clock.now += 10_000
  const shown = event()
  return {
    heartbeat,
    'first report of an event with two messages': await count(() => first.sees([shown])),
    "second observer's report of it": await count(() => second.sees([shown])),
    "further observer's report of it": await count(() => third.sees([shown])),
    'first report of an event without messages': await withoutMessages(),
  }
}

async function withoutMessages(): Promise<string[]> {
  const { world, count } = await createMeter({ fleet: 'test' })
  const beacon = new FakeBeacon(world, 'web_0')
  await count(() => beacon.sees([event({ eventId: 'an-earlier-one' })]))
  world.clock.now += 10_000
  return count(() => beacon.sees([event({ eventId: 'an-earlier-one' }), event()]))
}

export async function storageCalls(): Promise<Figure[]> {
  const steps = await measureCalls()
  return Object.entries(steps).map(([name, calls]) => {
    return { name: `${name}, storage calls`, value: calls.length, unit: '' }
  })
}
