// Signed reports that the relay verifies, judges and stores durably, from 100 beacons of one tenant
// with an event open: all over HTTP to a process of its own, with this process as the load.
import { randomUUID } from 'node:crypto'
import { Agent, fetch } from 'undici'
import { fleetHeader, reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { event } from '../support/world.ts'
import { type Figure, percentile } from './figures.ts'

const beaconCount = 100
const reportsPerBeacon = 100
const concurrency = 32

export async function throughput(): Promise<Figure[]> {
  const stage = await startStage({ vms: [['web_0']] })
  try {
    await stage.startRelay()
    const { perSecond, times } = await storeReports(stage, { reportsPerBeacon, concurrency })
    return [
      { name: 'reports accepted', value: perSecond, unit: '1/s' },
      { name: 'report p50', value: percentile(times, 0.5), unit: 'ms' },
      { name: 'report p99', value: percentile(times, 0.99), unit: 'ms' },
    ]
  } finally {
    await stage.stop()
  }
}

interface Plan {
  beacons?: number
  reportsPerBeacon: number
  concurrency: number
  /** Whether they all see one event, as they do unless this is false. `each`: every report brings a new one. */
  open?: boolean | 'each'
}

/** All over HTTP to the stage's relay. Beacons are new each time. */
export async function storeReports(stage: Stage, plan: Plan) {
  const dispatcher = new Agent({ connections: plan.concurrency })
  const requests = await prepare(stage, plan)
  const times: number[] = []
  const startedAt = performance.now()
  let next = 0
  const worker = async () => {
    while (next < requests.length) times.push(await send(stage, dispatcher, requests[next++]!))
  }
  await Promise.all([...Array(plan.concurrency)].map(worker))
  const seconds = (performance.now() - startedAt) / 1000
  await dispatcher.close()
  return { perSecond: requests.length / seconds, count: requests.length, times }
}

interface Prepared {
  body: string
  headers: Record<string, string>
}

/** Signed beforehand, so that the load costs as little as it can. */
async function prepare(stage: Stage, plan: Plan): Promise<Prepared[]> {
  const prepared: Prepared[] = []
  const { open = true, beacons = beaconCount } = plan
  const bootIds = [...Array(beacons)].map(() => randomUUID())
  const notBeforeAt = Date.now() + 15 * 60_000
  const shared = open === true ? [event({ notBeforeAt })] : []
  for (let counter = 1; counter <= plan.reportsPerBeacon; counter++) {
    for (const [i, bootId] of bootIds.entries()) {
      const events = open === 'each' ? [event({ eventId: randomUUID(), notBeforeAt })] : shared
      const body = JSON.stringify({
        version: 1,
        vm: { name: `web_${i}`, vmId: `vm-${i}`, resourceGroup: 'rg' },
        beacon: { version: 'bench', bootId, counter, uptimeMs: 1e6 },
        document: { ageMs: 0, apiVersion: '2020-07-01', events },
        changes: [],
        starts: [],
      })
      const signature = await sign([stage.secrets.fleetKey], randomUUID(), Date.now(), body)
      prepared.push({ body, headers: { ...signature, [fleetHeader]: fleetName } })
    }
  }
  return prepared
}

async function send(stage: Stage, dispatcher: Agent, { body, headers }: Prepared): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(`${stage.relayUrl}${reportPath}`, {
    method: 'POST',
    body,
    headers,
    dispatcher,
  })
  const answer = (await response.json()) as { outcome?: string }
  if (answer.outcome !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(answer)}`)
  return performance.now() - startedAt
}
