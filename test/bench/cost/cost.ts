// `npm run bench -- cost`: storage calls of each action, measured, and what a month costs on Azure Functions and
// on Cloudflare at the stated prices. Logs are not in it: the relay writes no line for a heartbeat. The tables are
// those of docs/performance-and-cost.md and docs/heartbeat.md.
import {
  alignedHeartbeats,
  type Heartbeats,
  untilHeartbeat,
} from '../../../functions/core/event/heartbeat.ts'
import type { Figure } from '../figures.ts'
import { type Bill, flexBill, type Month, monthSeconds } from './bill.ts'
import { storageCalls } from './calls.ts'
import { workersBill } from './cloudflare-bill.ts'
import { type Action, type EventCourse, measureEvent, measureIdle } from './measure.ts'
import { assumed } from './prices.ts'

const minute = 60_000
const publicUrl = 'https://foghorn.example.com'
const fleets = [10, 1_000, 100_000]
const heartbeatMinutes = [5, 15, 30, 45, 60]
const tenantVms = 100
const nothing: EventCourse = { actions: [], arrivalsMs: [] }
const parts: (keyof Bill)[] = ['time', 'executions', 'storage', 'rest', 'total']

export async function cost(): Promise<Figure[]> {
  const idle = await measureIdle()
  const events = {
    idle: () => nothing,
    wave: await bySize((vms) => measureEvent(vms, 5 * minute)),
    undecided: await bySize((vms) => measureEvent(vms)),
  }
  const rows = fleets.flatMap((vms) =>
    Object.entries(events).map(([wave, of]) => {
      const bill = flexBill(monthOf(idle, heartbeatsOf(vms), of(vms), vms))
      return [vms, wave, ...parts.map((part) => bill[part])]
    }),
  )
  print(
    ['VMs', 'case', 'execution time', 'executions', 'storage operations', 'rest', '**total**'],
    rows,
  )
  print(
    ['VMs', 'window', ...heartbeatMinutes.map((n) => `${n} min`), '15 min, at any time', 'chosen'],
    [10, 500, 1_000, 2_000, 10_000, 100_000].map((vms) => {
      const { paceMs, window } = alignedHeartbeats(publicUrl, vms)
      const at = (ms: number) => flexBill(monthOf(idle, heartbeatsOf(vms, ms), nothing, vms)).total
      const spread = flexBill(asSpread(monthOf(idle, heartbeatsOf(vms, 15 * minute), nothing, vms)))
      const totals = heartbeatMinutes.map((n) => at(n * minute))
      const chosen = `${paceMs / minute} min`
      return [
        vms,
        `${Math.round(window!.lengthMs / 1_000).toLocaleString('en-US')} s`,
        ...totals,
        spread.total,
        chosen,
      ]
    }),
  )
  const workers = [10, 1_000, 10_000, 100_000].flatMap((vms) =>
    [5, 15].map((n) => [vms, `${n} min`, ...Object.values(workersBill(vms, n))]),
  )
  print(['VMs', 'heartbeat', 'plan', 'requests', 'duration', 'rows', '**total**'], workers)
  return [
    ...(await storageCalls()),
    ...idle.map((action) => figure('', action)),
    ...events.wave(tenantVms).actions.map((action) => figure('approved event, ', action)),
    ...events.undecided(tenantVms).actions.map((action) => figure('undecided event, ', action)),
  ]
}

/** A small fleet is a tenant of its own. */
async function bySize(measure: (vms: number) => Promise<EventCourse>) {
  const [small, full] = [await measure(fleets[0]!), await measure(tenantVms)]
  return (vms: number) => (vms < tenantVms ? small : full)
}

/** When the beacons of a fleet report in one pace: the relay's own, or another one. */
function heartbeatsOf(vms: number, paceMs?: number): Month['heartbeats'] {
  const { paceMs: usualMs, window } = alignedHeartbeats(publicUrl, vms)
  const pace = paceMs ?? usualMs
  const lengthMs = Math.min(pace, window!.lengthMs)
  const heartbeats: Heartbeats = { paceMs: pace, window: { startMs: 0, lengthMs } }
  const waits = Array.from({ length: vms }, (_, i) => {
    return untilHeartbeat(heartbeats, 'prod', `rg/web_${i}`, 0) % pace
  })
  return { paceMs: pace, arrivalsMs: waits.sort((a, b) => a - b) }
}

/** The same month if beacons report whenever they started. */
function asSpread({ heartbeats: { paceMs, arrivalsMs }, ...month }: Month): Month {
  const requests = month.requests + (arrivalsMs.length * monthSeconds * 1_000) / paceMs
  return { ...month, requests, heartbeats: { paceMs, arrivalsMs: [] } }
}

/** A month in which every VM sends heartbeats, and is hit by one event with these actions. */
function monthOf(
  idle: Action[],
  heartbeats: Month['heartbeats'],
  event: EventCourse,
  vms: number,
): Month {
  const [timer, heartbeat] = ['run of the timer', 'heartbeat'].map(
    (name) => idle.find((action) => action.name === name)!.operations,
  )
  const timerRuns = monthSeconds / 60
  const beats = (vms * monthSeconds * 1_000) / heartbeats.paceMs
  const requests = event.arrivalsMs.length * vms
  const ofEvents = sum(event.actions.map(({ times, operations }) => times * operations)) * vms
  const ofTenant = Math.min(vms, tenantVms)
  const operations = beats * heartbeat! + ofEvents
  return {
    heartbeats,
    events: { tenants: vms / ofTenant, each: ofTenant, arrivalsMs: event.arrivalsMs },
    requests: 0,
    requestMs: assumed.ownMs + (operations / (beats + requests)) * assumed.storageCallMs,
    timerRuns,
    timerMs: assumed.ownMs + timer! * assumed.storageCallMs,
    tableOperations: operations + timerRuns * timer!,
  }
}

function figure(prefix: string, { name, times, operations }: Action): Figure {
  return { name: `${prefix}${name} (${times}), table operations`, value: operations, unit: '' }
}

/** As Markdown, to be pasted. */
function print(head: string[], rows: (string | number)[][]): void {
  const bold = head.indexOf('**total**')
  const cell = (value: string | number, column: number) => {
    const text = typeof value === 'string' ? value : numberText(value)
    return column === bold ? `**${text}**` : text
  }
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
  process.stdout.write(`${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n`)
}

/** VMs are integers. Amounts from 100 USD on need no cents. */
function numberText(value: number): string {
  if (Number.isInteger(value) && value >= 10) return value.toLocaleString('en-US')
  return value < 99.995 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US')
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
