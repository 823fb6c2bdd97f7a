// What counts as a problem of the relay itself, and when it is over.
import { describe, expect, test } from 'vitest'
import { channelProblems } from '../../../functions/features/problems/rule-own.ts'
import { at } from '../../support/records.ts'

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
