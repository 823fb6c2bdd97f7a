// `npm run bench [-- NAME]`: each figure as a line `name: value unit`. Everything is real but Azure and
// the channels, and all of it shares this machine.

import { approval } from './approval.ts'
import { azure } from './azure/azure.ts'
import { coldStart } from './azure/cold-start.ts'
import { cost } from './cost/cost.ts'
import type { Figure } from './figures.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { storm } from './storm/storm.ts'
import { throughput } from './throughput.ts'

const benches: Record<string, () => Promise<Figure[]>> = {
  ...{ latency: () => latency(), approval: () => approval(), throughput, storm, memory },
  ...{ azure, 'cold-start': coldStart, cost },
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in benches))
if (unknown.length > 0) {
  const names = Object.keys(benches).join(', ')
  process.stderr.write(`There is no bench "${unknown[0]}"; there are: ${names}\n`)
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
