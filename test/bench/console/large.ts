// A relay's database as large as the issue of a big installation: written in one go, by the SQL that
// the store itself would run for each row.
import { DatabaseSync } from 'node:sqlite'
import { openFile } from '../../../functions/store/sqlite/file.ts'
import { deliveryBody, eventBody } from '../../../functions/store/sqlite/rows.ts'
import { sql } from '../../../functions/store/sqlite/sql.ts'
import { eventTypes } from '../../../shared/document.ts'
import { at, beaconOf, delivery, facts, record } from '../../support/records.ts'

const large = { events: 100_000, beacons: 100_000, deliveries: 1_000_000 }

/** Open ones of each fleet. The relay accepts no more than 2,000. */
const openOfFleet = 500
const fleets = ['prod', 'test']
const channels = ['chat', 'team', 'pager', 'hook']
const minute = 60_000

export function writeLarge(path: string, { events, beacons, deliveries } = large): void {
  openFile(path).close()
  const db = new DatabaseSync(path)
  db.exec('BEGIN')
  for (let i = 0; i < events; i++) writeEvent(db, i, events, Math.floor(deliveries / events))
  const write = db.prepare(sql.writeBeacon)
  for (let i = 0; i < beacons; i++) {
    const version = `0.1.${i % 3}`
    const beacon = beaconOf(`web_${i}`, { fleet: fleets[i % 2]!, version, sees: [] })
    const one =
      i % 50 === 0 ? { ...beacon, silence: { since: at, from: at } } : { ...beacon, silentAt: at }
    const { fleet, beacon: id, bootId, counter, heardAt } = one
    write.run(fleet, id, bootId, counter, heardAt, '[]', JSON.stringify(one))
  }
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** The last ones are open. */
function writeEvent(db: DatabaseSync, i: number, events: number, deliveries: number): void {
  const fleet = fleets[i % fleets.length]!
  const eventId = `${String(i).padStart(8, '0')}-afdc-4513-b24b-aa5f13a16123`
  const isOpen = i >= events - openOfFleet * fleets.length
  const firstSeenAt = at - (events - i) * minute
  const resources = [`web_${i % 100_000}`]
  const eventType = eventTypes[i % eventTypes.length]!
  const notBeforeAt = at + (i % 100) * minute
  const end = { at: firstSeenAt + 20 * minute, outcome: 'completed' as const }
  const one = record({
    ...{ fleet, eventId, firstSeenAt, facts: facts({ resources, eventType, notBeforeAt }) },
    ...(isOpen ? {} : { phase: 'completed' as const, ended: end }),
  })
  const endedAt = isOpen ? null : end.at
  const dueAt = isOpen ? notBeforeAt : null
  prepared(db, sql.insertEvent).run(
    ...[fleet, eventId, 1, firstSeenAt, dueAt, endedAt, eventBody(one)],
  )
  if (isOpen) prepared(db, sql.noteOpen).run(fleet, eventId, '')
  for (let n = 0; n < deliveries; n++) {
    const state = isOpen ? 'pending' : n === 0 && i % 100 === 0 ? 'refused' : 'delivered'
    const told = delivery(`${fleet}/${eventId}/${n}`, { fleet, eventId, state })
    const whose = [told.id, fleet, eventId, channels[n % channels.length]!, n, firstSeenAt]
    const rest = [state, 1, firstSeenAt + 1_000, '', deliveryBody(told), null]
    prepared(db, sql.insertDelivery).run(...whose, ...rest)
  }
}

const statements = new WeakMap<DatabaseSync, Map<string, ReturnType<DatabaseSync['prepare']>>>()

function prepared(db: DatabaseSync, text: string) {
  const own = statements.get(db) ?? new Map<string, ReturnType<DatabaseSync['prepare']>>()
  statements.set(db, own)
  const statement = own.get(text) ?? db.prepare(text)
  own.set(text, statement)
  return statement
}
