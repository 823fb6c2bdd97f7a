// Whether an event that is back keeps an owner's note.
import { expect, test } from 'vitest'
import type { EndedRecord } from '../../../functions/core/event/event.ts'
import { reopened } from '../../../functions/core/event/is-back.ts'
import type { Reporter } from '../../../functions/core/event/sight.ts'
import { at, record } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const polledAt = at + 60_000
const reporter: Reporter = {
  ...{ beacon: 'id-web_0', vm: 'web_0', resourceGroup: 'rg', scaleSet: '', tags: {} },
  ...{ bootId: 'boot', counter: 2, heardAt: polledAt, polledAt, bootedAt: 0 },
}

test.each([
  ['a word alone', { by: 'azure' } as const, 'Call us'],
  ['what VMs showed', {}, undefined],
])('after an end by %s', (_, how, expected) => {
  const ownerNote = { text: 'Call us', at, by: { how: 'admin', who: 'admin' } as const }
  const ended = record({ ended: { at, outcome: 'cancelled', ...how }, ownerNote }) as EndedRecord
  const listening = { now: polledAt, listeningSince: 0 }
  expect(reopened(ended, reporter, event(), listening).ownerNote?.text).toBe(expected)
})
