import { expect, test } from 'vitest'
import { roundRobin } from '../../../functions/core/delivery/round-robin.ts'

const queues = [
  { fleet: 'b', waiting: ['b1', 'b2', 'b3'] },
  { fleet: 'a', waiting: ['a1'] },
  { fleet: 'c', waiting: ['c1', 'c2'] },
]

test.each<[last: string | undefined, most: number, taken: string[]]>([
  [undefined, 9, ['b1', 'a1', 'c1', 'b2', 'c2', 'b3']],
  [undefined, 1, ['b1']],
  ['a', 1, ['b1']],
  ['b', 1, ['c1']],
  ['c', 1, ['a1']],
  // a fleet that has nothing waiting any more
  ['bb', 2, ['c1', 'a1']],
  ['z', 2, ['a1', 'b1']],
  ['b', 4, ['c1', 'a1', 'b1', 'c2']],
  ['b', 0, []],
])('after %s, %i messages: %j', (last, most, taken) => {
  expect(roundRobin(queues, last, most)).toEqual(taken)
})

test('one fleet alone keeps its order, and nothing waiting is nothing', () => {
  expect(roundRobin([queues[0]!], 'b', 2)).toEqual(['b1', 'b2'])
  expect(roundRobin([], 'b', 2)).toEqual([])
})
