// Resident memory of a beacon as it is installed (bundled) after a minute's worth of polls, and of a
// relay that told one event.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { told } from '../support/expect.ts'
import { startStage } from '../support/stage.ts'
import type { Figure } from './figures.ts'
import { memoryMb } from './usage.ts'

const entry = fileURLToPath(new URL('../../beacon/main.ts', import.meta.url))
/** As `npm run bundle` does. */
const bundling = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
} as const
const pollSeconds = 0.3
const polls = 60

export async function memory(): Promise<Figure[]> {
  const stage = await startStage({ vms: [['web_0']] })
  try {
    const relay = await stage.startRelay()
    const file = join(stage.directory, 'beacon.mjs')
    await build({ entryPoints: [entry], outfile: file, ...bundling })
    const settings = {
      FOGHORN_POLL_SECONDS: String(pollSeconds),
      // as infra/vm/foghorn-beacon.service starts it
      NODE_OPTIONS: '--max-semi-space-size=1',
      NODE_COMPILE_CACHE: join(stage.directory, 'cache'),
    }
    const beacon = stage.startBeacon('web_0', settings, file)
    await beacon.waitFor('report_accepted')
    stage.simulator.createEvent({ EventType: 'Freeze', Resources: ['web_0'] })
    await told(stage, 'scheduled')
    await sleep(polls * pollSeconds * 1_000)
    return [
      { name: 'beacon memory', value: memoryMb(beacon.pid, 'VmRSS'), unit: 'MB' },
      { name: 'relay memory', value: memoryMb(relay.pid, 'VmRSS'), unit: 'MB' },
    ]
  } finally {
    await stage.stop()
  }
}
