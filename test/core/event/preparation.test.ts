// What the relay's answer says of a VM's hook `prepare`.
import { expect, test } from 'vitest'
import { type EventRecord, withEnd } from '../../../functions/core/event/event.ts'
import { preparationFor } from '../../../functions/core/event/preparation.ts'
import { at, facts, record } from '../../support/records.ts'

const alone = { decide: 'approve' as const, rule: 'hooks', maxConcurrent: 1 }
const inTurns = { ...alone, whenReady: true as const }
const waiting = record({ policy: inTurns, facts: facts({ notBeforeAt: at + 60_000 }) })
const own = { vm: waiting.facts.resources[0]!, document: [] }

test.each<[string, EventRecord, 'now' | 'hold' | undefined]>([
  ['waits for its turn', waiting, 'hold'],
  ['has its turn', { ...waiting, wait: { slot: { state: 'held', wish: '' } } }, 'now'],
  ['waits for its turn to be approved', { ...waiting, policy: alone }, 'hold'],
  [
    'waited in vain, so people are asked',
    { ...waiting, policy: { ...alone, decide: 'ask' } },
    undefined,
  ],
  ['has no rule with turns', record(), undefined],
  ['seems over, and may come back', withEnd(waiting, { at, outcome: 'cancelled' }), 'hold'],
])('an event that %s', (_, event, when) => {
  expect(preparationFor(event, own, at)).toBe(when)
})
