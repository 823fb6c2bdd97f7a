// Whether somebody can tell Azure of an approval: a millisecond before and after.
import { describe, expect, test } from 'vitest'
import { unheard } from '../../../functions/core/event/unheard.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { compose } from '../../../functions/core/message/message.ts'
import { at, type Fields, facts, openRecord, record, sight } from '../../support/records.ts'

const silentMs = 3 * 60_000
const listening = (now: number, listeningSince = 0) => ({ now, listeningSince })

function step(changes: Fields, now: number, listeningSince = 0) {
  const before = openRecord({ ...changes } as never)
  const at = { before, from: before, isShown: true, rules: [], reminders: [] }
  const conclusion = { ...at, listening: listening(now, listeningSince) }
  return unheard.step({ record: before, moments: [] }, conclusion).record.unheard
}

const web0 = sight('web_0')

describe('nobody can tell Azure', () => {
  test.each<[string, Fields, number, object | undefined]>([
    ['its VM is silent', { sights: [web0] }, silentMs + 1, { since: at, vms: ['web_0'], count: 1 }],
    ['a millisecond sooner', { sights: [web0] }, silentMs, undefined],
    [
      'an onlooker is heard',
      { sights: [web0, sight('web_9', { heardAt: at + 1 })] },
      silentMs + 1,
      undefined,
    ],
    [
      'all are silent: since the last one was heard',
      { sights: [web0, sight('web_9', { heardAt: at + 1 })] },
      silentMs + 2,
      { since: at + 1, vms: ['web_0', 'web_9'], count: 2 },
    ],
    [
      'a VM of another resource group is heard, which may not tell Azure',
      {
        facts: facts({ home: { resourceGroup: 'rg' } }),
        sights: [web0, sight('web_9', { heardAt: at + 1, resourceGroup: 'other' })],
      },
      silentMs + 1,
      { since: at, vms: ['web_0'], count: 1 },
    ],
    ['nobody shows it yet', { sights: [] }, silentMs + 1, undefined],
    [
      'its document lacks the event',
      { sights: [sight('web_0', { missing: { firstAt: at, lastSeenAt: at } })] },
      silentMs + 1,
      undefined,
    ],
    [
      'Azure lists it, so the relay itself can',
      { sights: [web0], azure: { outside: { listed: true } as never } },
      silentMs + 1,
      undefined,
    ],
    [
      'it has started',
      { sights: [web0], phase: 'started', started: { at } },
      silentMs + 1,
      undefined,
    ],
  ])('%s', (_, changes, ms, found) => {
    expect(step(changes, at + ms)).toEqual(found)
  })

  test('not before the relay has listened for as long', () => {
    expect(step({ sights: [web0] }, at + silentMs + 1, at + 1)).toBeUndefined()
  })

  test('the relay looks when the last one falls silent', () => {
    const both = openRecord({ sights: [web0, sight('web_9', { heardAt: at + 7 })] })
    const times = { rules: [], reminders: [], listening: listening(at + 8) }
    expect(unheard.nextAt(both, times)).toBe(at + 7 + silentMs + 1)
  })
})

test.each([
  [
    1,
    'web_0, the only VM that sees this, has been silent since 12:00 UTC. An approval waits until it reports.',
  ],
  [
    2,
    'web_0 and web_1, the only VMs that see this, have been silent since 12:00 UTC. An approval waits until one of them reports.',
  ],
])('a message says so first (%i)', (count, text) => {
  const vms = ['web_0', 'web_1'].slice(0, count)
  const event = toView(record({ unheard: { since: at, vms, count } }))
  const { lines } = compose({ moment: 'reminder', at, event }, at + 60_000)
  expect(lines.slice(0, 2).join(' ')).toBe(text)
})
