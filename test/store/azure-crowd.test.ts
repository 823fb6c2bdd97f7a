// Many calls at once and long queues: one worker, channel or event delays no other, and nothing is
// lost.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Rate } from '../../functions/core/delivery/rate.ts'
import { withEnd } from '../../functions/core/event/event.ts'
import type { Rows } from '../../functions/store/azure/rows.ts'
import type { AzureStore } from '../../functions/store/azure/store.ts'
import { graceMs } from '../../functions/store/azure/time-index.ts'
import { noteListening } from '../../functions/store/memos.ts'
import type { Commit, Pacing } from '../../functions/store/store.ts'
import { receive } from '../../functions/use-cases/receive-report.ts'
import { Table } from '../sim/table.ts'
import { around, entriesIn, newRows, rowsOf, storeOn, unfound } from '../support/azure-store.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { claim, free, freeBut } from '../support/claims.ts'
import {
  at,
  beaconOf,
  commitOf,
  delivery,
  facts,
  key,
  record,
  sighting,
} from '../support/records.ts'
import { createWorld, event, FakeBeacon } from '../support/world.ts'

let rows: Rows
let store: AzureStore
beforeEach(() => {
  rows = new Table().plain()
  store = storeOn(rows)
})

async function commit(changes: Partial<Commit>): Promise<void> {
  expect(await store.commit(commitOf(changes))).toBe('committed')
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

/** Plans messages for this many events, `each` of one event in one commit. */
async function owe(count: number, each: number, make: (i: number) => ReturnType<typeof delivery>) {
  for (let from = 0; from < count; from += each) {
    const eventId = `of ${make(from).id}`
    const deliveries = upTo(each).map((i) => ({ ...make(from + i), eventId }))
    await commit({ record: record({ eventId }), deliveries })
  }
}

describe('40 members that report one event at once', () => {
  let azurite: Azurite
  beforeAll(async () => {
    azurite = await startAzurite()
  })
  afterAll(() => azurite.stop())

  test('make one event with one set of deliveries, and each is one of its observers', async () => {
    // in memory, they would conflict in an order that no storage has
    const rows = newRows(azurite)
    const store = storeOn(rows)
    const world = await createWorld()
    let conflicts = 0
    let commits = 0
    const relays = upTo(4).map(() => {
      const own = storeOn(
        around(rows, async (change, partition) => {
          const outcome = await change()
          if (partition.startsWith('event|')) commits += 1
          if (partition.startsWith('event|') && outcome === 'conflict') conflicts += 1
          return outcome
        }),
      )
      return { ...world.relay, store: own }
    })
    const names = upTo(40).map((i) => `web_${i}`)
    const seen = event({ resources: names })
    const works = names.map((name, i) => {
      const report = new FakeBeacon(world, name).body([seen])
      return receive(relays[i % relays.length]!, 'prod', name, report)
    })
    const outcomes = await Promise.all(works)
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['answered']))
    const deliveries = await store.readDeliveries(key)
    expect(deliveries.map(({ channel }) => channel).sort()).toEqual([
      'chat',
      'hook',
      'pager',
      'team',
    ])
    const observers = await store.readObservers(key)
    expect(observers.map(({ beacon }) => beacon.beacon).sort()).toEqual([...names].sort())
    for (const name of names) {
      expect(await store.readSightings('prod', name, [key.eventId])).toHaveLength(1)
    }
    expect((await store.readEvent(key))?.history.filter(({ what }) => what === 'seen').length).toBe(
      1,
    )
    // an attempt fails only if another one wins, so each winner costs at most one attempt of each
    // other
    expect(conflicts).toBeLessThan(400)
    expect(commits - conflicts).toBeGreaterThan(0)
    if (process.env.CONFLICTS) process.stdout.write(`conflicts ${conflicts} of ${commits}\n`)
    expect(await unfound(rows, [key])).toEqual([])
    // of the event: due, two lists and the open ones; four deliveries; forty beacons. The
    // losers left none
    expect(await entriesIn(rows)).toHaveLength(4 + 4 + 40)
  })
})

