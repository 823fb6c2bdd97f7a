// Which lines a wall shows at which time.
import { expect, test } from 'vitest'
import { linesInTurn } from '../../../functions/pages/browser/lines.ts'

const turnMs = 15_000

test.each([
  ['all fit', 5, 8, 0, { shown: 1, of: 1, from: 0, to: 8 }],
  ['the first part', 9, 4, turnMs - 1, { shown: 1, of: 3, from: 0, to: 4 }],
  ['the second part', 9, 4, turnMs, { shown: 2, of: 3, from: 4, to: 8 }],
  ['the last part', 9, 4, 2 * turnMs, { shown: 3, of: 3, from: 8, to: 12 }],
  ['the first one again', 9, 4, 3 * turnMs, { shown: 1, of: 3, from: 0, to: 4 }],
  ['none fits', 2, 0, turnMs, { shown: 2, of: 2, from: 1, to: 2 }],
  ['no line has a height yet', 1, Number.POSITIVE_INFINITY, 0, { shown: 1, of: 1, from: 0, to: 1 }],
])('%s', (_, count, fits, now, turn) => {
  expect(linesInTurn(count, fits, now)).toEqual(turn)
})
