// `npm run sim`: worlds, one for each seed, on all cores. `SEED` is the first (1), `RUNS` is how
// many (1000), and `STORAGE` chooses the store. `WITHOUT` leaves out kinds of faults. `ONLY` has
// the kinds it names in every world, and no others. `MET=1` lists what the worlds met. At the end
// come the stories of seeds that broke, the lowest first. The last line sums up.
import { readKinds } from './faults.ts'
import { storages } from './storages.ts'
import { shrink, tell } from './story.ts'
import { runSeeds } from './threads.ts'
import { createTotals } from './totals.ts'
import { runWorld } from './world.ts'

const maxStories = 5
const everySeeds = 1_000

const first = numberOf('SEED', 1)
const count = numberOf('RUNS', 1_000)
const options = {
  without: readKinds(process.env.WITHOUT ?? ''),
  only: readKinds(process.env.ONLY ?? ''),
  storage: storageOf(process.env.STORAGE ?? 'sqlite'),
}
const totals = createTotals()
const met = new Map<string, number>()
const broken: number[] = []
await runSeeds({ first, count }, options, (ran) => {
  const thousands = Math.floor(totals.sums.seeds / everySeeds)
  totals.addSums(ran.sums)
  for (const [what, times] of ran.met) met.set(what, (met.get(what) ?? 0) + times)
  for (const { seed, promise } of ran.broken) {
    broken.push(seed)
    say(`seed ${seed} breaks "${promise}"`)
  }
  const more = Math.floor(totals.sums.seeds / everySeeds) > thousands
  if (more && totals.sums.seeds < count) say(totals.line())
})
for (const seed of broken.sort((a, b) => a - b).slice(0, maxStories)) await tellOf(seed)
if (process.env.MET) for (const [what, times] of met) say(`met ${times}: ${what}`)
say(totals.line())
if (totals.sums.broken > 0) process.exitCode = 1

async function tellOf(seed: number): Promise<void> {
  const outcome = await runWorld(seed, options)
  const smallest = await shrink(outcome, options)
  const left = outcome.faults.filter((kind) => !smallest.faults.includes(kind))
  say(tell(smallest, { ...options, without: [...options.without, ...left] }))
}

function numberOf(name: string, usual: number): number {
  const value = Number(process.env[name] ?? usual)
  if (Number.isInteger(value) && value >= 0) return value
  throw new Error(`${name} is "${process.env[name]}"; write a whole number`)
}

function storageOf(name: string): keyof typeof storages {
  if (Object.hasOwn(storages, name)) return name as keyof typeof storages
  throw new Error(`STORAGE is "${name}"; write one of ${Object.keys(storages).join(', ')}`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
