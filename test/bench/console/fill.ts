// Fills a SQLite file with a large company: 100,000 events, 100,000 beacons and 1,000,000 deliveries.
// SQL makes the rows from one example of each, as reports would take hours.
import { DatabaseSync } from 'node:sqlite'
import { stepOf } from '../../../functions/core/event/summary.ts'
import { viewOf } from '../../../functions/core/event/view.ts'
import { openFile } from '../../../functions/store/sqlite/file.ts'
import { beaconOf, facts, record } from '../../support/records.ts'
import { startAt } from '../../support/world.ts'

const counts = { events: 100_000, beacons: 100_000, deliveriesOfEvent: 10, open: 200 }
export const fleets = ['prod', 'payments', 'batch', 'web']

const numbers = (count: number) =>
  `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`
const fleetOf = `CASE i % 4 WHEN 0 THEN 'prod' WHEN 1 THEN 'payments' WHEN 2 THEN 'batch' ELSE 'web' END`
const idOf = `printf('%08x-afdc-4513-b24b-%012x', i * 7919, i)`
const typeOf = `CASE i % 5 WHEN 0 THEN 'Redeploy' WHEN 1 THEN 'Freeze' WHEN 2 THEN 'Preempt' ELSE 'Reboot' END`
/** A minute and a half apart, the newest first: some three months. */
const seenAt = `(${startAt} - i * 80000)`
const vmOf = `printf('%s_%d', CASE i % 3 WHEN 0 THEN 'web' WHEN 1 THEN 'db' ELSE 'cache' END, i % 30000)`

export function fill(path: string): void {
  openFile(path).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN')
  insertEvents(db, false, counts.open, counts.events)
  insertEvents(db, true, 0, counts.open)
  insertDeliveries(db)
  insertBeacons(db)
  db.exec('COMMIT; PRAGMA journal_mode = DELETE')
  db.close()
}

function insertEvents(db: DatabaseSync, isOpen: boolean, from: number, to: number): void {
  const ended = isOpen ? {} : { ended: { at: 0, outcome: 'completed' as const } }
  const phase = isOpen ? ('scheduled' as const) : ('completed' as const)
  const body = record({ phase, facts: facts(), ...(isOpen ? {} : { startedAt: 1 }), ...ended })
  const changes = [
    `'$.fleet', ${fleetOf}`,
    `'$.eventId', ${idOf}`,
    `'$.firstSeenAt', ${seenAt}`,
    `'$.facts.eventType', ${typeOf}`,
    `'$.facts.resources', json_array(${vmOf})`,
    isOpen ? `'$.facts.notBeforeAt', ${startAt} + i * 600000` : `'$.ended.at', ${seenAt} + 900000`,
  ]
  const endedAt = isOpen ? 'NULL' : `${seenAt} + 900000`
  db.prepare(`${numbers(to)} INSERT INTO events
    SELECT ${fleetOf}, ${idOf}, 1, ${seenAt}, NULL, ${endedAt}, ${typeOf}, '${stepOf(body)}',
      json_set(?, ${changes.join(', ')}) FROM n WHERE i >= ${from}`).run(JSON.stringify(body))
  db.prepare(`${numbers(to)} INSERT INTO views
    SELECT ${fleetOf}, ${idOf}, '1-x', json_set(?, ${changes.join(', ')}) FROM n WHERE i >= ${from}`).run(
    JSON.stringify(viewOf(body)),
  )
  if (!isOpen) return
  db.exec(`${numbers(to)} INSERT INTO open_events SELECT ${fleetOf}, ${idOf}, '' FROM n`)
}

function insertDeliveries(db: DatabaseSync): void {
  const all = counts.events * counts.deliveriesOfEvent
  const channel = `CASE k % 4 WHEN 0 THEN 'ops-chat' WHEN 1 THEN 'on-call' WHEN 2 THEN 'dba-team' ELSE 'inventory' END`
  const state = `CASE WHEN k % 997 = 0 THEN 'refused' WHEN k < 2000 THEN 'pending' ELSE 'delivered' END`
  const body = JSON.stringify({
    urgentUntil: startAt,
    telling: { moment: 'scheduled', at: startAt },
  })
  const perEvent = counts.deliveriesOfEvent
  db.prepare(`${numbers(all)}, d (k, i) AS (SELECT i, i / ${perEvent} FROM n)
    INSERT INTO deliveries
      (id, fleet, event_id, channel, seq, owed_at, state, attempts, next_at, note, body, view)
    SELECT 'd' || k, ${fleetOf}, ${idOf}, ${channel}, k % ${perEvent}, ${seenAt}, ${state}, 1,
      ${seenAt}, '', ?, '1-x' FROM d`).run(body)
}

function insertBeacons(db: DatabaseSync): void {
  const silentAt = startAt + 900_000
  const body = beaconOf('web_0', { silentAt, version: '0.1.0', sees: [] })
  const changes = `'$.fleet', ${fleetOf}, '$.beacon', ${idOf}, '$.vm', ${vmOf} || '_' || i`
  const heardAt = `(${startAt} - i % 900000)`
  const silence = JSON.stringify({ since: startAt - 900_000, from: startAt - 600_000 })
  db.prepare(`${numbers(counts.beacons)} INSERT INTO beacons
    SELECT ${fleetOf}, ${idOf}, ${heardAt}, ${heardAt} / 86400000, ${silentAt}, ${silentAt}, NULL,
      json_set(?, ${changes}, '$.heardAt', ${heardAt}) FROM n`).run(JSON.stringify(body))
  db.prepare(`UPDATE beacons SET body = json_set(body, '$.silence', json(?)),
    mark = 'silent', heard_at = ${startAt} - 1000000 WHERE substr(beacon, 8, 1) = '5' AND fleet = 'prod'`).run(
    silence,
  )
}
