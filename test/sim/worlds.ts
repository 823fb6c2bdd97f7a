// Worlds in which everything fails, one after the other: each must keep every promise. A test file for each
// storage runs them, so that both use a core.
import { expect, test } from 'vitest'
import { isWhole } from '../support/whole.ts'
import { encounters } from './encounters.ts'
import type { FaultKind } from './faults.ts'
import { shrink, tell } from './story.ts'
import { createTotals } from './totals.ts'
import { type Options, runWorld } from './world.ts'

/** Those of Azure Tables take longer: a call of the store is many of the table. */
const runs = isWhole
  ? { sqlite: 50, azure: 10, postgres: 10 }
  : { sqlite: 15, azure: 4, postgres: 0 }
/** Worlds that are searched for something rare. */
const mostSeeds = 200
const seedsUpTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

/** `ground`: where a PostgreSQL listens, once it does. */
export function worlds(
  storage: keyof typeof runs,
  ground: () => Pick<Options, 'postgresPort'> = () => ({}),
): void {
  const count = runs[storage]

  test(`${count} worlds keep every promise`, { timeout: 240_000 }, async () => {
    const met = new Set<string>()
    const totals = createTotals()
    let drills = 0
    const live = async (seed: number, only: readonly FaultKind[] = []) => {
      const options = { storage, only: [...only], ...ground() }
      const outcome = await runWorld(seed, options)
      totals.add(outcome)
      for (const what of outcome.met) met.add(what)
      if (outcome.trace.some((line) => /commits \S+\/drill-\S+ completed/.test(line))) drills += 1
      if (outcome.broken.length === 0) return
      const smallest = await shrink(outcome, options)
      const without = outcome.faults.filter((kind) => !smallest.faults.includes(kind))
      expect.fail(tell(smallest, { without }))
    }
    for (const seed of seedsUpTo(count)) await live(seed)
    // a world in which nothing happens proves nothing
    expect(drills).toBeGreaterThan(count / 4)
    // what is rare is brought about where a world is cheap
    if (storage !== 'sqlite' || !isWhole) return
    for (const [what, faults] of encounters) {
      for (const seed of seedsUpTo(mostSeeds)) {
        if (met.has(what) || faults.length === 0) break
        await live(seed, faults)
      }
      expect([...met]).toContain(what)
    }
    const { broken, ...sums } = totals.sums
    expect(broken).toBe(0)
    for (const [name, value] of Object.entries(sums)) expect(value, name).toBeGreaterThan(0)
  })

  test('the same seed makes the same world, another one makes another', async () => {
    const world = (of: number) => runWorld(of, { storage, ...ground() })
    const [first, second] = [await world(21), await world(21)]
    expect(second.trace).toEqual(first.trace)
    expect(second.hash).toBe(first.hash)
    expect((await world(22)).hash).not.toBe(first.hash)
  })
}
