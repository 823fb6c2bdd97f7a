// What one worker's look at the queues says of deliveries that another worker sends.
import { expect, test } from 'vitest'
import { claim } from '../support/claims.ts'
import { at, delivery, record } from '../support/records.ts'
import { openStore, storeOver } from '../support/stores.ts'
import { expectCommitted } from './contract/bench.ts'

test('it looks again in 2 s, as the request may end long before the lease', async () => {
  const one = openStore()
  const other = storeOver(one.rows)
  await expectCommitted(one, { record: record(), deliveries: [delivery('a')] })
  await claim(one, { leaseMs: 20_000, limit: 1 })
  const pacing = {
    now: at,
    rateOf: () => ({ everyMs: 0, burst: 1, together: 1, atOnce: 4 }),
    roomOf: () => 4,
  }
  expect(await one.nextDueAt(pacing)).toBe(at + 20_000)
  expect(await other.nextDueAt(pacing)).toBe(at + 2_000)
  one.close()
})
