// Relays whose subscriptions are broken on purpose, each by a store that does not keep one promise.
import type { Delivery } from '../../functions/core/delivery/delivery.ts'
import type { Memo, Store } from '../../functions/store/store.ts'

type Spoil = () => (store: Store) => Store

/** The position moves one moment too far. */
const momentSkipped: Spoil = () => (store) => ({
  ...store,
  writeMemo: (key, fields, basedOn) => {
    if (key.kind !== 'expansion') return store.writeMemo(key, fields, basedOn)
    const { position } = fields as { position: number }
    return store.writeMemo(key, { position: position + 1 }, basedOn)
  },
})

/** The position moves before the deliveries up to it are stored. */
const positionFirst: Spoil = () => (store) => {
  let held: Delivery[] = []
  return {
    ...store,
    addDeliveries: async (deliveries) => {
      // pings move no position
      if (deliveries.some(({ telling }) => telling.moment === 'alert')) {
        return store.addDeliveries(deliveries)
      }
      held.push(...deliveries)
    },
    writeMemo: async (key, fields, basedOn) => {
      const written = await store.writeMemo(key, fields, basedOn)
      if (key.kind !== 'expansion') return written
      const own = held
      held = []
      await store.addDeliveries(own)
      return written
    },
  }
}

/** A delivery has another id each time it is planned. */
const newIds: Spoil = () => {
  let count = 0
  return (store) => ({
    ...store,
    addDeliveries: (deliveries) =>
      store.addDeliveries(deliveries.map((one) => ({ ...one, id: `${one.id}/${++count}` }))),
  })
}

/** A subscription hears all fleets, also if its maker may not. */
const boundsForgotten: Spoil = () => (store) => ({
  ...store,
  listMemos: async (kind) => {
    const all = await store.listMemos(kind)
    return kind === 'subscription' ? all.map(({ bound: _, ...rest }: Memo & Bound) => rest) : all
  },
})

interface Bound {
  bound?: unknown
}

/** What a subscription misses is dropped. */
const nothingKept: Spoil = () => (store) => ({
  ...store,
  addDeliveries: (deliveries) =>
    store.addDeliveries(deliveries.filter(({ state }) => state !== 'given_up')),
})

/** A pause is stored, and nobody looks. */
const pausesIgnored: Spoil = () => {
  const seen = (memo: Memo & { state?: string }) =>
    memo.state === 'paused' ? { ...memo, state: 'active' } : memo
  return (store) => ({
    ...store,
    readMemo: async (key) => {
      const memo = await store.readMemo(key)
      return key.kind === 'subscription' && memo !== undefined ? seen(memo) : memo
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
      const claimed = await store.claim({ ...request, roomOf })
      const isOwn = claimed.flat().some(({ channel }) => channel.includes(':'))
      if (isOwn) busyUntil = request.now + request.leaseMs
      return claimed
    },
    nextDueAt: async (pacing) => {
      const at = await store.nextDueAt(pacing)
      return at === undefined ? undefined : Math.max(at, Math.min(busyUntil, pacing.now + 1_000))
    },
  })
}

export const spoiltSubscriptions: Record<string, Spoil> = {
  'a moment skipped by the expansion': momentSkipped,
  'the position moved before the deliveries': positionFirst,
  'new ids for planned deliveries': newIds,
  'fleets of subscriptions forgotten': boundsForgotten,
  'what a subscription misses not kept': nothingKept,
  'pauses ignored': pausesIgnored,
  'one queue for all endpoints': oneForAll,
}
