// What the relay's own code asks of functions, table and queue: for a heartbeat, for a run of the timer, and for
// one event from its first sight to its end.
import { idlePaceMs } from '../../../functions/core/pace.ts'
import { decideByForm } from '../../support/form.ts'
import { baseConfig, event } from '../../support/world.ts'
import { Fleet } from './fleet.ts'
import { type FunctionName, Hosted, type Invocation } from './hosted.ts'
import { metered } from './meter.ts'

const minute = 60_000
const noticeMs = 30 * minute
/** How long the VM is away. */
const impactMs = 2 * minute
/** From when Azure shows nothing any more until all is told. */
const afterMs = 3 * minute

/** Of several invocations; of a heartbeat and an event it is the average, so it may have fractions. */
export interface Usage {
  executions: Record<FunctionName, number>
  /** Ms, of all executions. */
  durations: Record<FunctionName, number>
  tableOperations: number
  queueOperations: number
  messages: number
  lines: number
  lineBytes: number
}

export interface Idle {
  heartbeat: Usage
  timer: Usage
  /** For each VM. */
  storedBytes: number
}

export interface EventUsage extends Usage {
  storedBytes: number
  /** What Flex Consumption bills for this event where nothing else is going on. */
  activeMs: number
}

function usageOf(invocations: Invocation[]): Usage {
  const of = (name: FunctionName) => invocations.filter((one) => one.name === name)
  const total = (of: Invocation[], field: keyof Omit<Invocation, 'name'>) =>
    of.reduce((sum, one) => sum + one[field], 0)
  const each = (value: (own: Invocation[]) => number) => ({
    relay: value(of('relay')),
    wake: value(of('wake')),
    sweep: value(of('sweep')),
  })
  return {
    executions: each((own) => own.length),
    durations: each((own) => total(own, 'durationMs')),
    tableOperations: total(invocations, 'tableOperations'),
    queueOperations: total(invocations, 'queueOperations'),
    messages: total(invocations, 'messages'),
    lines: total(invocations, 'lines'),
    lineBytes: total(invocations, 'lineBytes'),
  }
}

/** `sum` of usages, each so many times. */
export function combine(...parts: [times: number, usage: Usage][]): Usage {
  const add = (value: (usage: Usage) => number) =>
    parts.reduce((sum, [times, usage]) => sum + times * value(usage), 0)
  const each = (field: 'executions' | 'durations') => ({
    relay: add((usage) => usage[field].relay),
    wake: add((usage) => usage[field].wake),
    sweep: add((usage) => usage[field].sweep),
  })
  return {
    executions: each('executions'),
    durations: each('durations'),
    tableOperations: add((usage) => usage.tableOperations),
    queueOperations: add((usage) => usage.queueOperations),
    messages: add((usage) => usage.messages),
    lines: add((usage) => usage.lines),
    lineBytes: add((usage) => usage.lineBytes),
  }
}

export async function measureIdle(): Promise<Idle> {
  const vms = 100
  const hosted = new Hosted({ config: baseConfig })
  new Fleet(hosted, vms)
  await hosted.agenda.run(hosted.clock.now + idlePaceMs)
  const storedBytes = hosted.rows.counts.storedBytes / vms
  hosted.invocations.length = 0
  await hosted.agenda.run(hosted.clock.now + 4 * idlePaceMs)
  const average = (name: FunctionName) => {
    const own = hosted.invocations.filter((one) => one.name === name)
    return combine([1 / own.length, usageOf(own)])
  }
  return { heartbeat: average('relay'), timer: average('sweep'), storedBytes }
}

interface EventPlan {
  vms: number
  /** So many VMs of the fleet, each hit by an event of its own, all at once. */
  events?: number
  /** A person opens the page and approves so long after the message; else Azure starts it at NotBefore. */
  approvedAfterMs?: number
  config?: object
}

