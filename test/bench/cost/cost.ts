// `npm run bench -- cost`: what the relay costs on Azure Functions, from measured requests and stated prices. The
// tables for the README come first, every figure of them as a line after that.
import { baseConfig } from '../../support/world.ts'
import type { Figure } from '../figures.ts'
import { assumed, monthSeconds, shipped } from './assumptions.ts'
import { activeSeconds, type Bill, consumptionBill, flexBill, keptGb, type Setup } from './bill.ts'
import { loadOf, type Month, noHostLines } from './load.ts'
import {
  combine,
  type EventUsage,
  type Idle,
  measureDue,
  measureEvent,
  measureIdle,
} from './measure.ts'
import { costTable, heartbeatTable, type Plan, type Row, type Wave, waves } from './tables.ts'

const fleets = [10, 1_000, 100_000]
const tenantVms = 100
const heartbeatMinutes = [1, 5, 15, 60]
const minute = 60_000
const approvedAfterMs = 5 * minute
const plans: Record<Plan, typeof flexBill> = { flex: flexBill, consumption: consumptionBill }
interface Measured {
  idle: Idle
  /** By VMs of the tenant. */
  events: Record<'approved' | 'undecided', { small: EventUsage; full: EventUsage }>
}

export async function cost(): Promise<Figure[]> {
  const setup = shipped()
  const measured = await measure()
  const month = (vms: number, wave: Wave): Month => ({
    ...{ vms, hostLines: setup.hostLines },
    event: wave === 'idle' ? undefined : eventFor(measured, vms, wave),
  })
  const rowOf = (vms: number, plan: Plan, wave: Wave, every = 15): Row => {
    const load = loadOf(measured.idle, { ...month(vms, wave), heartbeatMs: every * minute })
    return { vms, plan, wave, heartbeatMinutes: every, bill: plans[plan](load, setup) }
  }
  const each = <T>(of: (vms: number, plan: Plan) => T[]) =>
    (['flex', 'consumption'] as const).flatMap((plan) => fleets.flatMap((vms) => of(vms, plan)))
  const rows = each((vms, plan) => waves.map((wave) => rowOf(vms, plan, wave)))
  const paced = each((vms, plan) => heartbeatMinutes.map((n) => rowOf(vms, plan, 'idle', n)))
  process.stdout.write(`${costTable(rows)}\n\n${heartbeatTable(paced)}\n\n`)
  return [
    ...Object.entries(assumed).map(([name, value]) => figure(`assumed, ${name}`, value, '')),
    ...Object.entries({ ...setup, ...namedLines(setup) }).flatMap(([name, value]) =>
      typeof value === 'number' ? [figure(`shipped, ${name}`, value, '')] : [],
    ),
    ...measuredFigures(measured),
    ...(await dueFigures()),
    ...(await messageFigures(measured)),
    ...rows.flatMap((row) => billFigures(`${row.plan}, ${row.vms} VMs, ${row.wave}`, row.bill)),
    ...paced.map(({ plan, vms, heartbeatMinutes: n, bill }) => {
      return figure(`${plan}, ${vms} VMs, idle, heartbeat of ${n} min`, bill.total, 'USD')
    }),
    ...leverFigures(measured.idle, month, setup),
  ]
}

async function measure(): Promise<Measured> {
  const idle = await measureIdle()
  const both = async (plan: { approvedAfterMs?: number }) => ({
    small: await measureEvent({ vms: Math.min(...fleets), ...plan }, idle),
    full: await measureEvent({ vms: tenantVms, ...plan }, idle),
  })
  const events = { approved: await both({ approvedAfterMs }), undecided: await both({}) }
  return { idle, events }
}

function eventFor({ events }: Measured, vms: number, wave: 'approved' | 'undecided') {
  return vms < tenantVms ? events[wave].small : events[wave].full
}

