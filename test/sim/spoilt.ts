// Relays that are broken on purpose, each by a store that does not keep one promise: what a simulation
// is worth shows in whether it finds them.
import type { Settlement } from '../../functions/core/attempt.ts'
import type { Claimed, Delivery } from '../../functions/core/delivery.ts'
import type { Observer } from '../../functions/core/event.ts'
import { settleMs } from '../../functions/core/life.ts'
import type { Commit, Store } from '../../functions/store/store.ts'

type Spoil = () => (store: Store) => Store

/** Each time a message is planned it has another id, so that planning it twice tells it twice. */
const withoutDedupId: Spoil = () => {
  let count = 0
  return (store) => ({
    ...store,
    commit: (commit: Commit) => {
      const deliveries = commit.deliveries.map((d) => ({ ...d, id: `${d.id}/${++count}` }))
      return store.commit({ ...commit, deliveries })
    },
  })
}

/** A worker writes how its attempt ended, whoever has the delivery by now. */
const settleWithoutLease: Spoil = () => {
  const leases = new Map<string, string>()
  return (store) => ({
    ...store,
    claim: async (request) => {
      const requests = await store.claim(request)
      for (const { id, lease } of requests.flat()) leases.set(id, lease)
      return requests
    },
    settle: (claimed: Claimed, settlement: Settlement, _now: number, follow: Delivery[]) => {
      const lease = leases.get(claimed.id) ?? claimed.lease
      return store.settle({ ...claimed, lease }, settlement, 0, follow)
    },
  })
}

/** What is gone from one document is gone for good, at once. */
const withoutSettleTime: Spoil = () => (store) => ({
  ...store,
  commit: (commit: Commit) => {
    const { gone } = commit.record
    if (gone === undefined || gone.settleAt === 0) return store.commit(commit)
    const dueAt = gone.settleAt - settleMs
    const record = { ...commit.record, gone: { ...gone, settleAt: 0 }, dueAt }
    return store.commit({ ...commit, record: commit.record.ended ? commit.record : record })
  },
  readObservers: async (key) => (await store.readObservers(key)).map(longGone),
})

function longGone(observer: Observer): Observer {
  const { gone } = observer.sighting
  if (gone === undefined) return observer
  const long = { firstAt: gone.firstAt - settleMs, lastSeenAt: gone.lastSeenAt - settleMs }
  return { ...observer, sighting: { ...observer.sighting, gone: long } }
}

/** The beacon and its sightings are written first, and what they say of events after that. */
const sightingFirst: Spoil = () => (store) => {
  return { ...store, ...delayed(store) }
}

/** What reports say of events is held back until the beacon is written; ends and people's word are not. */
function delayed(store: Store): Pick<Store, 'commit' | 'writeBeacon'> {
  let held: Commit[] = []
  return {
    commit: async (commit) => {
      const { ended, verdict } = commit.record
      if (ended !== undefined || verdict?.how === 'link') return store.commit(commit)
      held.push(commit)
      return 'committed'
    },
    writeBeacon: async (beacon, sightings) => {
      const own = held
      held = []
      const written = await store.writeBeacon(beacon, sightings)
      for (const commit of own) await store.commit(commit)
      return written
    },
  }
}

/** Nobody notices that a later message of the same event and channel is owed. */
const withoutOvertaking: Spoil = () => (store) => ({
  ...store,
  commit: (commit: Commit) => store.commit({ ...commit, supersede: [] }),
  readDeliveries: async (key) => {
    const rows = await store.readDeliveries(key)
    return rows.filter(({ state, attempts }) => state !== 'pending' || attempts > 0)
  },
})

export const spoilt: Record<string, Spoil> = {
  'no dedup id': withoutDedupId,
  'settle without lease check': settleWithoutLease,
  'no settle time': withoutSettleTime,
  'sighting written before the event': sightingFirst,
  'overtaking off': withoutOvertaking,
}
