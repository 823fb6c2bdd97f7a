// The order of the stages of an open event: which pairs give another result if they change places, in what a
// simulation concludes. All others commute, so their place says nothing.
import { expect, test } from 'vitest'
import { type Conclusion, inert, type Life, type Stage } from '../../functions/core/event/stage.ts'
import { stages } from '../../functions/core/event/stages.ts'
import { runWorld } from './world.ts'

const names = [
  'mutes',
  'unheard',
  'scope',
  'told',
  'weighing',
  'stuck',
  'reminder',
  'arm',
  'inventory',
]
/** In which all pairs below have met. */
const worlds = 60
/** Of each pair, why the first comes first. */
const reasons = {
  'scope told': 'people hear in the same step that their approval expired',
  'scope weighing': 'a rule may approve what has become of the event',
  'told weighing': 'the moment of the event itself is before that of its approval',
  'told stuck': 'and before that it is stuck',
  'told reminder': 'and before a reminder',
  'weighing reminder': 'nobody is reminded of what a rule has just approved',
}

async function conclusions(): Promise<[Life, Conclusion][]> {
  const found: [Life, Conclusion][] = []
  const record: Stage = {
    ...inert,
    step(life, at) {
      found.push([life, at])
      return life
    },
  }
  const list = stages as Stage[]
  list.unshift(record)
  try {
    for (let seed = 1; seed <= worlds; seed++) await runWorld(seed, {})
  } finally {
    list.shift()
  }
  return found
}

const apply = (order: readonly Stage[], life: Life, at: Conclusion) =>
  order.reduce((so, stage) => stage.step(so, at), life)

/** Whether the two give the same in both orders, after the stages before the first of them. */
function commute(i: number, j: number, all: [Life, Conclusion][]): boolean {
  const [one, other] = [stages[i]!, stages[j]!]
  return all.every(([life, at]) => {
    const before = apply(stages.slice(0, i), life, at)
    const both = [apply([one, other], before, at), apply([other, one], before, at)]
    return JSON.stringify(both[0]) === JSON.stringify(both[1])
  })
}

test('the pairs of stages that do not commute', { timeout: 600_000 }, async () => {
  expect(stages).toHaveLength(names.length)
  const all = await conclusions()
  expect(all.length).toBeGreaterThan(1_000)
  const pairs = names.flatMap((name, i) =>
    names
      .slice(i + 1)
      .flatMap((other, n) => (commute(i, i + 1 + n, all) ? [] : [`${name} ${other}`])),
  )
  expect(pairs).toEqual(Object.keys(reasons))
})
