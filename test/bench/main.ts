// `npm run bench [-- NAME...]`: measures, and prints the figures.
import { command, text, wrong } from '../../functions/cli/command.ts'
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
import { flood } from './flood/flood.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { path } from './path.ts'
import { postgres } from './postgres.ts'
import { storm } from './storm/storm.ts'
import { throughput } from './throughput.ts'

const benches: Record<string, (minutes: number) => Promise<Figure[]>> = {
  latency: () => latency(),
  approval: () => approval(),
  throughput,
  storm,
  fanout,
  memory,
  path,
  crowd,
  flood,
  azure,
  'azure-events': eventReports,
  'cold-start': coldStart,
  cloudflare,
  cost,
  beacon,
  console: consolePages,
  postgres,
}

export const bench = command({
  usage: '[NAME...] [--minutes N]',
  about: `
Measures each NAME (default: all), and prints each figure as a line "name: value unit". Everything
is real but Azure and the channels, and all of it shares this machine.

  NAME          ${Object.keys(benches).slice(0, 8).join(', ')},
                ${Object.keys(benches).slice(8).join(', ')}
  --minutes N   how long beacons are watched (default: 60 if the bench is named, else 5)`,
  options: { minutes: text },
  words: { least: 0, most: 100 },
  async run({ options, words: wanted, io }) {
    const minutes = Number(options.minutes ?? (wanted.includes('beacon') ? 60 : 5))
    const unknown = wanted.find((name) => !Object.hasOwn(benches, name))
    if (unknown !== undefined) {
      const names = Object.keys(benches).join(', ')
      throw wrong(`there is no bench "${unknown}"; there are: ${names}`)
    }
    if (!(minutes >= 0.5 && minutes <= 24 * 60)) {
      throw wrong(`--minutes is "${options.minutes}"; write a number from 0.5 to 1440`)
    }
    for (const [name, measure] of Object.entries(benches)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue
      io.progress(`${name} …`)
      for (const figure of await measure(minutes)) {
        io.print(`${figure.name}: ${round(figure.value)} ${figure.unit}`.trimEnd())
      }
    }
  },
})

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
