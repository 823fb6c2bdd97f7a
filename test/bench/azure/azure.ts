// `npm run bench -- azure`: the relay in the small Functions host, with Azurite for its storage. Azurite and the
// host's stand-in share this machine with it and are slower than Azure's own: these figures compare one
// version of the relay with another, and say little of Azure.

import { startStage } from '../../support/stage.ts'
import type { Figure } from '../figures.ts'
import { percentile } from '../figures.ts'
import { latency } from '../latency.ts'
import { storeReports } from '../throughput.ts'
import { cpuSeconds, memoryMb } from '../usage.ts'

const inFlight = [16, 64]
/** Many, so that no two reports of one are under way at once. */
const load = { beacons: 500, reportsPerBeacon: 3, open: false }

export async function azure(): Promise<Figure[]> {
  return [...(await latency('azure')), ...(await reports())]
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