/** What events cost above a fleet that is idle, for each of them. */
export async function measureEvent(plan: EventPlan, idle: Idle): Promise<EventUsage> {
  const count = plan.events ?? 1
  const hosted = new Hosted({ config: { ...baseConfig, ...plan.config } })
  const fleet = new Fleet(hosted, plan.vms)
  await hosted.agenda.run(hosted.clock.now + 2 * idlePaceMs)
  hosted.invocations.length = 0
  const [from, storedBefore] = [hosted.clock.now, hosted.rows.counts.storedBytes]
  const ids = Array.from({ length: count }, (_, i) => eventIdOf(i))
  play(hosted, fleet, ids, plan.approvedAfterMs)
  const openMs = (plan.approvedAfterMs ?? noticeMs) + impactMs + afterMs
  await hosted.agenda.run(from + openMs)
  const ended = hosted.sent.filter(({ json }) => json.type === 'foghorn.event.completed')
  if (ended.length !== count) throw new Error(`${ended.length} of ${count} events were completed`)
  const idleReports = (plan.vms * openMs) / idlePaceMs
  const above = combine(
    [1, usageOf(hosted.invocations)],
    [-idleReports, idle.heartbeat],
    [-openMs / minute, idle.timer],
  )
  const storedBytes = (hosted.rows.counts.storedBytes - storedBefore) / count
  return { ...combine([1 / count, above]), storedBytes, activeMs: activeMs(hosted) / count }
}

/** Shown, approved or not, started, and gone. */
function play(hosted: Hosted, fleet: Fleet, ids: string[], approvedAfterMs?: number): void {
  const from = hosted.clock.now
  const without = (id: string) => fleet.events.filter(({ eventId }) => eventId !== id)
  const start = (id: string) => {
    const known = fleet.events.find(({ eventId }) => eventId === id)!
    const { notBeforeAt: _, ...rest } = known
    fleet.show([...without(id), { ...rest, status: 'Started' }])
    hosted.agenda.at(hosted.clock.now + impactMs, () => fleet.show(without(id)))
  }
  fleet.onStart = start
  fleet.show(
    ids.map((eventId, i) => {
      return event({ eventId, resources: [`web_${i}`], notBeforeAt: from + noticeMs })
    }),
  )
  for (const id of ids) {
    if (approvedAfterMs === undefined) hosted.agenda.at(from + noticeMs, () => start(id))
    else hosted.agenda.at(from + approvedAfterMs, () => approve(hosted, id))
  }
}

async function approve(hosted: Hosted, eventId: string): Promise<void> {
  const path = new URL(await hosted.linkTo(eventId)).pathname
  const request = (path: string, init: RequestInit = {}) => hosted.app.request(path, init)
  const response = await decideByForm(request, path)
  if (!response.ok) throw new Error(`not approved: ${response.status} ${await response.text()}`)
}

/** Flex Consumption gives HTTP and each other function instances of their own. The timer's runs are idle's. */
function activeMs({ invocations }: Hosted): number {
  return (['relay', 'wake'] as const)
    .map((name) => invocations.filter((one) => one.name === name))
    .map((own) => own.map(({ at, durationMs }) => ({ startedAt: at, endedAt: at + durationMs })))
    .reduce((sum, spans) => sum + metered(spans), 0)
}

/** Table operations of one timer run that finds so many events due, each owing one message. */
export async function measureDue(events: number): Promise<number> {
  const routes = [
    { match: {}, moments: ['reminder'], channels: ['hook'], remindBeforeSeconds: 600 },
  ]
  const hosted = new Hosted({
    config: { ...baseConfig, routes },
    wakeUps: false,
    timer: false,
  })
  const fleet = new Fleet(hosted, 1)
  await hosted.agenda.run(hosted.clock.now + idlePaceMs)
  const notBeforeAt = hosted.clock.now + noticeMs
  const ids = Array.from({ length: events }, (_, i) => eventIdOf(i))
  fleet.show(ids.map((eventId) => event({ eventId, resources: ['web_0'], notBeforeAt })))
  await hosted.agenda.run(notBeforeAt - 601_000)
  hosted.clock.now = notBeforeAt - 599_000
  await hosted.runTimer()
  const run = hosted.invocations.at(-1)!
  if (run.messages !== events) throw new Error(`${run.messages} of ${events} reminders were sent`)
  return run.tableOperations
}

function eventIdOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
}
