// The storm against the relay in workerd, as `npm run dev:cloudflare` starts it, and many open events
// while its heap is limited. Cloudflare's own machines may be faster or slower.
import type { Figure } from './figures.ts'
import { postAll } from './storm/load.ts'
import { planStorm } from './storm/plan.ts'
import { startRelayTarget } from './storm/relay.ts'
import { measure } from './storm/storm.ts'
import { memoryMb } from './usage.ts'

/** 2,000 open events of 10,000 beacons: as many events as one fleet may have. */
const crowd = { events: 2_000, members: 5 }
const connections = 16
/** A signature is valid for 5 minutes, so the reports are made and sent in parts. */
const parts = 20
/** V8 ends the process if one of its heaps needs more. Cloudflare allows an object 128 MB. */
const heapMb = 32

export async function cloudflare(): Promise<Figure[]> {
  const figures = await measure(await startRelayTarget('cloudflare'))
  const all = [...figures, ...(await measureCrowd())]
  return all.map((figure) => ({ ...figure, name: `cloudflare ${figure.name}` }))
}

async function measureCrowd(): Promise<Figure[]> {
  const flags = { MINIFLARE_WORKERD_V8_FLAGS: `--max-heap-size=${heapMb}` }
  const target = await startRelayTarget('cloudflare', flags)
  try {
    const idle = memoryMb(target.pid, 'VmRSS')
    for (let part = 0; part < parts; part++) {
      const share = { ...crowd, events: crowd.events / parts }
      const { waves } = await planStorm(share, target.prepare)
      await postAll(target.port, waves[0]!, connections)
    }
    const full = memoryMb(target.pid, 'VmRSS')
    return [
      { name: 'limit of each heap', value: heapMb, unit: 'MB' },
      { name: 'memory of workerd, idle', value: idle, unit: 'MB' },
      { name: 'growth with 2000 open events and 10000 beacons', value: full - idle, unit: 'MB' },
    ]
  } finally {
    await target.stop()
  }
}
