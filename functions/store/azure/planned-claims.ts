// Claims what this worker has just committed, without a look at the index. The surprise: it takes
// nothing of a channel that still rests from its last requests. Others may wait for that channel,
// and only a look at the index gives each fleet its turn.
import type { Claimed } from '../../core/delivery/delivery.ts'
import type { ClaimRequest, EventKey, PlannedClaims } from '../store.ts'
import type { NewEvents } from './new-events.ts'
import type { Parts } from './parts.ts'
import { channelsPartition, type Pending, type Spent, toSpent } from './pending.ts'
import {
  eventPartition,
  type Held,
  isInOrder,
  isPending,
  ranges,
  toDelivery,
  toHeldEvent,
} from './stored.ts'
import type { Taker } from './take.ts'

/** Leases the deliveries of these events, as `Store.claim` does. */
export async function claimPlanned(
  parts: Parts,
  taker: Taker,
  fresh: NewEvents,
  events: EventKey[],
  request: ClaimRequest,
): Promise<PlannedClaims> {
  const { rows, together } = parts
  const names = [...new Set(events.map(eventPartition))]
  const reads = names.map((partition) => async (): Promise<Pending[]> => {
    const known = fresh.take(partition, request.now)
    const event = known ?? toHeldEvent(await rows.list(partition, ranges.whole))
    const pending = event.deliveries.filter(isPending)
    return pending.map((held) => ({
      held,
      event,
      partition,
      nextAt: isInOrder(held, event) ? held.stored.delivery.nextAt : Number.POSITIVE_INFINITY,
    }))
  })
  const pending = (await together(reads)).flat()
  const due = pending.filter(({ nextAt }) => nextAt <= request.now)
  const channels = Map.groupBy(due, ({ held }) => held.stored.delivery.channel)
  const isPaced = [...channels.keys()].some((channel) => request.rateOf(channel).everyMs > 0)
  const spends = isPaced ? await readSpends(parts) : new Map<string, Held<Spent>>()
  let free = request.limit
  const works = [...channels].flatMap(([channel, own]) => {
    const spent = spends.get(channel)
    const spentUntil = spent?.stored.spentUntil ?? 0
    const limit = Math.min(request.roomOf(channel), free)
    if (limit <= 0 || spentUntil > request.now) return []
    const waiting = { channel, spentUntil, spent, fleets: [] }
    const choice = taker.choose({ waiting, pending: own }, { ...request, limit })
    free -= choice.slots
    return choice.slots === 0 ? [] : [() => taker.take(choice, request, parts.newId())]
  })
  const taken = (await together(works)).flatMap(({ requests }) => requests)
  const requests = taken.map((group) => group.map((one) => withKnown(one, taker)))
  return { requests, isAll: requests.flat().length === pending.length }
}

async function readSpends({ rows }: Parts): Promise<Map<string, Held<Spent>>> {
  const found = await rows.list(channelsPartition, { from: '', to: '~' })
  return new Map(found.map(toSpent).map((one) => [one.stored.channel, one]))
}

/** What was read of its event saves the sender two reads. */
function withKnown(claimed: Claimed, taker: Taker): Claimed {
  const held = taker.heldBy(claimed)
  if (held === undefined) return claimed
  const siblings = held.deliveries.map(({ stored }) =>
    toDelivery(stored, held.views.get(stored.view)),
  )
  return Object.assign(claimed, { known: { record: held.event?.stored.record, siblings } })
}
