// Rows that the store keeps in memory: what was read lately, within limits of rows and characters.
import { describe, expect, test } from 'vitest'
import { Kept } from '../../functions/store/sqlite/kept.ts'

const keep = (rows: number, characters: number) => new Kept<string>({ rows, characters })
const names = Array.from({ length: 100 }, (_, i) => `row ${i}`)
const held = (kept: Kept<string>) => names.filter((name) => kept.get(name) !== undefined)

describe('rows in memory', () => {
  test.each([
    ['rows', 10, 1_000_000, 1],
    ['characters', 1_000, 1_000, 100],
  ])('at most as many %s as allowed, and the newest', (_, rows, characters, length) => {
    const kept = keep(rows, characters)
    for (const name of names) kept.set(name, name, length)
    expect(held(kept).length).toBeLessThanOrEqual(10)
    expect(held(kept)).toContain('row 99')
  })

  test('a row that is read again and again stays', () => {
    const kept = keep(1_000, 1_000)
    for (const name of names) {
      kept.set(name, name, 100)
      expect(kept.get('row 0')).toBe('row 0')
    }
  })

  test('a row that is replaced counts once', () => {
    const kept = keep(1_000, 1_000)
    kept.set('row 0', 'first', 100)
    for (let i = 0; i < 50; i++) kept.set('row 1', `${i}`, 100)
    expect([kept.get('row 0'), kept.get('row 1')]).toEqual(['first', '49'])
  })

  test('a row that is too long is not kept, nor what it replaces', () => {
    const kept = keep(1_000, 1_000)
    kept.set('row 0', 'short', 100)
    kept.set('row 0', 'long', 501)
    expect(kept.get('row 0')).toBe(undefined)
  })

  test('none, if none may be kept', () => {
    const kept = keep(0, 1_000)
    kept.set('row 0', 'value', 1)
    expect(kept.get('row 0')).toBe(undefined)
  })

  test('none that was deleted', () => {
    const kept = keep(4, 1_000)
    for (const name of names.slice(0, 3)) kept.set(name, name, 1)
    kept.delete('row 0')
    kept.delete('row 2')
    expect(held(kept)).toEqual(['row 1'])
    kept.clear()
    expect(held(kept)).toEqual([])
  })
})
