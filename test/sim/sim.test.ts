// The whole system in a world of its own: real beacons, two real relays over one real store, and everything
// that can go wrong between them, by seed. A failure prints how to replay it and what happened.
import { describe, expect, test } from 'vitest'
import { spoilt } from './spoilt.ts'
import { shrink, tell } from './story.ts'
import { createTotals } from './totals.ts'
import { runWorld } from './world.ts'

const seeds = 200
const spoiltSeeds = 500

test(`${seeds} worlds keep every promise`, { timeout: 120_000 }, async () => {
  const totals = createTotals()
  for (let seed = 1; seed <= seeds; seed++) {
    const outcome = await runWorld(seed)
    totals.add(outcome)
    if (outcome.broken.length === 0) continue
    const smallest = await shrink(outcome)
    expect.fail(
      tell(
        smallest,
        outcome.faults.filter((kind) => !smallest.faults.includes(kind)),
      ),
    )
  }
  // a world in which nothing happens proves nothing
  for (const [name, value] of Object.entries(totals.sums)) {
    if (name === 'broken') expect(value).toBe(0)
    else expect(value, name).toBeGreaterThan(seeds / 40)
  }
})

test('the same seed makes the same world, another one makes another', async () => {
  for (const seed of [3, 8, 16, 21]) {
    const [first, second] = [await runWorld(seed), await runWorld(seed)]
    expect(second.trace).toEqual(first.trace)
    expect(second.hash).toBe(first.hash)
    expect((await runWorld(seed + 1)).hash).not.toBe(first.hash)
  }
})

describe('a relay that is broken on purpose is found', () => {
  test.each(Object.entries(spoilt))('%s', { timeout: 120_000 }, async (_name, spoil) => {
    for (let seed = 1; seed <= spoiltSeeds; seed++) {
      const { broken } = await runWorld(seed, { spoil })
      // a world that never ends shows that something is wrong, and not what
      if (broken.some(({ promise }) => promise !== 'ending')) return
    }
    expect.fail(`no world of ${spoiltSeeds} shows it`)
  })
})

test('a story says how to replay it, and names the faults that it takes', async () => {
  const options = { spoil: spoilt['no settle time']! }
  for (let seed = 1; seed <= spoiltSeeds; seed++) {
    const outcome = await runWorld(seed, options)
    if (outcome.broken.length === 0) continue
    const story = tell(await shrink(outcome, options), [])
    expect(story).toContain(`SEED=${seed} RUNS=1 npm run sim`)
    expect(story.split('\n').length).toBeLessThan(80)
    return
  }
  expect.fail('nothing broke')
})
