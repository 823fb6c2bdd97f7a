// Relays that are broken on purpose, each by a store that does not keep one promise: what a simulation
// is worth shows in whether it finds them. Below the store on Azure it is the table that does not; and some do
// not do what their configuration says.

import type { Config } from '../../functions/config/config.ts'
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import { type Claimed, type Delivery, isSink } from '../../functions/core/delivery/delivery.ts'
import type { EntityChange, Table } from '../../functions/store/azure/table.ts'
import type { Commit, Store } from '../../functions/store/store.ts'
import { simFeatures } from '../features/sim.ts'
import type { Spoil } from './feature.ts'

const ofFeatures = simFeatures.flatMap(({ spoilt }) => Object.entries(spoilt))

/** A reader of the log gets the last moment of the page before again. */
const momentsTwice: Spoil = () => (store) => ({
  ...store,
  readMoments: (after, limit, now) => store.readMoments(Math.max(0, after - 1), limit, now),
})

/** No beacon is ever due. */
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

/** A worker writes the end of its attempt, also if another worker has the delivery by now. */
const settleWithoutLease: Spoil = () => {
  const leases = new Map<string, string>()
  return (store) => ({
    ...store,
    claim: async (request) => {
      const claim = await store.claim(request)
      for (const { id, lease } of claim.requests.flat()) leases.set(id, lease)
      return claim
    },
    settle: (claimed: Claimed, settlement: Settlement, _now: number, follow: Delivery[]) => {
      const lease = leases.get(claimed.id) ?? claimed.lease
      return store.settle({ ...claimed, lease }, settlement, 0, follow)
    },
  })
}

/** The beacon is written first, and what its report says of events after that. */
const beaconFirst: Spoil = () => (store) => {
  return { ...store, ...delayed(store) }
}

/** What reports say of events is held back until the beacon is written; ends and people's word are not. */
function delayed(store: Store): Pick<Store, 'commit' | 'writeBeacon'> {
  let held: Commit[] = []
  return {
    commit: async (commit) => {
      const { ended, decided, drill } = commit.record
      // a drill is in no report
      if (ended !== undefined || decided?.how === 'link' || drill) return store.commit(commit)
      held.push(commit)
      return 'committed'
    },
    writeBeacon: async (beacon, known) => {
      const own = held
      held = []
      const written = await store.writeBeacon(beacon, known)
      for (const commit of own) await store.commit(commit)
      return written
    },
  }
}

/** Nobody notices that a later message of the same event and channel is owed. */
const withoutOvertaking: Spoil = () => (store) => ({
  ...store,
  commit: (commit: Commit) => store.commit({ ...commit }),
  readDeliveries: async (key) => {
    const rows = await store.readDeliveries(key)
    return rows.filter(({ state, attempts }) => state !== 'pending' || attempts > 0)
  },
})

/** What stands in a channel is noted, and never read. */
const withoutPosts: Spoil = () => (store) => ({
  ...store,
  readSmallRow: async (key) => (key.kind === 'post' ? undefined : store.readSmallRow(key)),
  writeSmallRow: async (key, fields, basedOn) =>
    key.kind === 'post' ? 'written' : store.writeSmallRow(key, fields, basedOn),
})

/** That a channel fails is noted, and never read. */
const withoutMarks: Spoil = () => (store) => ({
  ...store,
  changeHealth: async (_, decide) => decide(undefined),
})

/** Which events have their turn is noted, and never read. */
const withoutTurns: Spoil = () => (store) => ({
  ...store,
  readSmallRow: async (key) => (key.kind === 'slots' ? undefined : store.readSmallRow(key)),
  writeSmallRow: async (key, fields, basedOn) =>
    key.kind === 'slots' ? 'written' : store.writeSmallRow(key, fields, basedOn),
})

/** The last writer wins, also if another decision was stored meanwhile. */
const withoutCompareAndSet: Spoil = () => (store) => ({
  ...store,
  commit: async (commit: Commit) => {
    const { sequence = 0 } = (await store.readEvent(commit.record)) ?? {}
    const record = { ...commit.record, sequence: sequence + 1 }
    return store.commit({ ...commit, record, basedOn: sequence })
  },
})

