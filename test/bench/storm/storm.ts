// A storm: every member of 100 tenants reports each of three changes of its tenant's event, over HTTP
// to a process of its own, with this process as load and sink. The same storm goes to the floor, which
// only stores the reports, and to Alertmanager if it is installed. Each target gets it twice, in turns,
// and its faster run counts.
import { type Figure, times } from '../figures.ts'
import { cpuSeconds, folderMb, memoryMb } from '../usage.ts'
import { alertmanagerName, findAlertmanager, startAlertmanager } from './alertmanager.ts'
import { startFloor } from './floor.ts'
import { type Answered, postAll } from './load.ts'
import { planStorm, type Shape, type Storm } from './plan.ts'
import { startRelayTarget } from './relay.ts'
import type { Target } from './target.ts'

const shape: Shape = { events: 100, members: 100 }
/** Enough that compilers have seen what is hot. */
const warmUp: Shape = { events: 30, members: 100 }
/** 2 100 posts one after the other: how long one takes where nothing waits. */
const calm: Shape = { events: 7, members: 100 }
const connections = 32
/** An event's end is told 10 s after it was seen to be gone. */
const lastMessageMs = 60_000

export async function storm(): Promise<Figure[]> {
  const path = findAlertmanager()
  if (path === undefined) {
    const why = `${alertmanagerName} is not installed (not on PATH)`
    process.stderr.write(`storm: the comparison is left out, because ${why}\n`)
  }
  const starts = [
    startRelayTarget,
    startFloor,
    ...(path === undefined ? [] : [() => startAlertmanager(path)]),
  ]
  const [ours, floor, others] = (await bestOfTwo(starts)) as [Figure[], Figure[], Figure[]?]
  return [
    ...ours,
    ...named('floor', floor),
    {
      name: 'floor ratio',
      value: figureOf(ours, 'reports') / figureOf(floor, 'reports'),
      unit: '',
    },
    ...(others === undefined ? [] : [...named('alertmanager', others), ...compare(ours, others)]),
  ]
}

/** In turns, so that a busy minute of the machine hits all targets. */
async function bestOfTwo(starts: (() => Promise<Target>)[]): Promise<Figure[][]> {
  const first: Figure[][] = []
  for (const start of starts) first.push(await measure(await start()))
  const best: Figure[][] = []
  for (const [i, start] of starts.entries()) {
    const second = await measure(await start())
    const isFaster = figureOf(second, 'reports') > figureOf(first[i]!, 'reports')
    best.push(isFaster ? second : first[i]!)
  }
  return best
}

function named(target: string, figures: Figure[]): Figure[] {
  return figures.map((figure) => ({ ...figure, name: `${target} ${figure.name}` }))
}

function figureOf(figures: Figure[], name: string): number {
  return figures.find((one) => one.name === name)?.value ?? Number.NaN
}

export async function measure(target: Target): Promise<Figure[]> {
  try {
    const warm = await planStorm(warmUp, target.prepare)
    await send(target, warm, connections)
    const few = await planStorm(calm, target.prepare)
    const alone = await send(target, few, 1)
    await target.sink.told([...warm.eventIds, ...few.eventIds], target.moments, lastMessageMs)
    const figures = await measureStorm(target)
    return [
      ...figures,
      ...times('report', ' alone', alone.times),
      ...messageTimes(target, few, alone, ' alone'),
    ]
  } finally {
    await target.stop()
  }
}

async function measureStorm(target: Target): Promise<Figure[]> {
  const planned = await planStorm(shape, target.prepare)
  const thousands = planned.waves.flat().length / 1_000
  const storedMb = await folderMb(target.folder)
  const cpu = cpuSeconds(target.pid)
  const loadCpu = process.cpuUsage()
  const startedAt = performance.now()
  const answered = await send(target, planned, connections)
  const seconds = (performance.now() - startedAt) / 1_000
  const load = process.cpuUsage(loadCpu)
  const memory = memoryMb(target.pid, 'VmRSS')
  // the kernel notes the peak now and then only
  const peak = Math.max(memory, memoryMb(target.pid, 'VmHWM'))
  await target.sink.told(planned.eventIds, target.moments, lastMessageMs)
  const loadSeconds = (load.user + load.system) / 1e6
  return [
    { name: 'reports', value: (thousands * 1_000) / seconds, unit: '1/s' },
    ...times('report', '', answered.times),
    ...messageTimes(target, planned, answered, ''),
    { name: 'CPU per 1000 reports', value: (cpuSeconds(target.pid) - cpu) / thousands, unit: 's' },
    { name: 'CPU of the load per 1000 reports', value: loadSeconds / thousands, unit: 's' },
    { name: 'memory', value: memory, unit: 'MB' },
    { name: 'memory peak', value: peak, unit: 'MB' },
    { name: 'growth on disk', value: (await folderMb(target.folder)) - storedMb, unit: 'MB' },
  ]
}

/** From the first report of each event to its first message. */
function messageTimes(
  target: Target,
  { eventIds }: Storm,
  { firstSentAt }: Answered,
  how: string,
): Figure[] {
  if (target.moments.length === 0) return []
  const toMessage = eventIds.map(
    (id, event) => target.sink.firstAt(id, target.first) - firstSentAt.get(event)!,
  )
  return times('first report to message', how, toMessage)
}

/** Wave after wave, so that a member's next report follows the answer to the one before. */
async function send(target: Target, { waves }: Storm, connections: number): Promise<Answered> {
  const all: Answered = { times: [], firstSentAt: new Map() }
  for (const wave of waves) {
    const { times, firstSentAt } = await postAll(target.port, wave, connections)
    all.times.push(...times)
    for (const [event, at] of firstSentAt) {
      if (!all.firstSentAt.has(event)) all.firstSentAt.set(event, at)
    }
  }
  return all
}

/** Ours against theirs: how many times as fast, and how much longer in ms. */
function compare(ours: Figure[], others: Figure[]): Figure[] {
  const latencies = ours.filter(({ unit }) => unit === 'ms')
  return [
    { name: 'ratio', value: figureOf(ours, 'reports') / figureOf(others, 'reports'), unit: '' },
    ...latencies.map(({ name, value }) => ({
      name: `${name} difference`,
      value: value - figureOf(others, name),
      unit: 'ms',
    })),
  ]
}
