// Names take turns, and who asks seldom goes first.
import { expect, test } from 'vitest'
import { createTurns } from '../../functions/http/turns.ts'

function begin(...names: string[]) {
  const turns = createTurns<number>()
  let next = 0
  const come = (...some: string[]) => {
    for (const name of some) turns.add(name, next++)
  }
  come(...names)
  const take = (count: number) =>
    Array.from({ length: count }, () => turns.take()?.name ?? '-').join('')
  return { turns, come, take }
}

test('names take turns, and the items of one name keep their order', () => {
  const { turns, come, take } = begin('a', 'a', 'a', 'b', 'b', 'c')
  expect(turns.countOf('a')).toBe(3)
  expect(take(7)).toBe('abcaba-')
  come('a', 'a')
  expect([turns.take(), turns.take()].map((one) => one?.item)).toEqual([6, 7])
  expect(turns.countOf('a')).toBe(0)
})

test('who had no turn in the round before goes first, whoever waits', () => {
  const { come, take } = begin('a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c')
  expect(take(4)).toBe('abca')
  come('x')
  expect(take(3)).toBe('xbc')
  // the round before has become x's, so this is its turn of the round that ends
  come('x')
  expect(take(1)).toBe('x')
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

test('new names cannot hold up a name for more than one turn each', () => {
  const { come, take } = begin('a', 'a', 'a', 'a', 'b', 'b', 'b')
  expect(take(2)).toBe('ab')
  for (const name of 'cdefg') {
    come(name, name)
    take(1)
  }
  // all have had a turn now
  expect(take(7)).toContain('a')
})
