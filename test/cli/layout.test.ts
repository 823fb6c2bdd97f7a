// What fits into a terminal of 100 columns.
import { describe, expect, test } from 'vitest'
import { describeOutcome, table, wrap } from '../../functions/cli/layout.ts'
import { event } from '../support/world.ts'

describe('a sentence wraps', () => {
  const word = 'abcdefghi'
  test.each([
    ['a short one', 'one two', ['- one two']],
    ['a full line', Array(10).fill(word).join(' ').slice(0, 98), 1],
    ['one letter more', `${Array(10).fill(word).join(' ').slice(0, 98)}x`, 2],
    ['a word that is too long stays whole', 'x'.repeat(150), [`- ${'x'.repeat(150)}`]],
  ])('%s', (_, text, expected) => {
    const lines = wrap(text, '- ', '  ')
    if (typeof expected === 'number') expect(lines).toHaveLength(expected)
    else expect(lines).toEqual(expected)
    expect(lines.map((line) => line.trim().replace(/^- /, '')).join(' ')).toBe(text)
  })
})

describe('the table', () => {
  const told = [
    { moment: 'scheduled', channels: ['a', 'long-name'] },
    { moment: 'lost', channels: [] },
  ]
  test('has a column for each channel, by name', () => {
    expect(table(told, ['a', 'long-name', 'c'])).toEqual([
      '             a  long-name  c',
      '  scheduled  x      x      -',
      '  lost       -      -      -',
    ])
  })

  test('has numbers for names that do not fit, and stays within 100 columns', () => {
    const names = Array.from({ length: 20 }, (_, i) => `channel-with-a-long-name-${i}`)
    const reminder = { moment: 'reminder 604800 s', channels: [names[19]!] }
    const lines = table([...told, reminder], names)
    expect(lines[0]).toMatch(/^ {2}1 channel-with-a-long-name-0, 2 /)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
    const [head, last] = [lines.at(-4)!, lines.at(-1)!]
    expect(head.endsWith(' 19  20')).toBe(true)
    expect(last.indexOf('x')).toBeGreaterThan(head.indexOf('19') + 1)
  })
})

describe('who may decide', () => {
  const one = { fleet: 'prod', event: event(), vms: [], noticeSeconds: 900 }
  const outcome = { decide: 'ask' as const, asked: [], routes: [], told: [], buttons: [] }
  const lines = (more: object) =>
    describeOutcome(one, { ...outcome, ...more, told: [{ moment: 'lost', channels: [] }] }, [])
  test.each<[string, object, string]>([
    ['the link', { deciders: 'anybody' }, 'whoever has the link, and the admin key'],
    [
      'people',
      { deciders: ['slack:T0/U1'], buttons: ['ops'] },
      'slack:T0/U1, the admin key; by buttons in ops',
    ],
    ['nobody', { deciders: [] }, 'nobody but the admin key: no one is on the list of every VM'],
  ])('%s', (_, more, said) => {
    expect(lines(more).join(' ')).toContain(`Who may decide: ${said}`)
  })

  test('is not said where there is nothing to decide', () => {
    expect(lines({}).join(' ')).not.toContain('Who may decide')
  })
})