describe('a channel with a long queue', () => {
  const resting: Rate = { everyMs: 1_000, burst: 1, together: 1, atOnce: 4 }

  test('and a pause hides no other channel, whatever their names', async () => {
    const names = upTo(12).map((i) => `channel-${String.fromCharCode(97 + i)}`)
    await owe(240, 60, (i) => delivery(`much-${i}`, { channel: 'channel-c', nextAt: at - 500 + i }))
    for (const channel of names) {
      const eventId = `of ${channel}`
      const deliveries = [delivery(eventId, { eventId, channel })]
      await commit({ record: record({ eventId }), deliveries })
    }
    const pacing: Pacing = { ...free, rateOf: () => resting, roomOf: () => 4 }
    const first = (await store.claim({ ...pacing, leaseMs: 20_000, limit: 99 })).flat()
    expect(first.map(({ channel }) => channel).sort()).toEqual(names)
    const rest = await claim(store, { ...freeBut('channel-c'), limit: 999 })
    expect(rest).toEqual([])
    // the one that was claimed is under its lease
    expect(await claim(store, { now: at + 1_000, limit: 999 })).toHaveLength(240)
  })

  test('hides nothing of another channel that begins in the same page', async () => {
    // whatever the shards are, some of these channels share one
    const names = upTo(5).map((i) => `channel-${i}`)
    for (const channel of names) {
      await owe(150, 50, (i) => delivery(`${channel}-${i}`, { channel, nextAt: at + i }))
    }
    for (const channel of names) {
      const others = names.filter((one) => one !== channel)
      const some = await claim(store, { ...freeBut(...others), now: at + 999, limit: 120 })
      expect(some, channel).toHaveLength(120)
    }
  })

  test('gets messages even if more than 200 others wait for an earlier one of their event', async () => {
    for (let i = 0; i < 5; i++) {
      const eventId = `blocked-${i}`
      const first = delivery(`${eventId}/first`, { eventId, nextAt: at + 900 })
      const others = upTo(50).map((n) => delivery(`${eventId}/${n}`, { eventId, seq: 128 + n }))
      const deliveries = [first, ...others]
      await commit({ record: record({ eventId }), deliveries })
    }
    expect(await claim(store, { limit: 999 })).toEqual([])
    expect(await store.nextDueAt(free)).toBe(at + 900)
    const due = await claim(store, { now: at + 900, limit: 999 })
    expect(due.map(({ id }) => id).sort()).toEqual(upTo(5).map((i) => `blocked-${i}/first`))
  })

  test('gets messages even if the 200 entries before them are stale', async () => {
    const dead = storeOn(
      around(rows, async (change, partition) => {
        if (partition.startsWith('event|')) throw new Error('the process is dead')
        return change()
      }),
    )
    for (let i = 0; i < 5; i++) {
      const eventId = `lost-${i}`
      const deliveries = upTo(50).map((n) =>
        delivery(`${eventId}/${n}`, { eventId, nextAt: at - 9 }),
      )
      const lost = commitOf({ record: record({ eventId }), deliveries })
      await expect(dead.commit(lost)).rejects.toThrow('dead')
    }
    await commit({ deliveries: [delivery('a')] })
    expect(await store.nextDueAt(free)).toBe(at)
    expect((await claim(store, { limit: 9 })).map(({ id }) => id)).toEqual(['a'])
    const later = { ...free, now: at + graceMs + 1 }
    expect(await claim(store, { ...later, limit: 9 })).toHaveLength(1)
    await store.nextDueAt(later)
    const owed = (await entriesIn(rows)).filter(({ partition }) => partition.startsWith('owed|'))
    expect(owed).toHaveLength(1)
  })
})

describe('lists that need more than one page', () => {
  test('1 060 deliveries of one event are complete, and their event too', async () => {
    for (let i = 0; i * 53 < 1_060; i++) {
      const deliveries = upTo(53).map((n) => delivery(`d${i * 53 + n}`, { seq: i + 1 }))
      const whole = record({ sequence: i + 1 })
      await commit({ record: whole, basedOn: i, deliveries })
    }
    const found = await store.readDeliveries(key)
    expect(found.map(({ id }) => id)).toEqual(upTo(1_060).map((i) => `d${i}`))
    const [first] = await claim(store, { limit: 1 })
    expect(first?.seq).toBe(1)
    expect((await store.readEvent(key))?.sequence).toBe(20)
  })

  test('1 100 observers of one event are complete', async () => {
    const members = upTo(1_100).map((i) => `m${i}`)
    for (let from = 0; from < members.length; from += 50) {
      const some = members.slice(from, from + 50)
      await Promise.all(some.map((vm) => store.writeBeacon(beaconOf(vm), [sighting(vm)])))
    }
    const found = await store.readObservers(key)
    expect(found.map(({ beacon }) => beacon.vm).sort()).toEqual(members.sort())
  })

  test('150 events, some of them removed, are listed page by page', async () => {
    const works = upTo(150).map(async (i) => {
      const whole = record({ eventId: `e${i}`, firstSeenAt: at + Math.floor(i / 3) })
      const ended = { at: at - 1, outcome: 'completed' as const }
      await commit({ record: i % 50 === 7 ? withEnd(whole, ended) : whole })
    })
    await Promise.all(works)
    expect(await store.forget(at, 99)).toBe(3)
    const found: string[] = []
    for (let before = at + 999; before > 0; ) {
      const page = await store.listEvents({ fleet: 'prod', before, limit: 25 })
      found.push(...page.map(({ eventId }) => eventId))
      before = page.at(-1)?.firstSeenAt ?? 0
    }
    expect(found).toHaveLength(147)
    expect(new Set(found).size).toBe(147)
  })
})

