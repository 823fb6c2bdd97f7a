// The storm against the relay in workerd, as `npm run dev:cloudflare` starts it, and its memory with
// many open events. Cloudflare's own machines are faster or slower; only the memory has a limit there.
import type { Figure } from './figures.ts'
import { postAll } from './storm/load.ts'
import { planStorm } from './storm/plan.ts'
import { startRelayTarget } from './storm/relay.ts'
import { measure } from './storm/storm.ts'
import { memoryMb } from './usage.ts'

/** 2,000 open events of 10,000 beacons: as many events as one fleet may have. */
const crowd = { events: 2_000, members: 5 }
const connections = 16

export async function cloudflare(): Promise<Figure[]> {
  const figures = await measure(await startRelayTarget('cloudflare'))
  const all = [...figures, ...(await measureCrowd())]
  return all.map((figure) => ({ ...figure, name: `cloudflare ${figure.name}` }))
}

async function measureCrowd(): Promise<Figure[]> {
  const target = await startRelayTarget('cloudflare')
  try {
    const idle = memoryMb(target.pid, 'VmRSS')
    const { waves } = await planStorm(crowd, target.prepare)
    await postAll(target.port, waves[0]!, connections)
    const full = memoryMb(target.pid, 'VmRSS')
    return [
      { name: 'memory of workerd, idle', value: idle, unit: 'MB' },
      { name: 'growth with 2000 open events and 10000 beacons', value: full - idle, unit: 'MB' },
    ]
  } finally {
    await target.stop()
  }
}
