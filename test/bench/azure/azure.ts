// `npm run bench -- azure`: the relay in the small Functions host, with Azurite for its storage. Azurite and the
// host's stand-in share this machine with it and are slower than Azure's own: these figures compare one
// version of the relay with another, and say little of Azure.
import { setTimeout as sleep } from 'node:timers/promises'
import { startStage } from '../../support/stage.ts'
import type { Figure } from '../figures.ts'
import { percentile } from '../figures.ts'
import { latency } from '../latency.ts'
import { storeReports } from '../throughput.ts'
import { cpuSeconds, memoryMb } from '../usage.ts'

const inFlight = [16, 64]
/** Many, so that no two reports of one are under way at once. */
const load = { beacons: 500, reportsPerBeacon: 3, open: false }
/** Each report brings an event of its own, from a beacon that is known. */
const news = { beacons: 300, reportsPerBeacon: 1, open: 'each', concurrency: 16 } as const
const channelsOfEvent = 2

export async function azure(): Promise<Figure[]> {
  return [...(await latency('azure')), ...(await reports()), ...(await eventReports())]
}

/** From reports with new events to their messages at two webhooks. */
export async function eventReports(): Promise<Figure[]> {
  const stage = await startStage({
    vms: [['web_0']],
    host: 'azure',
    isBundled: true,
    config: ({ webhookUrl }) => {
      const channel = { kind: 'webhook', url: webhookUrl, secret: 'env:HOOK_SECRET' }
      return {
        channels: { one: channel, two: channel },
        routes: [{ match: {}, channels: ['one', 'two'] }],
      }
    },
  })
  try {
    const { pid } = await stage.startRelay({ environment: { FOGHORN_LOG_LEVEL: 'info' } })
    await storeReports(stage, { ...news, open: false })
    const before = cpuSeconds(pid)
    const from = performance.now()
    const { count, times } = await storeReports(stage, news)
    const answeredMs = performance.now() - from
    while (stage.sinks.received.length < count * channelsOfEvent) await sleep(5)
    const takenMs = performance.now() - from
    const cpuMs = ((cpuSeconds(pid) - before) * 1_000) / count
    const name = `${news.concurrency} in flight`
    return [
      {
        name: `reports with a new event, ${name}`,
        value: (count * 1_000) / answeredMs,
        unit: '1/s',
      },
      {
        name: 'the same, until both messages arrived',
        value: (count * 1_000) / takenMs,
        unit: '1/s',
      },
      { name: `report with a new event, ${name}, p50`, value: percentile(times, 0.5), unit: 'ms' },
      { name: `report with a new event, ${name}, p95`, value: percentile(times, 0.95), unit: 'ms' },
      { name: 'processor time of a report with a new event', value: cpuMs, unit: 'ms' },
    ]
  } finally {
    await stage.stop()
  }
}

/** Heartbeats: nothing is scheduled, each beacon reports so often. */
async function reports(): Promise<Figure[]> {
  const stage = await startStage({ vms: [['web_0']], host: 'azure' })
  try {
    const { pid } = await stage.startRelay()
    // the first ones pay for what is compiled and connected once
    await storeReports(stage, { ...load, concurrency: 16 })
    const figures: Figure[] = []
    for (const concurrency of inFlight) {
      const before = cpuSeconds(pid)
      const { perSecond, times, count } = await storeReports(stage, { ...load, concurrency })
      const cpuMs = ((cpuSeconds(pid) - before) * 1_000) / count
      const name = `${concurrency} in flight`
      figures.push(
        { name: `reports accepted, ${name}`, value: perSecond, unit: '1/s' },
        { name: `report, ${name}, p50`, value: percentile(times, 0.5), unit: 'ms' },
        { name: `report, ${name}, p95`, value: percentile(times, 0.95), unit: 'ms' },
        { name: `processor time of a report, ${name}`, value: cpuMs, unit: 'ms' },
      )
    }
    return [...figures, { name: 'relay memory', value: memoryMb(pid, 'VmRSS'), unit: 'MB' }]
  } finally {
    await stage.stop()
  }
}
