// `npm run bench [-- NAME...] [--minutes N]`: each figure as a line `name: value unit`. Everything is
// real but Azure and the channels, and all of it shares this machine. `--minutes` is how long beacons
// are watched: an hour if the bench is named, else some minutes.
import { parseArgs } from 'node:util'
import { approval } from './approval.ts'
import { azure, eventReports } from './azure/azure.ts'
import { coldStart } from './azure/cold-start.ts'
import { beacon } from './beacon.ts'
import { cloudflare } from './cloudflare.ts'
import { consolePages } from './console/console.ts'
import { cost } from './cost/cost.ts'
import { crowd } from './crowd.ts'
import { fanout } from './fanout/fanout.ts'
import type { Figure } from './figures.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { path } from './path.ts'
import { storm } from './storm/storm.ts'
import { throughput } from './throughput.ts'

const { values, positionals: wanted } = parseArgs({
  options: { minutes: { type: 'string' } },
  allowPositionals: true,
})
const minutes = Number(values.minutes ?? (wanted.includes('beacon') ? 60 : 5))

const benches: Record<string, () => Promise<Figure[]>> = {
  latency: () => latency(),
  approval: () => approval(),
  throughput,
  storm,
  fanout,
  memory,
  path,
  crowd,
  azure,
  'azure-events': eventReports,
  'cold-start': coldStart,
  cloudflare,
  cost,
  beacon: () => beacon(minutes),
  console: consolePages,
}

const unknown = wanted.filter((name) => !(name in benches))
if (unknown.length > 0) {
  const names = Object.keys(benches).join(', ')
  process.stderr.write(`There is no bench "${unknown[0]}"; there are: ${names}\n`)
  process.exit(2)
}
if (!(minutes >= 0.5 && minutes <= 24 * 60)) {
  process.stderr.write(`--minutes is "${values.minutes}"; write a number from 0.5 to 1440\n`)
  process.exit(2)
}
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  for (const figure of await bench()) {
    const line = `${figure.name}: ${round(figure.value)} ${figure.unit}`
    process.stdout.write(`${line.trimEnd()}\n`)
  }
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
