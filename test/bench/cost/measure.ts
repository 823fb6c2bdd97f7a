// Storage calls of each action of the relay, and of one event from its first sight to its end, counted on the
// store of Azure Tables with rows in memory. Nothing takes time, so no two writers meet.
import { createToken } from '../../../functions/links/link.ts'
import type { Table } from '../../../functions/store/azure/table.ts'
import { noteListening } from '../../../functions/store/small-rows.ts'
import { countAll } from '../../../functions/use-cases/count.ts'
import { nextDueAt } from '../../../functions/use-cases/deliver.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { decideByForm } from '../../support/form.ts'
import { MemoryTable } from '../../support/memory-table.ts'
import { azureRows, storeOver } from '../../support/stores.ts'
import {
  baseConfig,
  createWorld,
  event,
  eventId,
  FakeBeacon,
  started,
} from '../../support/world.ts'

const minute = 60_000
const noticeMs = 30 * minute
/** How long the VM is away. */
const impactMs = 2 * minute
/** Of a report and its answer. It differs, so beacons that report together drift apart. */
const travelMs = (i: number) => 20 + 7 * (i % 5)
/** From the event's disappearance to the last message. */
const afterMs = 3 * minute

export interface Action {
  name: string
  times: number
  /** Table operations of one, on average. */
  operations: number
}

/** What one event causes. */
export interface EventCourse {
  actions: Action[]
  /** When its requests begin, ms, ascending. */
  arrivalsMs: number[]
}

/** The table, and how many requests Azure would bill: a list is billed by the page of 1,000 rows. */
function countedTable() {
  const table = new MemoryTable()
  const counted = { operations: 0 }
  const counting: Table = {
    read: (...args) => {
      counted.operations += 1
      return table.read(...args)
    },
    list: async (...args) => {
      const found = await table.list(...args)
      counted.operations += Math.max(1, Math.ceil(found.length / 1_000))
      return found
    },
    change: (...args) => {
      if (args[1].length > 0) counted.operations += 1
      return table.change(...args)
    },
  }
  return { table: counting, counted }
}

async function createMeter() {
  const { table, counted } = countedTable()
  const world = await createWorld({
    config: { ...baseConfig, routes: [{ match: {}, channels: ['hook'] }] },
  })
  const store = storeOver(azureRows(table, () => world.clock.now))
  const hints = { owed: 0 }
  const wake = (owed: number) => {
    hints.owed += owed
  }
  world.relay.store = store
  world.relay.work.wake = wake
  const actions = new Map<string, Action>()
  const count = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    const before = counted.operations
    const result = await act()
    const { times, operations } = actions.get(name) ?? { times: 0, operations: 0 }
    const total = operations * times + counted.operations - before
    actions.set(name, { name, times: times + 1, operations: total / (times + 1) })
    return result
  }
  const timer = () =>
    count('run of the timer', async () => {
      world.relay.listeningSince = await noteListening(store, world.clock.now, 4 * minute)
      await world.drain()
      await nextDueAt(world.relay)
      await countAll(world.relay, minute / 2)
    })
  /** On Azure, a request sends what it brought. */
  const acting = <T>(name: string, act: () => Promise<T>) =>
    count(name, async () => {
      hints.owed = 0
      const result = await act()
      if (hints.owed > 0) await world.drain()
      return result
    })
  return { world, actions, acting, timer }
}

type Meter = Awaited<ReturnType<typeof createMeter>>

/** A fleet without events. */
export async function measureIdle(): Promise<Action[]> {
  const { world, actions, acting, timer } = await createMeter()
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([])
  await world.drain()
  for (let i = 0; i < 60; i++) {
    world.clock.now += minute
    await timer()
    if (i % 15 === 14) await acting('heartbeat', () => beacon.sees([]))
  }
  return [...actions.values()]
}

/** One event that `vms` see; a person approves it after `approveAfterMs`, or Azure starts it at NotBefore. */
export async function measureEvent(vms: number, approveAfterMs?: number): Promise<EventCourse> {
  const meter = await createMeter()
  const { world, timer } = meter
  const beacons = Array.from({ length: vms }, (_, i) => new FakeBeacon(world, `web_${i}`))
  for (const beacon of beacons) await beacon.sees([])
  await world.drain()
  meter.actions.clear()

  const from = world.clock.now
  const startsAt = from + (approveAfterMs ?? noticeMs)
  const endsAt = startsAt + impactMs
  const shown = (now: number): [state: string, document: ScheduledEvent[]] => {
    if (now < startsAt) return ['scheduled', [event({ notBeforeAt: from + noticeMs })]]
    return now < endsAt ? ['started', [started()]] : ['gone', []]
  }
  // the VM that is hit reports at once, others within two seconds
  const dueAt = beacons.map((_, i) => from + (i / vms) * 2_000)
  const saw = beacons.map(() => '')
  const arrivalsMs: number[] = []
  for (let tickAt = from; tickAt < endsAt + afterMs; tickAt += 1_000) {
    world.clock.now = tickAt
    if (approveAfterMs !== undefined && tickAt === startsAt - 1_000) {
      await approve(meter)
      // the page, and its form
      arrivalsMs.push(tickAt, tickAt)
    }
    const [state, document] = shown(tickAt)
    for (const [i, beacon] of beacons.entries()) {
      const isNews = saw[i] !== state
      if (!isNews && dueAt[i]! > tickAt) continue
      saw[i] = state
      arrivalsMs.push(isNews ? tickAt + (i / vms) * 2_000 : dueAt[i]!)
      const name = isNews ? `report of "${state}"` : 'report without news'
      const { paceMs } = await meter.acting(name, () => beacon.sees(document))
      dueAt[i] = (isNews ? tickAt : dueAt[i]!) + paceMs + travelMs(i)
    }
    if ((tickAt - from) % minute === 0) await timer()
  }
  if (world.told().at(-1) !== 'foghorn.event.completed') throw new Error('the event did not end')
  const all = [...meter.actions.values()]
  const actions = all.filter(({ name }) => name !== 'run of the timer')
  return { actions, arrivalsMs: arrivalsMs.sort((a, b) => a - b) }
}

async function approve({ world, acting }: Meter): Promise<void> {
  const token = { fleet: 'prod', eventId, channel: 'hook', issuedAt: world.clock.now }
  const path = `/approve/${await createToken(world.relay.credentials.linkKeys, token)}`
  const request = async (url: string, init?: RequestInit) => world.app.request(url, init)
  const response = await acting('page and approval', () => decideByForm(request, path))
  if (!response.ok) throw new Error(`not approved: ${response.status} ${await response.text()}`)
}
