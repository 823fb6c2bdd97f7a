// What counts as a trouble of the relay itself, and when it is over.
import { describe, expect, test } from 'vitest'
import {
  afterLook,
  type Backlog,
  backlogIn,
  backlogMs,
  backlogTrouble,
  changeFor,
  channelTrouble,
  clockJumpMs,
  clockTrouble,
  isNearlyFull,
  minBacklog,
  steadyMs,
  watchedSince,
} from '../../../functions/core/delivery/own-trouble.ts'
import { at } from '../../support/records.ts'

const gb = 1_000_000_000
const minute = 60_000

describe('a disk', () => {
  test.each<[string, number, number, boolean, boolean]>([
    ['of 1 TB with 2 GB free', 2 * gb, 1_000 * gb, false, false],
    ['of 1 TB with less', 2 * gb - 1, 1_000 * gb, false, true],
    ['of 1 TB that was nearly full, with a little more', 2.3 * gb, 1_000 * gb, true, true],
    ['of 1 TB that was nearly full, with 2.4 GB', 2.4 * gb, 1_000 * gb, true, false],
    ['of 5 GB with a tenth', 0.5 * gb, 5 * gb, false, false],
    ['of 5 GB with less than a tenth', 0.49 * gb, 5 * gb, false, true],
    ['that is full', 0, 20 * gb, false, true],
    ['of a system that reports no size', 0, 0, false, false],
  ])('%s', (_, freeBytes, totalBytes, wasOn, isOn) => {
    expect(isNearlyFull({ freeBytes, totalBytes }, wasOn)).toBe(isOn)
  })
})

describe('a clock', () => {
  /** Looks after each of these steps: how far the wall clock moved, and the time that passed. */
  function seen(wasOn: boolean, ...steps: [wall: number, passed: number][]) {
    let watch = watchedSince({ wall: at, monotonic: 5_000 })
    for (const [wall, passed] of steps) {
      const { last } = watch
      watch = afterLook(watch, { wall: last.wall + wall, monotonic: last.monotonic + passed })
    }
    const { items, reasons } = clockTrouble(watch, wasOn)
    return { isOn: items.length > 0, reasons }
  }

  test.each<[string, boolean, [number, number][], boolean, string[]]>([
    ['that is corrected gradually', false, [[5 * minute + 2_000, 5 * minute]], false, []],
    ['that nearly jumps', false, [[clockJumpMs - 1, 0]], false, []],
    ['that jumps forward', false, [[3 * 60 * minute, 0]], true, ['3 h forward']],
    ['that is set back', false, [[-2 * minute, 0]], true, ['2 min back']],
    [
      'that jumped a while ago',
      true,
      [
        [-2 * minute, 0],
        [steadyMs - 1, steadyMs - 1],
      ],
      true,
      ['2 min back'],
    ],
    [
      'that has been steady since',
      true,
      [
        [-2 * minute, 0],
        [steadyMs, steadyMs],
      ],
      false,
      [],
    ],
    ['of a relay that has just restarted, after a jump', true, [[minute, minute]], true, []],
    ['of a relay that restarted long ago, after a jump', true, [[steadyMs, steadyMs]], false, []],
  ])('%s', (_, wasOn, steps, isOn, reasons) => {
    expect(seen(wasOn, ...steps)).toEqual({ isOn, reasons })
  })
})

describe('a backlog', () => {
  const long = at - backlogMs
  const many = minBacklog
  test.each<[string, Backlog, Backlog | undefined, boolean, boolean]>([
    ['that stays as long', { pending: many, since: long }, { pending: many }, false, true],
    ['that grows', { pending: many + 9, since: long }, { pending: many }, false, true],
    ['that shrinks', { pending: many, since: long }, { pending: many + 1 }, false, false],
    ['at the first look', { pending: many, since: long }, undefined, false, false],
    ['that is young', { pending: many, since: long + 1 }, { pending: many }, false, false],
    ['of few messages', { pending: many - 1, since: long }, { pending: 1 }, false, false],
    [
      'that shrinks, and is still long',
      { pending: many, since: long },
      { pending: 99 },
      true,
      true,
    ],
    ['that is nearly empty', { pending: 1, since: long }, { pending: 1 }, true, false],
    ['that is empty', { pending: 0 }, { pending: 50 }, true, false],
  ])('%s', (_, now, before, wasOn, isOn) => {
    expect(backlogTrouble(now, before, wasOn, at).items.length > 0).toBe(isOn)
  })

  test('leaves out channels in trouble, other states and what the configuration lacks', () => {
    const of = (one: string, two = 'pending', fleet = 'prod') => ({
      ...{ what: 'delivery' as const, fleet, one, two, n: 7 },
    })
    const tally = {
      ...{ at, undecided: [] },
      counts: [
        of('chat'),
        of('chat', 'pending', 'test'),
        of('chat', 'refused'),
        of('gone'),
        of('down'),
      ],
      oldest: [
        { fleet: 'prod', channel: 'down', plannedAt: at - 9 },
        { fleet: 'prod', channel: 'chat', plannedAt: at - 5 },
        { fleet: 'test', channel: 'chat', plannedAt: at - 6 },
      ],
    }
    expect(backlogIn(tally, ['chat', 'down'], ['down'])).toEqual({ pending: 14, since: at - 6 })
  })
})

describe('channels in trouble', () => {
  const refusing = (channel: string) => ({
    ...{ state: 'refusing' as const, channel, of: '', since: at, note: 'HTTP 404' },
  })
  const channels = {
    chat: { kind: 'slack' },
    pager: { kind: 'pagerduty', fallback: 'chat' },
    hook: { kind: 'webhook', fallback: 'pager' },
  }
  test.each<[string, string, string[], boolean]>([
    ['one without a fallback', 'chat', ['pager'], true],
    ['one whose fallback is an owner, which is alerted by itself', 'pager', ['chat'], false],
    ['one whose fallback is no owner', 'hook', ['chat'], true],
    ['one that is the only owner', 'chat', ['chat'], false],
    ['one without owners', 'chat', [], false],
  ])('%s', (_, channel, owners, isTold) => {
    const { items } = channelTrouble([refusing(channel)], channels, owners)
    expect(items.map(({ id }) => id)).toEqual(isTold ? [channel] : [])
  })
})

test('what is no longer in trouble is back, and what no longer exists has left', () => {
  const items = [{ id: 'chat', name: 'chat', since: at - 9 }]
  const trouble = { kind: 'channels_in_trouble' as const, items, reasons: ['so'] }
  const change = changeFor(trouble, ['pager', 'chat', 'gone'], (id) => id !== 'gone', at)
  expect(change).toEqual({
    add: [{ id: 'chat', name: 'chat', since: at - 9, from: at }],
    ...{ back: ['pager'], left: ['gone'], reasons: ['so'] },
  })
})
