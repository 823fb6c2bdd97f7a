// Names take turns, and who asks seldom goes first.
import { expect, test } from 'vitest'
import { createTurns } from '../../functions/http/turns.ts'

function begin(...names: string[]) {
  const turns = createTurns<string>()
  const come = (...some: string[]) => {
    for (const name of some) turns.add(name, name)
  }
  come(...names)
  const take = (count: number) => Array.from({ length: count }, () => turns.take() ?? '-').join('')
  return { turns, come, take }
}

test('names take turns, and the items of one name keep their order', () => {
  const { turns, take } = begin('a', 'a', 'a', 'b', 'b', 'c')
  expect(turns.countOf('a')).toBe(3)
  expect(take(7)).toBe('abcaba-')
  turns.add('a', '1')
  turns.add('a', '2')
  expect(take(2)).toBe('12')
  expect(turns.countOf('a')).toBe(0)
})

test('who asked nothing in the last laps goes first, three times and once for this lap', () => {
  const { come, take } = begin(...'abc'.repeat(9))
  expect(take(13)).toBe('abcabcabcabca')
  for (const then of ['x', 'x', 'x', 'bcx']) {
    come('x')
    expect(take(then.length)).toBe(then)
  }
  come('x')
  expect(take(4)).toBe('abcx')
})

test('who asks again at once is no faster than those who wait', () => {
  const { come, take } = begin('a', 'b', 'a', 'b', 'a', 'b', 'x')
  expect(take(3)).toBe('abx')
  come('x')
  expect(take(3)).toBe('abx')
  come('x')
  expect(take(3)).toBe('abx')
})

test('a new name that asks without end goes first for a few turns only', () => {
  const { come, take } = begin(...'ab'.repeat(9))
  expect(take(7)).toBe('abababa')
  come(...'c'.repeat(9))
  expect(take(10)).toBe('cccbcabcab')
})

test('nobody keeps turns of a time in which nobody waited', () => {
  const { come, take } = begin(...'ab'.repeat(6))
  expect(take(13)).toBe('abababababab-')
  come('a', 'b', 'x')
  expect(take(3)).toBe('abx')
})
