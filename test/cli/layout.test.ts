// Output for a terminal of 100 columns.
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../functions/check/dry-run.ts'
import { describeOutcome, table, wrap } from '../../functions/cli/layout.ts'
import { event, startAt } from '../support/world.ts'

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
  const notified = [
    { moment: 'scheduled', channels: ['a', 'long-name'] },
    { moment: 'lost', channels: [] },
  ]
  test('has a column for each channel, by name', () => {
    expect(table(notified, ['a', 'long-name', 'c'])).toEqual([
      '             a  long-name  c',
      '  scheduled  ●      ●      ·',
      '  lost       ·      ·      ·',
    ])
  })

  test('has numbers for names that do not fit, and stays within 100 columns', () => {
    const names = Array.from({ length: 20 }, (_, i) => `channel-with-a-long-name-${i}`)
    const reminder = { moment: 'reminder 604800 s', channels: [names[19]!] }
    const lines = table([...notified, reminder], names)
    expect(lines[0]).toMatch(/^ {2}1 channel-with-a-long-name-0, 2 /)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
    const [head, last] = [lines.at(-4)!, lines.at(-1)!]
    expect(head.endsWith(' 19  20')).toBe(true)
    expect(last.indexOf('●')).toBeGreaterThan(head.indexOf('19') + 1)
  })
})

describe('what the table can not say', () => {
  const one = { fleet: 'prod', event: event(), vms: [], noticeSeconds: 900, at: startAt }
  const by = { rule: 'policy[1]', whyNot: undefined }
  const rest = { decide: 'ask' as const, rules: [by], routes: [], buttons: [] }
  const said = (more: Partial<Outcome>) => {
    const lines = describeOutcome(one, { ...rest, notified: [], ...more } as Outcome, ['a', 'b'])
    return lines.join(' ').replace(/\s+/g, ' ')
  }
  const scheduled = (...channels: string[]) => ({ moment: 'scheduled', channels })
  const until =
    "after the VM's own beacon has reported this event. If another beacon reports it first, until then"

  test('an end that comes only after something else', () => {
    const notified = [
      ...[scheduled('a'), { moment: 'reminder 300 s', channels: ['a', 'b'] }],
      { moment: 'changed', channels: ['b'] },
      ...['completed', 'lost'].map((moment) => ({
        moment,
        channels: ['a', 'b'],
        onlyAfter: ['b'],
      })),
    ]
    expect(said({ notified })).toContain(
      ' b is notified of completed and lost only after reminder 300 s or changed.',
    )
    expect(said({ notified })).not.toContain(' a is notified of')
  })

  test.each<[string, NonNullable<Outcome['before']>, string]>([
    [
      'others are notified',
      { decide: 'ask', by, notified: scheduled('b', 'a') },
      `${until} "scheduled" goes to a and b, which then receive all later messages.`,
    ],
    [
      'nobody is notified',
      { decide: 'ask', by, notified: scheduled() },
      `${until} "scheduled" goes to no channel.`,
    ],
    [
      'another rule decides',
      { decide: 'approve', by: { rule: 'policy[2]', whyNot: undefined }, notified: scheduled('a') },
      `${until} the policy decides "approve" (by policy[2]).`,
    ],
    [
      'no rule decides',
      { decide: 'ask', by: undefined, notified: scheduled('a', 'b') },
      `${until} the policy decides "ask" (no rule matches) and "scheduled" goes to a and b, which`,
    ],
  ])('%s before the VM is known', (_, before, text) => {
    expect(said({ notified: [scheduled('a')], before })).toContain(text)
  })

  test('nothing, where there is nothing', () => {
    expect(said({ notified: [scheduled('a')] })).not.toMatch(/only after|own beacon/)
  })
})

describe('who may decide', () => {
  const one = { fleet: 'prod', event: event(), vms: [], noticeSeconds: 900, at: startAt }
  const nothing = { rules: [], routes: [], notified: [], buttons: [] }
  const outcome = { decide: 'ask' as const, waits: undefined, ...nothing }
  const lines = (more: object) =>
    describeOutcome(one, { ...outcome, ...more, notified: [{ moment: 'lost', channels: [] }] }, [])
  test.each<[string, object, string]>([
    ['the link', { deciders: 'anybody' }, 'anyone with the link, the admin key, and tokens'],
    [
      'people',
      { deciders: ['slack:T0/U1'], buttons: ['ops'] },
      'slack:T0/U1, the admin key, tokens; by buttons in ops',
    ],
    [
      'nobody',
      { deciders: [] },
      'only the admin key or a token: nobody is on the list of every affected VM',
    ],
  ])('%s', (_, more, said) => {
    expect(lines(more).join(' ')).toContain(`Who may decide: ${said}`)
  })

  test('a rule that waits says for what, and when people are asked', () => {
    const waits = { whenReady: true as const, maxConcurrent: 1 }
    const text = lines({ decide: 'approve', waits, deciders: 'anybody' }).join(' ')
    expect(text).toContain('approve once every affected VM is ready, with at most 1 VM of a group')
    expect(text).toContain('the admin key, and tokens; people are asked only if the rule')
  })

  test('is not said where there is nothing to decide', () => {
    expect(lines({}).join(' ')).not.toContain('Who may decide')
  })
})
