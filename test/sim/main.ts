// `npm run sim`: worlds, one for each seed, on all cores. At the end come the stories of seeds that broke,
// the lowest first. The last line sums up.
import { command, exitCodes, type Io, wrong } from '../../functions/cli/command.ts'
import { startPostgres } from '../support/postgres.ts'
import { readKinds } from './faults.ts'
import { storages } from './storages.ts'
import { shrink, tell } from './story.ts'
import { runSeeds } from './threads.ts'
import { createTotals } from './totals.ts'
import { type Options, runWorld } from './world.ts'

const maxStories = 5
const everySeeds = 200

export const sim = command({
  usage: '',
  about: `
Simulates worlds in which beacons, relays, channels and the network fail, and checks every promise.

Environment:
  SEED (1)          the first world
  RUNS (1000)       how many
  STORAGE (sqlite)  the store: ${Object.keys(storages).join(' or ')}
  WITHOUT, ONLY     kinds of faults, by commas: none of these, or these in every world and no others
  MET=1             lists what the worlds met

Exit codes: 0 if every promise was kept, otherwise 1.

Example:
  SEED=7 RUNS=100 npm run sim`,
  async run({ io }) {
    const { environment } = io
    const storage = storageOf(environment.STORAGE ?? 'sqlite')
    const server = storage === 'postgres' ? await startPostgres() : undefined
    const options = {
      ...(server && { postgresPort: server.port }),
      without: readKinds(environment.WITHOUT ?? ''),
      only: readKinds(environment.ONLY ?? ''),
      storage,
    }
    try {
      return await simulate(options, io)
    } finally {
      await server?.stop()
    }
  },
})

async function simulate(options: Options, io: Io): Promise<number> {
  const { environment, print, progress } = io
  const first = numberOf(environment, 'SEED', 1)
  const count = numberOf(environment, 'RUNS', 1_000)
  const totals = createTotals()
  const met = new Map<string, number>()
  const broken: number[] = []
  await runSeeds({ first, count }, options, (ran) => {
    const lines = Math.floor(totals.sums.seeds / everySeeds)
    totals.addSums(ran.sums)
    for (const [what, times] of ran.met) met.set(what, (met.get(what) ?? 0) + times)
    for (const { seed, promise } of ran.broken) {
      broken.push(seed)
      print(`seed ${seed} breaks "${promise}"`)
    }
    const more = Math.floor(totals.sums.seeds / everySeeds) > lines
    if (more && totals.sums.seeds < count) print(totals.line())
    progress(`${totals.sums.seeds} of ${count} worlds`)
  })
  for (const seed of broken.sort((a, b) => a - b).slice(0, maxStories)) {
    await tellOf(seed, options, io)
  }
  if (environment.MET) for (const [what, times] of met) print(`met ${times}: ${what}`)
  print(totals.line())
  return totals.sums.broken > 0 ? exitCodes.broken : exitCodes.fine
}

async function tellOf(seed: number, options: Options, { print }: Io) {
  const outcome = await runWorld(seed, options)
  const smallest = await shrink(outcome, options)
  const left = outcome.faults.filter((kind) => !smallest.faults.includes(kind))
  print(tell(smallest, { ...options, without: [...(options.without ?? []), ...left] }))
}

function numberOf(environment: NodeJS.ProcessEnv, name: string, usual: number): number {
  const value = Number(environment[name] ?? usual)
  if (Number.isInteger(value) && value >= 0) return value
  throw wrong(`${name} is "${environment[name]}"; write a whole number`)
}

function storageOf(name: string): keyof typeof storages {
  if (Object.hasOwn(storages, name)) return name as keyof typeof storages
  throw wrong(`STORAGE is "${name}"; write one of ${Object.keys(storages).join(', ')}`)
}
