// Deliveries to many subscriptions: a relay as a process of its own with its rows on disk, and sinks in
// this process. Beside it, undici alone posts the same bytes to the same sinks: that is the limit. Then
// events come at a steady pace, first to sinks that all answer, then with half of them hanging.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storedRate } from '../../../functions/core/delivery/rate.ts'
import { Program } from '../../support/process.ts'
import { type Stage, startStage } from '../../support/stage.ts'
import { type Figure, percentile, times } from '../figures.ts'
import { type Post, postAll } from '../storm/load.ts'
import { planStorm } from '../storm/plan.ts'
import { preparation } from '../storm/relay.ts'
import { tieToThisProcess } from '../storm/target.ts'
import { cpuSeconds } from '../usage.ts'
import { type BarePlan, ways } from './bare.ts'
import { type Captured, type Sinks, startSinks } from './sinks.ts'

const subscriptions = 200
/** With those of the warm-up, fewer than a fleet may have open. */
const events = 400
/** Enough that compilers have seen what is hot. */
const warmUpEvents = 50
const reportConnections = 8
/** Of the steady part: well below what the relay can do, so that nothing piles up by itself. */
const paced = { events: 200, everyMs: 250 }
const limitMs = 600_000

export async function fanout(): Promise<Figure[]> {
  const burst = await onStage(measureBurst)
  const calm = await onStage((bed) => send(bed, paced.events, paced.everyMs))
  const hanging = await onStage((bed) => {
    bed.sinks.hang(subscriptions / 2)
    return send(bed, paced.events, paced.everyMs)
  })
  // the same sinks in both: those that never hang
  const calmTimes = timesOf(calm, (sink) => sink >= subscriptions / 2)
  const hangingTimes = timesOf(hanging)
  const growth = percentile(hangingTimes, 0.99) / percentile(calmTimes, 0.99)
  return [
    ...burst,
    ...times('paced report to sink', '', calmTimes),
    ...times('paced report to sink', ', half of all hang', hangingTimes),
    { name: 'half of all hang p99 ratio', value: growth, unit: '' },
  ]
}

interface Bed {
  stage: Stage
  sinks: Sinks
  pid: number
}

async function onStage<T>(measure: (bed: Bed) => Promise<T>): Promise<T> {
  const sinks = await startSinks(subscriptions)
  const stage = await startStage({
    vms: [['web_0']],
    // no configured channel hears of a reboot
    config: () => ({ routes: [{ match: { eventType: 'Preempt' }, channels: ['system'] }] }),
  })
  let untie = () => {}
  try {
    const { pid } = await stage.startRelay({ environment: { FOGHORN_LOG_LEVEL: 'info' } })
    untie = tieToThisProcess(pid, stage.directory)
    await subscribe(stage, sinks)
    await sinks.arrived(subscriptions, limitMs)
    const bed = { stage, sinks, pid }
    await send(bed, warmUpEvents)
    return await measure(bed)
  } finally {
    await stage.stop()
    untie()
    await sinks.stop()
  }
}

/** The relay lets one asker make 60 a minute. */
const perToken = 50

async function subscribe(stage: Stage, { urls }: Sinks): Promise<void> {
  const { relayUrl } = stage
  let headers = {}
  for (const [i, url] of urls.entries()) {
    if (i % perToken === 0) {
      const token = await stage.makeToken(['manage'])
      headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    }
    const body = JSON.stringify({ url, moments: ['scheduled'] })
    const response = await fetch(`${relayUrl}/v1/subscriptions`, { method: 'POST', headers, body })
    if (response.status !== 201) throw new Error(`not made: ${await response.text()}`)
  }
}

interface Sent {
  seconds: number
  /** Each delivery, with its time from the report, ms. */
  deliveries: { sink: number; tookMs: number }[]
}

/** All at once, or one in each `everyMs`. */
async function send({ stage, sinks }: Bed, events: number, everyMs = 0): Promise<Sent> {
  const port = Number(new URL(stage.relayUrl).port)
  const prepare = preparation(port, stage.secrets.fleetKey)
  const { eventIds, waves } = await planStorm({ events, members: 1 }, prepare)
  const sentAt = new Map<string, number>()
  const postSome = async (posts: Post[]) => {
    const connections = Math.min(posts.length, reportConnections)
    const { firstSentAt } = await postAll(port, posts, connections)
    for (const [event, at] of firstSentAt) sentAt.set(eventIds[event]!, at)
  }
  sinks.restart()
  const startedAt = performance.now()
  const lots = everyMs === 0 ? [waves[0]!] : waves[0]!.map((post) => [post])
  for (const [i, posts] of lots.entries()) {
    await sleep(Math.max(0, startedAt + i * everyMs - performance.now()))
    await postSome(posts)
  }
  const arrivals = await sinks.arrived(events * sinks.answering(), limitMs)
  const once = new Set(arrivals.map(({ sink, id }) => `${sink} ${id}`))
  if (once.size < arrivals.length) throw new Error('a sink got a message twice')
  const deliveries = arrivals.map(({ sink, id, at }) => {
    return { sink, tookMs: at - sentAt.get(eventIdIn(id))! }
  })
  return { seconds: (arrivals.at(-1)!.at - startedAt) / 1_000, deliveries }
}

/** A moment's id is `fleet/eventId/epoch/moment`. */
function eventIdIn(id: string): string {
  return id.split('/')[1]!
}

function timesOf({ deliveries }: Sent, of: (sink: number) => boolean = () => true): number[] {
  return deliveries.filter(({ sink }) => of(sink)).map(({ tookMs }) => tookMs)
}

async function measureBurst(bed: Bed): Promise<Figure[]> {
  const cpu = cpuSeconds(bed.pid)
  const sent = await send(bed, events)
  const perDelivery = (cpuSeconds(bed.pid) - cpu) / sent.deliveries.length
  const perSecond = sent.deliveries.length / sent.seconds
  const posts = [...bed.sinks.captured.values()]
  const figures: Figure[] = [
    { name: 'deliveries', value: perSecond, unit: '1/s' },
    ...times('burst report to sink', '', timesOf(sent)),
    { name: 'CPU per 1000 deliveries', value: perDelivery * 1_000, unit: 's' },
  ]
  for (const way of ways) {
    const bare = await measureBare(bed, posts, way)
    const ratio = way === ways[0] ? 'fanout ratio' : `fanout ratio to ${way}`
    figures.push(
      { name: `bare ${way}`, value: bare.perSecond, unit: '1/s' },
      { name: `bare ${way} CPU per 1000 deliveries`, value: bare.cpu * 1_000, unit: 's' },
      { name: ratio, value: perSecond / bare.perSecond, unit: '' },
    )
  }
  return figures
}

/** What undici alone can do, with what the sinks have received. */
async function measureBare({ stage, sinks }: Bed, posts: Captured[], way: string) {
  const plan: BarePlan = { urls: sinks.urls, connections: storedRate.atOnce, posts }
  const file = join(stage.directory, 'bare.json')
  await writeFile(file, JSON.stringify(plan))
  sinks.restart()
  const words = [file, way]
  const program = new Program('bare', 'test/bench/fanout/bare.ts', {}, undefined, words)
  const untie = tieToThisProcess(program.pid, file)
  const { seconds, cpuSeconds } = await program.waitFor('posted', undefined, limitMs)
  await program.ended
  untie()
  const count = posts.length * sinks.urls.length
  return { perSecond: count / Number(seconds), cpu: Number(cpuSeconds) / count }
}
