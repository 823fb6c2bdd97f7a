// Subscriptions in the store, a row for each. All are read at once with each step that has moments.
import { byId, createRows } from '../../store/small-rows.ts'
import type { SmallRowStore } from '../../store/store.ts'
import type { Subscription } from './rule.ts'

export const subscriptionRows = createRows<Subscription, string>('subscription', byId)

export async function loadSubscriptions(
  store: SmallRowStore,
  isNews: boolean,
): Promise<{ allSubscribed?: Subscription[] }> {
  return isNews ? { allSubscribed: await subscriptionRows.list(store) } : {}
}
