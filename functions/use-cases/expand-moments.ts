// Plans the deliveries of subscriptions from the log of moments, page by page. Several workers may do
// this at once, and each may die anywhere: planning a delivery twice changes nothing, and the
// position moves only after all deliveries up to it are stored.
import { messageOf } from '../../shared/errors.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { LoggedMoment } from '../core/delivery/moment-log.ts'
import { hears, isHearing, planFor, type Subscription } from '../core/delivery/subscription.ts'
import { listSubscriptions, readExpansion, writeExpansion } from '../store/memos.ts'
import type { Relay } from './relay.ts'

/** Moments in one step of the position. */
const pageSize = 20
/** Deliveries in one write. Each write touches a page on disk for every subscription. */
const maxAdded = 1_000
/** How often to look for commits of other processes: they do not ring the bell of this one. */
const lookEveryMs = 2_000

type Parts = Pick<Relay, 'store' | 'now'>

/**
 * Plans the deliveries of one page of moments, so that sending goes on in between. `expanded`: it
 * planned some, and there is no more. It reads moments before subscriptions, so that a subscription
 * that becomes active meanwhile misses no later moment.
 */
export async function expandPage(relay: Parts): Promise<'done' | 'expanded' | 'more'> {
  const { store } = relay
  const from = await positionFor(relay, await listSubscriptions(store))
  if (from === undefined) return 'done'
  const moments = await store.readMoments(from.position, pageSize, relay.now())
  const last = moments.at(-1)
  if (last === undefined) return 'done'
  await addAll(relay, moments, await listSubscriptions(store))
  // after a conflict, another worker goes on
  const written = await writeExpansion(store, last.position, from.version)
  return written === 'conflict' || moments.length === pageSize ? 'more' : 'expanded'
}

/** Where to go on. Undefined, and nothing read, if there is no subscription that hears moments. */
async function positionFor({ store }: Parts, subscriptions: Subscription[]) {
  const starts = subscriptions.filter(isHearing).map(({ hearsFrom }) => hearsFrom)
  if (starts.length === 0) return undefined
  const { version, position } = await readExpansion(store)
  return { version, position: Math.max(position, Math.min(...starts)) }
}

async function addAll(
  { store, now }: Parts,
  moments: LoggedMoment[],
  subscriptions: Subscription[],
): Promise<void> {
  let planned: Delivery[] = []
  for (const moment of moments) {
    for (const one of subscriptions.filter((each) => hears(each, moment))) {
      planned.push(planFor(one, moment, now()))
      if (planned.length < maxAdded) continue
      await store.addDeliveries(planned)
      planned = []
    }
  }
  if (planned.length > 0) await store.addDeliveries(planned)
}

interface Expander {
  /**
   * Expands if there may be something new. `expanded`: there are new deliveries. `more`: call again
   * at once. Logs errors.
   */
  expand(): Promise<'done' | 'expanded' | 'more' | 'failed'>
}

/** For a host: looks only after a commit of this process, and every two seconds. */
export function createExpander(relay: Relay): Expander {
  let seen = -1
  let lookAt = Number.NEGATIVE_INFINITY
  return {
    async expand() {
      const { rung } = relay.bell
      const at = relay.now()
      // if the clock was set back, a time too far ahead does not count
      if (rung === seen && at < lookAt && lookAt <= at + lookEveryMs) return 'done'
      try {
        const expanded = await expandPage(relay)
        seen = rung
        lookAt = expanded === 'more' ? at : at + lookEveryMs
        return expanded
      } catch (error) {
        relay.log.error('expansion_failed', { error: messageOf(error) })
        return 'failed'
      }
    },
  }
}