function measuredFigures({ idle, events }: Measured): Figure[] {
  const { heartbeat, timer } = idle
  return [
    figure('heartbeat, table operations', heartbeat.tableOperations, ''),
    figure('heartbeat, log lines', heartbeat.lines, ''),
    figure('timer run when idle, table operations', timer.tableOperations, ''),
    figure('timer run when idle, queue operations', timer.queueOperations, ''),
    figure('stored for a VM', idle.storedBytes, 'B'),
    ...Object.entries(events).flatMap(([wave, { small, full }]) =>
      [small, full].flatMap((event, i) => {
        const name = `event ${wave}, seen by ${i === 0 ? Math.min(...fleets) : tenantVms} VMs`
        return [
          figure(`${name}, requests`, event.executions.relay, ''),
          figure(`${name}, wake-ups`, event.executions.wake, ''),
          figure(`${name}, messages`, event.messages, ''),
          figure(`${name}, table operations`, event.tableOperations, ''),
          figure(`${name}, queue operations`, event.queueOperations, ''),
          figure(`${name}, log lines`, event.lines, ''),
          figure(`${name}, log text`, event.lineBytes, 'B'),
          figure(`${name}, billed active time where alone`, event.activeMs / 1_000, 's'),
        ]
      }),
    ),
  ]
}

async function dueFigures(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const due of [1, 10, 100]) {
    const operations = await measureDue(due)
    const name = `timer run with ${due} due`
    figures.push(figure(`${name}, table operations for each`, operations / due, ''))
  }
  return figures
}

/** Two channels more, and what that adds. */
async function messageFigures({ idle, events }: Measured): Promise<Figure[]> {
  const config = { ...baseConfig, routes: [{ match: {}, channels: ['chat', 'hook'] }] }
  const plan = { vms: tenantVms, approvedAfterMs, config }
  const added = combine([1, events.approved.full], [-1, await measureEvent(plan, idle)])
  const together = await measureEvent({ vms: tenantVms, events: 10, approvedAfterMs }, idle)
  return [
    figure('message, table operations', added.tableOperations / added.messages, ''),
    figure('message, log lines', added.lines / added.messages, ''),
    figure('event approved, one of 10 at once, requests', together.executions.relay, ''),
    figure('event approved, one of 10 at once, table operations', together.tableOperations, ''),
  ]
}

function leverFigures(idle: Idle, month: (vms: number, wave: Wave) => Month, setup: Setup) {
  const figures: Figure[] = []
  for (const vms of fleets) {
    const own = month(vms, 'idle')
    for (const concurrency of [1, 16, 100]) {
      const [relay] = loadOf(idle, own).groups
      const seconds = activeSeconds(relay!, { ...setup, concurrency })
      const name = `flex, ${vms} VMs, idle, concurrency ${concurrency}, instances active`
      figures.push(figure(name, seconds / monthSeconds, ''))
    }
    const often = flexBill(loadOf(idle, { ...own, timerMs: 15_000 }), setup)
    figures.push(figure(`flex, ${vms} VMs, idle, timer every 15 s`, often.total, 'USD'))
    const load = loadOf(idle, own)
    const perDay = load.logBytes / 1e9 / (monthSeconds / 86_400)
    figures.push(figure(`${vms} VMs, idle, logs a day`, perDay, 'GB'))
    figures.push(figure(`${vms} VMs, idle, logs kept in a month`, keptGb(load, setup), 'GB'))
    for (const [name, bill] of Object.entries(plans)) {
      const quiet = bill(loadOf(idle, { ...own, hostLines: noHostLines }), setup)
      const all = bill(load, { ...setup, logCapGbADay: Number.POSITIVE_INFINITY })
      figures.push(
        figure(`${name}, ${vms} VMs, idle, without the host's lines`, quiet.total, 'USD'),
      )
      figures.push(figure(`${name}, ${vms} VMs, idle, logs without a cap`, all.logs, 'USD'))
    }
  }
  return figures
}

function namedLines({ hostLines }: Pick<Month, 'hostLines'>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(hostLines).map(([name, lines]) => [`host lines of ${name}`, lines]),
  )
}

function billFigures(name: string, bill: Bill): Figure[] {
  return Object.entries(bill).map(([part, usd]) => figure(`${name}, ${part}`, usd, 'USD'))
}

function figure(name: string, value: number, unit: string): Figure {
  return { name, value, unit }
}
