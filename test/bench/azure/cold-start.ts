// `npm run bench -- cold-start`: the bundle that is deployed, in the small Functions host, a new process each time.
// Azure adds to this what it takes to find an instance, to start its own host, and to fetch the package.
import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Stage, startStage } from '../../support/stage.ts'
import { type Figure, percentile } from '../figures.ts'
import { storeReports } from '../throughput.ts'
import { folderMb } from '../usage.ts'

const starts = 7
const host = 'test/bench/azure/cold-host.ts'
const root = fileURLToPath(new URL('../../..', import.meta.url))
const app = 'dist/azure'

export async function coldStart(): Promise<Figure[]> {
  await promisify(execFile)(process.execPath, ['infra/foghorn.mjs', 'bundle', '--without-config'], {
    cwd: root,
  })
  const stage = await startStage({ vms: [['web_0']], host: 'azure' })
  try {
    // the table is there already, as it is in Azure after the first day
    await start(stage, firstReport)
    const healthy = await several(() => start(stage, firstHealth))
    const reported = await several(() => start(stage, firstReport))
    return [
      ms('module load', [...healthy, ...reported], 'loadMs'),
      ms('cold start to the first answered request', healthy, 'answeredMs'),
      ms('cold start to the first accepted report', reported, 'answeredMs'),
      { name: 'bundle size', value: (await folderMb(join(root, app))) * 1_000, unit: 'KB' },
      { name: 'largest file of the bundle', value: await largestKb(), unit: 'KB' },
    ]
  } finally {
    await stage.stop()
  }
}

interface Started {
  loadMs: number
  answeredMs: number
}

function ms(name: string, started: Started[], field: keyof Started): Figure {
  const values = started.map((one) => one[field])
  return { name: `${name}, p50 of ${values.length}`, value: percentile(values, 0.5), unit: 'ms' }
}

async function several(run: () => Promise<Started>): Promise<Started[]> {
  const results: Started[] = []
  for (let i = 0; i < starts; i++) results.push(await run())
  return results
}

/** From before the process exists until it has answered. */
async function start(stage: Stage, ask: (stage: Stage) => Promise<unknown>): Promise<Started> {
  const from = performance.now()
  const environment = { FUNCTIONS_ENTRY: join(app, 'main.mjs') }
  const relay = await stage.startRelay({ file: host, environment })
  await ask(stage)
  const answeredMs = performance.now() - from
  const { loadMs } = await relay.waitFor('functions_host_started')
  await relay.stop()
  return { answeredMs, loadMs: Number(loadMs) }
}

async function firstHealth({ relayUrl }: Stage): Promise<void> {
  const response = await fetch(`${relayUrl}/healthz`)
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
}

function firstReport(stage: Stage) {
  const one = { beacons: 1, reportsPerBeacon: 1, concurrency: 1, open: false }
  return storeReports(stage, one)
}

async function largestKb(): Promise<number> {
  const names = await readdir(join(root, app))
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(root, app, name))).size),
  )
  return Math.max(...sizes) / 1_000
}