describe('what relays share besides events', () => {
  test('a table of another format is refused with a remedy', async () => {
    await store.open()
    await storeOn(rows).open()
    const body = JSON.stringify({ version: 99 })
    await rows.change('relay', [{ kind: 'put', row: 'format', body }])
    await expect(storeOn(rows).open()).rejects.toThrow(
      /format \{"version":99\}.*deploy the version that wrote it/,
    )
  })

  test('several relays can open a new table at once', async () => {
    await Promise.all(upTo(5).map(() => storeOn(rows).open()))
    expect(await rows.list('relay', { from: '', to: '~' })).toHaveLength(1)
  })

  test('since when any relay has been listening', async () => {
    const other = storeOn(rows)
    expect(await noteListening(store, at, 60_000)).toBe(at)
    expect(await noteListening(other, at + 60_000, 60_000)).toBe(at)
    expect(await noteListening(store, at + 120_000, 60_000)).toBe(at)
    // by a clock that is behind
    expect(await noteListening(other, at + 119_000, 60_000)).toBe(at)
    expect(await noteListening(store, at + 179_001, 60_000)).toBe(at + 179_001)
  })

  test('which event pages were opened, until the event is forgotten', async () => {
    const other = storeOn(rows)
    const over = record({ ended: { at: at - 1, outcome: 'completed' } })
    await commit({ record: over })
    expect(await other.attention.isOn(key, at)).toBe(false)
    await store.attention.note(key, at)
    expect(await other.attention.isOn(key, at + 1)).toBe(true)
    expect(await other.attention.isOn({ ...key, eventId: 'other' }, at + 1)).toBe(false)
    expect(await other.attention.isOn(key, at + 15 * 60_000)).toBe(false)
    expect(await store.forget(at, 9)).toBe(1)
    expect(await other.attention.isOn(key, at + 1)).toBe(false)
    expect(await rowsOf(rows, key)).toEqual([])
  })
})

test('if a pause cannot be stored because too many workers write it, nothing is settled', async () => {
  await commit({ deliveries: [delivery('a')] })
  const [one] = await claim(store, { leaseMs: 20_000, limit: 1 })
  const busy = around(rows, async (change, partition) =>
    partition === 'channels' ? 'conflict' : change(),
  )
  const settlement = { state: 'pending' as const, nextAt: at, note: 'HTTP 429', spentUntil: at + 9 }
  const settled = storeOn(busy).settle(one!, settlement, at, [])
  await expect(settled).rejects.toThrow('too many workers write channel "chat" at once')
  expect(await store.readDeliveries(key)).toMatchObject([{ state: 'pending', note: '' }])
})

test('a search by a name that too many names begin with says that it is not complete', async () => {
  const resources = upTo(1_000).map((i) => `web_${i}`)
  await commit({ record: record({ eventId: 'large', facts: facts({ resources }) }) })
  await commit({ record: record({ eventId: 'z', facts: facts({ resources: ['web_z'] }) }) })
  const find = async (prefix: string) => {
    const found = await store.findEvents({ fleets: ['prod'], limit: 9, prefix })
    return { ids: found.events.map(({ eventId }) => eventId), partial: found.partial }
  }
  expect(await find('web')).toEqual({ ids: ['large'], partial: true })
  expect(await find('web_z')).toEqual({ ids: ['z'], partial: undefined })
  expect(await find('web_99')).toEqual({ ids: ['large'], partial: undefined })
})
