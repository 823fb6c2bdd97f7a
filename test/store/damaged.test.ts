// A file of SQLite in which single values are damaged: the rest is found, claimed and sent.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChannelHealth } from '../../functions/core/delivery/health.ts'
import type { OpenRecord } from '../../functions/core/event/event.ts'
import { outsideRow, tokenRows } from '../../functions/store/small-rows.ts'
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

test('an entry of a queue: all are sent', async () => {
  damage("UPDATE entries SET summary = '[' WHERE name = 'pending' AND partition LIKE '%|first'")
  expect(await claim(store, { limit: 9 })).toHaveLength(3)
})

test('a row of deliveries: the others are sent, and the loop rests', async () => {
  damage("UPDATE rows SET body = 'x' WHERE row LIKE 'deliveries%' AND partition LIKE '%|first'")
  const claims = await claim(store, { limit: 9 })
  expect(claims.map(({ eventId }) => eventId)).toEqual(['second', 'third'])
  expect(await store.nextDueAt({ ...free, now: at })).toBeGreaterThan(at)
})

const shape = (what: string, where: string) =>
  `UPDATE rows SET body = replace(body, '"${what}":', '"${what}_":') WHERE ${where}`

test('events of another shape: the others are due, listed and counted', async () => {
  for (const eventId of ids) {
    const before = (await store.readEvent({ fleet: 'prod', eventId }))!
    const record = { ...before, sequence: 2, dueAt: at } as OpenRecord
    await store.commit(commitOf({ record, basedOn: 1 }), before)
  }
  damage(shape('record', "row = 'event' AND partition LIKE '%|first'"))
  const due = await store.dueEvents(at, 9)
  expect(due.map(({ eventId }) => eventId)).toEqual(['second', 'third'])
  const listed = await store.listEvents({ limit: 9 })
  expect(listed.map(({ eventId }) => eventId)).toEqual(['third', 'second'])
  await expect(store.readEvent({ fleet: 'prod', eventId: 'first' })).rejects.toThrow('is damaged')
})

test.each([
  ['of another shape', shape('channel', "partition = 'channels'")],
  ['null', "UPDATE rows SET body = 'null' WHERE partition = 'channels'"],
  ['no JSON', "UPDATE rows SET body = 'x' WHERE partition = 'channels'"],
])('a channel whose row is %s: it is sent to, and its row is written anew', async (_, sql) => {
  const health = { channel: 'chat', row: 1 } as unknown as ChannelHealth
  await store.changeHealth('chat', () => health)
  damage(sql)
  expect(await claim(store, { limit: 9 })).toHaveLength(3)
  expect(await store.readHealth('chat')).toBeUndefined()
  await store.changeHealth('chat', () => health)
  expect(await store.readHealth('chat')).toEqual(health)
})

test.each([
  ['an event of another shape', shape('resources', "row = 'event'")],
  ['a moment that is null', "UPDATE rows SET body = 'null' WHERE row LIKE 'moment%'"],
  [
    'a list of deliveries that is none',
    "UPDATE rows SET body = '{\"deliveries\":[null]}' WHERE row LIKE 'deliveries%'",
  ],
  ['an entry with numbers', "UPDATE entries SET summary = '[1,2,3,4,5]' WHERE name = 'pending'"],
  ['an empty entry', "UPDATE entries SET summary = '[]' WHERE name = 'pending'"],
])('%s keeps nothing else from being sent or counted', async (_, sql) => {
  damage(`${sql} AND partition LIKE '%|first'`)
  const claims = await claim(store, { limit: 9 })
  expect(claims.map(({ eventId }) => eventId)).toEqual(expect.arrayContaining(['second', 'third']))
  await store.readCounts({ now: at, fleets: ['prod'] })
  await store.nextDueAt({ ...free, now: at })
})

test.each(['', 'null', '{}'])('a summary that is %j stops no count and no log', async (summary) => {
  damage(`UPDATE entries SET summary = '${summary}' WHERE name IN ('counts', 'log', 'pending')`)
  expect(await store.readMoments(0, 9, at)).toEqual([])
  await store.readCounts({ now: at, fleets: ['prod'] })
  expect(await claim(store, { limit: 9 })).toEqual([])
})

test.each(['x', '{}', 'null'])('a beacon whose row is %s: it is written anew', async (body) => {
  damage(`UPDATE rows SET body = '${body}' WHERE row = 'beacon|id-second'`)
  expect(await store.readBeacon('prod', 'id-second')).toBeUndefined()
  expect(await store.writeBeacon(beaconOf('second', { counter: 2 }))).toBe('written')
  expect((await store.readBeacon('prod', 'id-second'))?.counter).toBe(2)
})

test('a token without a field that is needed counts as missing', async () => {
  const token = { id: 'x', name: 'n', hash: 'h', scopes: [], createdAt: at, createdBy: 'x' }
  await tokenRows.write(store, token, 0, 'x')
  expect(await tokenRows.list(store)).toHaveLength(1)
  damage(shape('hash', "partition = 'token'"))
  expect([await tokenRows.read(store, 'x'), await tokenRows.list(store)]).toEqual([undefined, []])
})

test('a count that is null: the others are counted', async () => {
  damage(`UPDATE entries SET summary = '[null]' WHERE name = 'counts' AND partition LIKE '%|first'`)
  const { counts } = await store.readCounts({ now: at, fleets: ['prod'] })
  expect(counts.filter(({ what }) => what === 'event')).toMatchObject([{ n: 2 }])
})

test.each(['x', '{}', 'null'])('a small row that is %s: it is written anew', async (body) => {
  await outsideRow.write(store, { at }, 0)
  damage(`UPDATE rows SET body = '${body}' WHERE partition = 'outside'`)
  expect(await outsideRow.read(store)).toBeUndefined()
  expect(await outsideRow.write(store, { at: at + 1 }, 0)).toBe('written')
  expect((await outsideRow.read(store))?.at).toBe(at + 1)
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
