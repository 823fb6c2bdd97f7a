// What counts as a problem of the relay itself, and when it is over.
import { describe, expect, test } from 'vitest'
import { channelProblems, isNearlyFull } from '../../../functions/core/delivery/own-trouble.ts'
import { at } from '../../support/records.ts'

const gb = 1_000_000_000

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

describe('channels in trouble', () => {
  const refusing = (channel: string) => ({
    ...{ state: 'refusing' as const, channel, of: '', since: at, note: 'HTTP 404', alert: at },
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
    const { add } = channelProblems([refusing(channel)], channels, owners, [], at)
    expect(add?.map(({ id }) => id)).toEqual(isTold ? [channel] : [])
  })

  test('what is no longer in trouble is back, and what no longer exists has left', () => {
    const known = ['pager', 'chat', 'gone'].map((id) => ({ id, name: id, since: at, from: at }))
    const found = channelProblems([refusing('chat')], channels, ['pager'], known, at)
    expect(found).toMatchObject({ add: [{ id: 'chat' }], back: ['pager'], left: ['gone'] })
  })
})
