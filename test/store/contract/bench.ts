// Shared by the parts of the contract.
import { expect } from 'vitest'
import type { Commit, EventKey, EventStore, Store } from '../../../functions/store/store.ts'
import { free } from '../../support/claims.ts'
import { at } from '../../support/records.ts'

/** The store of the running test. */
export interface Bench {
  readonly store: Store
  reopen(): Promise<Store>
}

/** All that a store returns about some events, to check that nothing was written. */
export async function contentsOf(store: Store, keys: EventKey[]) {
  const parts = keys.map(async (key) => ({
    event: await store.readEvent(key),
    deliveries: await store.readDeliveries(key),
  }))
  return { events: await Promise.all(parts), nextDueAt: await store.nextDueAt(free) }
}

export async function expectCommitted(
  store: EventStore,
  commit: Partial<Commit> & Pick<Commit, 'record'>,
): Promise<void> {
  const whole = { basedOn: 0, deliveries: [], moments: [], now: at, ...commit }
  expect(await store.commit(whole)).toBe('committed')
}
