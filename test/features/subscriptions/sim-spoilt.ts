// Relays whose subscriptions are broken on purpose, each by a store that does not keep one promise.
import { type Delivery, readStoredId } from '../../../functions/core/delivery/delivery.ts'
import type { SmallRow, Store } from '../../../functions/store/store.ts'
import type { SimFeature, Spoil } from '../../sim/feature.ts'

/** A commit plans deliveries to subscriptions as this makes them. */
function planned(make: (deliveries: Delivery[]) => Delivery[]): (store: Store) => Store {
  return (store) => ({
    ...store,
    commit: (commit, before) => {
      const own = commit.deliveries.filter(({ channel }) => readStoredId(channel) !== undefined)
      const others = commit.deliveries.filter((one) => !own.includes(one))
      return store.commit({ ...commit, deliveries: [...others, ...make(own)] }, before)
    },
  })
}

/** Now and then, a moment is planned for nobody. */
const momentSkipped: Spoil = () => {
  let count = 0
  return planned((own) => (++count % 5 === 0 ? [] : own))
}

/** A delivery has another id each time it is planned. */
const newIds: Spoil = () => {
  let count = 0
  return planned((own) => own.flatMap((one) => [one, { ...one, id: `${one.id}/${++count}` }]))
}

/** A subscription hears all fleets, also if its maker may not. */
const boundsForgotten: Spoil = () => (store) => ({
  ...store,
  listSmallRows: async (kind) => {
    const all = await store.listSmallRows(kind)
    return kind === 'subscription'
      ? all.map(({ bound: _, ...rest }: SmallRow & Bound) => rest)
      : all
  },
})

interface Bound {
  bound?: unknown
}

/** What a subscription misses is dropped. */
const nothingKept: Spoil = () => planned((own) => own.filter(({ state }) => state !== 'given_up'))

/** A pause is stored, and nobody looks. */
const pausesIgnored: Spoil = () => {
  const seen = (row: SmallRow & { state?: string }) =>
    row.state === 'paused' ? { ...row, state: 'active' } : row
  return (store) => ({
    ...store,
    readSmallRow: async (key) => {
      const row = await store.readSmallRow(key)
      return key.kind === 'subscription' && row !== undefined ? seen(row) : row
    },
  })
}

/** All endpoints share one queue: a message waits while another endpoint has one under way. */
const oneForAll: Spoil = () => {
  let busyUntil = 0
  return (store) => ({
    ...store,
    claim: async (request) => {
      const isBusy = request.now < busyUntil
      const roomOf = (channel: string) =>
        isBusy && channel.includes(':') ? 0 : request.roomOf(channel)
      const claim = await store.claim({ ...request, roomOf })
      const isOwn = claim.requests.flat().some(({ channel }) => channel.includes(':'))
      if (isOwn) busyUntil = request.now + request.leaseMs
      return claim
    },
    nextDueAt: async (pacing) => {
      const at = await store.nextDueAt(pacing)
      return at === undefined ? undefined : Math.max(at, Math.min(busyUntil, pacing.now + 1_000))
    },
  })
}

export const spoiltSubscriptions: SimFeature['spoilt'] = {
  'a moment planned for no subscription': { spoil: momentSkipped, shownIn: 1 },
  'deliveries planned twice': { spoil: newIds, shownIn: 2 },
  'fleets of subscriptions forgotten': { spoil: boundsForgotten, shownIn: 8 },
  'what a subscription misses not kept': { spoil: nothingKept, shownIn: 6 },
  'pauses ignored': { spoil: pausesIgnored, shownIn: 7 },
  'one queue for all endpoints': { spoil: oneForAll, shownIn: 1 },
}