/** A "not now" is stored as an approval. */
const yesToAll: Spoil = () => (store) => ({
  ...store,
  commit: (commit: Commit) => {
    const { decided } = commit.record
    if (decided?.decision !== 'declined') return store.commit(commit)
    const approved = { ...decided, decision: 'approved' as const }
    return store.commit({ ...commit, record: { ...commit.record, decided: approved } })
  },
})

export const spoilt: Record<string, Spoil> = {
  'no dedup id': withoutDedupId,
  'settle without lease check': settleWithoutLease,
  'beacon written before the event': beaconFirst,
  'overtaking off': withoutOvertaking,
  'posts forgotten': withoutPosts,
  'marks forgotten': withoutMarks,
  'turns forgotten': withoutTurns,
  'a moment read twice': momentsTwice,
  'compare-and-set off': withoutCompareAndSet,
  '"not now" kept as an approval': yesToAll,
  ...Object.fromEntries(ofFeatures.map(([name, { spoil }]) => [name, spoil])),
}

const isIndex = (partition: string) => partition === 'index'

function withChange(table: Table, change: Table['change']): Table {
  return {
    read: (...of) => table.read(...of),
    list: (...of) => table.list(...of),
    change,
  }
}

/** Entries are written after the row that they point to: a death in between leaves one too few. */
function entriesLast(table: Table): Table {
  let held: { partition: string; changes: EntityChange[] }[] = []
  return withChange(table, async (partition, changes) => {
    if (isIndex(partition) && changes.some(({ kind }) => kind === 'put')) {
      held.push({ partition, changes })
      return changes.map(() => '')
    }
    const outcome = await table.change(partition, changes)
    const own = isIndex(partition) ? [] : held
    if (own.length > 0) held = []
    for (const one of own) await table.change(one.partition, one.changes)
    return outcome
  })
}

/** Entries of one key and row are one, as if they had no name of their own. */
function namelessEntries(table: Table): Table {
  const rowIn = (text: string) => JSON.stringify([JSON.parse(text).partition, JSON.parse(text).row])
  return withChange(table, async (partition, changes) => {
    const removals = changes.filter(({ kind }) => kind === 'remove')
    if (!isIndex(partition) || removals.length === 0) return table.change(partition, changes)
    for (const { row } of removals) {
      const from = `${row.slice(0, row.lastIndexOf('|'))}|`
      const same = await table.list(partition, from, `${from}~`)
      const own = same.find((one) => one.row === row)
      const all = same.filter(({ text }) => own && rowIn(text) === rowIn(own.text))
      for (const one of all) await table.change(partition, [{ kind: 'remove', row: one.row }])
    }
    return []
  })
}

/** A conflict is taken for a lost race, although the client may have met its own write. */
function blindConflicts(table: Table): Table {
  let lost: string[] = []
  return {
    ...withChange(table, async (partition, changes) => {
      const outcome = await table.change(partition, changes)
      if (outcome === 'conflict' && partition.startsWith('event|')) lost.push(partition)
      return outcome
    }),
    read: async (partition, row) => {
      if (!lost.includes(partition)) return table.read(partition, row)
      lost = lost.filter((one) => one !== partition)
      return undefined
    },
  }
}

export const spoiltTables: Record<string, (table: Table) => Table> = {
  'index entries written after the row': entriesLast,
  'index entries without names of their own': namelessEntries,
  'a lost answer taken for a lost race': blindConflicts,
}

/** What the relay makes of its configuration, while the judge keeps to what its owner wrote. */
export const spoiltConfigs: Record<string, (config: Config) => Config> = {
  'whenReady ignored': ({ policy, ...rest }) => {
    return { ...rest, policy: policy.map(({ whenReady: _, ...rule }) => rule) }
  },
  'a rule goes on after its time': ({ policy, ...rest }) => {
    const always = ({ match: { time: _, ...match }, ...rule }: Config['policy'][number]) => {
      return { ...rule, match }
    }
    return { ...rest, policy: policy.map(always) }
  },
  'nothing is shipped': ({ channels, ...rest }) => {
    const routed = Object.entries(channels).filter(([name]) => !isSink(name))
    return { ...rest, channels: Object.fromEntries(routed) }
  },
  'approvers ignored': ({ routes, ...rest }) => {
    return { ...rest, routes: routes.map(({ approvers: _, ...route }) => route) }
  },
}
