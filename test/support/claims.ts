// Claiming without a thought of rates.
import type { Claimed } from '../../functions/core/delivery/delivery.ts'
import { unlimited } from '../../functions/core/delivery/rate.ts'
import type { ClaimRequest, DeliveryStore, Pacing } from '../../functions/store/store.ts'
import { at } from './records.ts'

/** Every channel takes whatever comes. */
export const free: Pacing = { now: at, rateOf: () => unlimited, roomOf: () => 1_000 }

/** As `free`, with enough under way to these channels. */
export function freeBut(...busy: string[]): Pacing {
  return { ...free, roomOf: (channel) => (busy.includes(channel) ? 0 : 1_000) }
}

/** What a claim takes, of channels that take whatever comes and one in each request. */
export async function claim(
  store: DeliveryStore,
  request: Partial<ClaimRequest> & Pick<ClaimRequest, 'limit'>,
): Promise<Claimed[]> {
  const whole = { leaseMs: 20_000, ...free, ...request }
  return (await store.claim(whole)).requests.flat()
}
