// A file of SQLite in which single values are damaged: the rest is found, claimed and sent.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim, free } from '../support/claims.ts'
import { at, beaconOf, commitOf, delivery, record } from '../support/records.ts'
import { openStore, type TestStore } from '../support/stores.ts'

const ids = ['first', 'second', 'third']
let folder: string
let store: TestStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'foghorn-damaged-'))
  store = openStore(join(folder, 'db'))
  for (const [i, eventId] of ids.entries()) {
    const own = { eventId, firstSeenAt: at + i }
    const one = delivery(`prod/${eventId}/1/scheduled/chat`, { eventId, seq: i + 1 })
    await store.commit(commitOf({ record: record(own), deliveries: [one] }))
    await store.writeBeacon(beaconOf(eventId))
  }
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

/** As flipped bits leave it. */
function damage(sql: string) {
  store.close()
  const db = new DatabaseSync(join(folder, 'db'))
  expect(Number(db.prepare(sql).run().changes)).toBeGreaterThan(0)
  db.close()
  store = openStore(join(folder, 'db'))
}

test.each([
  ['a row of deliveries', "UPDATE rows SET body = 'x' WHERE row LIKE 'deliveries%'"],
  ['an entry of a queue', "UPDATE entries SET summary = '[' WHERE name = 'pending'"],
])('%s: the others are sent, and the loop rests', async (_, sql) => {
  damage(`${sql} AND partition LIKE '%|first'`)
  const claims = await claim(store, { limit: 9 })
  expect(claims.map(({ eventId }) => eventId)).toEqual(['second', 'third'])
  expect(await store.nextDueAt({ ...free, now: at })).toBeGreaterThan(at)
})

test('an entry of a list: the page is full', async () => {
  damage("UPDATE entries SET summary = '{' WHERE name = 'events|prod' AND partition LIKE '%|third'")
  const { events } = await store.findEvents({ fleets: ['prod'], limit: 2, since: 0 })
  expect(events.map(({ eventId }) => eventId)).toEqual(['second', 'first'])
})

test('a beacon: the others are listed', async () => {
  damage("UPDATE rows SET body = '{' WHERE row = 'beacon|id-second'")
  const listed = await store.listBeacons('prod', { limit: 2 })
  expect(listed.map(({ vm }) => vm)).toEqual(['first', 'third'])
})
