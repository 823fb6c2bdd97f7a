// What a simulation is worth shows in whether it finds a relay that is broken on purpose. Each is found in
// the world whose number stands beside it; a number that is out of date fails with the right one.
import { describe, expect, test } from 'vitest'
import { simFeatures } from '../features/sim.ts'
import type { FaultKind } from './faults.ts'
import { spoilt, spoiltConfigs, spoiltTables } from './spoilt.ts'
import { shrink, tell } from './story.ts'
import { type Options, runWorld } from './world.ts'

/** Worlds that are searched for the right number. */
const mostSeeds = 200

const ofFeatures = simFeatures.flatMap(({ spoilt }) => Object.entries(spoilt))

/** Of each broken relay, the quickest world that shows it. */
const shownIn: Record<string, number> = {
  'no dedup id': 8,
  'settle without lease check': 10,
  'beacon written before the event': 4,
  'overtaking off': 7,
  'posts forgotten': 5,
  'marks forgotten': 26,
  'turns forgotten': 2,
  'a moment read twice': 1,
  'compare-and-set off': 13,
  '"not now" kept as an approval': 1,
  'whenReady ignored': 2,
  'a rule goes on after its time': 14,
  'nothing is shipped': 8,
  'approvers ignored': 3,
  'on azure, index entries written after the row': 22,
  'on azure, index entries without names of their own': 4,
  'on azure, a lost answer taken for a lost race': 8,
  ...Object.fromEntries(ofFeatures.map(([name, { shownIn }]) => [name, shownIn])),
}
/** What brings about faults that are rare elsewhere. */
const causes: Record<string, FaultKind[]> = {
  'a lost answer taken for a lost race': ['store_slow'],
  'settle without lease check': ['relay_stalls', 'store_slow', 'channel_slow'],
  'overtaking off': ['channel_busy', 'channel_fails'],
  'marks forgotten': ['channel_refuses'],
  'compare-and-set off': ['store_slow'],
}
/** The same for the fault of a table: a process dies between two of its calls. */
const deadly: FaultKind[] = ['relay_crashes', 'store_slow']

const relays: [string, Options][] = [
  ...Object.entries(spoilt).map(([name, spoil]): [string, Options] => [
    name,
    { spoil, only: causes[name] ?? [] },
  ]),
  ...Object.entries(spoiltConfigs).map(([name, spoilConfig]): [string, Options] => {
    return [name, { spoilConfig }]
  }),
  ...Object.entries(spoiltTables).map(([name, spoilTable]): [string, Options] => {
    return [`on azure, ${name}`, { storage: 'azure', spoilTable, only: causes[name] ?? deadly }]
  }),
]

async function isFoundIn(seed: number, options: Options): Promise<boolean> {
  const { broken } = await runWorld(seed, options)
  // a world that never ends shows no cause, but with a spoilt table there may be no other sign: a
  // pending message that no worker finds
  const isShown = 'spoilTable' in options || broken.some(({ promise }) => promise !== 'ending')
  return broken.length > 0 && isShown
}

test.each(relays)('found: %s', { timeout: 300_000 }, async (name, options) => {
  const known = shownIn[name] ?? 0
  if (known > 0 && (await isFoundIn(known, options))) return
  for (let seed = 1; seed <= mostSeeds; seed++) {
    if (await isFoundIn(seed, options)) expect.fail(`write '${name}': ${seed} into shownIn`)
  }
  expect.fail(`no world of ${mostSeeds} shows it`)
})

describe('a story', () => {
  test('says how to replay it, and names the faults that it takes', async () => {
    const name = '"not now" kept as an approval'
    const options = { spoil: spoilt[name]! }
    const outcome = await runWorld(shownIn[name]!, options)
    const story = tell(await shrink(outcome, options), {})
    expect(story).toContain(`SEED=${outcome.seed} RUNS=1 npm run sim`)
    expect(story.split('\n').length).toBeLessThan(80)
    const other = tell({ ...outcome, storage: 'azure' }, {})
    expect(other).toContain(`replay: STORAGE=azure SEED=${outcome.seed}`)
  })
})
