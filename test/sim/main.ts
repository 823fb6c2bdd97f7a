// `npm run sim`: worlds, one seed after another. `SEED` is the first (1), `RUNS` how many (1000),
// `WITHOUT` kinds of faults to leave out, `STORAGE` what the relays keep their rows in. Prints the story of what breaks; its last line sums up.
import { readWithout } from './faults.ts'
import { storages } from './storages.ts'
import { shrink, tell } from './story.ts'
import { createTotals } from './totals.ts'
import { runWorld } from './world.ts'

const maxStories = 5
const everySeeds = 1_000

const first = numberOf('SEED', 1)
const runs = numberOf('RUNS', 1_000)
const without = readWithout(process.env.WITHOUT ?? '')
const storage = storageOf(process.env.STORAGE ?? 'sqlite')
const totals = createTotals()
for (let seed = first; seed < first + runs; seed++) {
  const outcome = await runWorld(seed, { without, storage })
  totals.add(outcome)
  if (outcome.broken.length > 0 && totals.sums.broken <= maxStories) {
    const smallest = await shrink(outcome, { without, storage })
    const left = outcome.faults.filter((kind) => !smallest.faults.includes(kind))
    say(tell(smallest, [...without, ...left]))
  } else if (outcome.broken.length > 0) say(`seed ${seed} breaks "${outcome.broken[0]!.promise}"`)
  if (totals.sums.seeds % everySeeds === 0 && totals.sums.seeds < runs) say(totals.line())
}
say(totals.line())
if (totals.sums.broken > 0) process.exitCode = 1

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
