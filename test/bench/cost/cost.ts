// `npm run bench -- cost`: storage calls of each action, measured, and what a month costs on Azure Functions and
// on Cloudflare at the stated prices. Logs are not in it: the relay writes no line for a heartbeat.
import type { Figure } from '../figures.ts'
import { type Bill, consumptionBill, flexBill, type Month, monthSeconds } from './bill.ts'
import { storageCalls } from './calls.ts'
import { workersBill } from './cloudflare-bill.ts'
import { type Action, measureEvent, measureIdle } from './measure.ts'
import { assumed } from './prices.ts'

const minute = 60_000
const fleets = [10, 1_000, 100_000]
const heartbeatMinutes = [1, 5, 15, 60]
const tenantVms = 100
const plans = { flex: flexBill, consumption: consumptionBill }
const parts: (keyof Bill)[] = ['time', 'executions', 'storage', 'rest', 'total']

export async function cost(): Promise<Figure[]> {
  const idle = await measureIdle()
  const events = {
    idle: () => [],
    approved: await bySize((vms) => measureEvent(vms, 5 * minute)),
    undecided: await bySize((vms) => measureEvent(vms)),
  }
  const rows = fleets.flatMap((vms) =>
    Object.entries(events).flatMap(([wave, of]) =>
      Object.entries(plans).map(([plan, billOf]) => {
        const bill = billOf(monthOf(idle, vms, of(vms)))
        return [plan, vms, wave, ...parts.map((part) => bill[part])]
      }),
    ),
  )
  const paced = fleets.flatMap((vms) =>
    Object.entries(plans).map(([plan, billOf]) => {
      return [plan, vms, ...heartbeatMinutes.map((n) => billOf(monthOf(idle, vms, [], n)).total)]
    }),
  )
  const head = ['plan', 'VMs']
  process.stdout.write(`${table([...head, 'one event a VM', ...parts], rows)}\n\n`)
  process.stdout.write(`${table([...head, ...heartbeatMinutes.map((n) => `${n} min`)], paced)}\n\n`)
  const workers = [10, 1_000, 10_000, 100_000].flatMap((vms) =>
    [5, 15].map((n) => [vms, `${n} min`, ...Object.values(workersBill(vms, n))]),
  )
  const ofWorkers = ['VMs', 'heartbeat', 'plan', 'requests', 'duration', 'rows', 'total']
  process.stdout.write(`${table(ofWorkers, workers)}\n\n`)
  return [
    ...(await storageCalls()),
    ...idle.map((action) => figure('', action)),
    ...events.approved(tenantVms).map((action) => figure('approved event, ', action)),
    ...events.undecided(tenantVms).map((action) => figure('undecided event, ', action)),
  ]
}

/** A small fleet is a tenant of its own. */
async function bySize(measure: (vms: number) => Promise<Action[]>) {
  const [small, full] = [await measure(fleets[0]!), await measure(tenantVms)]
  return (vms: number) => (vms < tenantVms ? small : full)
}

/** A month in which every VM sends heartbeats, and is hit by one event with these actions. */
function monthOf(idle: Action[], vms: number, event: Action[], heartbeatMinutes = 15): Month {
  const [timer, heartbeat] = ['run of the timer', 'heartbeat'].map(
    (name) => idle.find((action) => action.name === name)!.operations,
  )
  const minutes = monthSeconds / 60
  const heartbeats = (vms * minutes) / heartbeatMinutes
  const ofEvent = sum(event.map(({ times }) => times)) * vms
  const eventOperations = sum(event.map(({ times, operations }) => times * operations)) * vms
  const operations = heartbeats * heartbeat! + eventOperations
  const requests = heartbeats + ofEvent
  return {
    requests,
    requestMs: assumed.ownMs + (operations / requests) * assumed.storageCallMs,
    timerRuns: minutes,
    tableOperations: operations + minutes * timer!,
  }
}

function figure(prefix: string, { name, times, operations }: Action): Figure {
  return { name: `${prefix}${name} (${times}), table operations`, value: operations, unit: '' }
}

function table(head: string[], rows: (string | number)[][]): string {
  const cell = (value: string | number) =>
    typeof value === 'string' || Number.isInteger(value) ? value : value.toFixed(2)
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
