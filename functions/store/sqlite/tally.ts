// Keeps the counts of metrics: each write changes them in its transaction, so that reading them takes
// no longer if there is more to count. Triggers do it for deliveries. core/metrics/tally.ts says what
// is counted.

import { alertPrefix } from '../../../shared/report.ts'
import { subscriptionChannel } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import {
  type Count,
  type Counted,
  latencySeconds,
  longer,
  type Tally,
  undecidedIn,
} from '../../core/metrics/tally.ts'
import { toEvent } from './rows.ts'
import type { Statements } from './statements.ts'

const isEvent = (event: string) => `${event}.event_id NOT GLOB '${alertPrefix}*'`
const isCounted = (delivery: string) =>
  `${isEvent(delivery)} AND ${delivery}.channel NOT GLOB '${subscriptionChannel('')}*'`

/** Without a name of the table: an index has none. */
const isWaiting = `state = 'pending' AND event_id NOT GLOB '${alertPrefix}*'
    AND channel NOT GLOB '${subscriptionChannel('')}*'`

const bucket = `CASE ${latencySeconds
  .map((seconds) => `WHEN took <= ${seconds * 1_000} THEN '${seconds}'`)
  .join(' ')} ELSE '${longer}' END`

const add = (what: Counted, of: string, one: string, two: string) =>
  `INSERT INTO tallies (what, fleet, one, two, n) VALUES ('${what}', ${of}.fleet, ${one}, ${two}, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;`

const remove = (what: Counted, of: string, one: string, two: string) => `
  UPDATE tallies SET n = n - 1
    WHERE what = '${what}' AND fleet = ${of}.fleet AND one = ${one} AND two = ${two};`

const delivery = (row: string) => ['delivery', row, `${row}.channel`, `${row}.state`] as const

const trigger = (name: string, when: string, condition: string, ...work: string[]) =>
  `CREATE TRIGGER IF NOT EXISTS ${name} AFTER ${when} WHEN ${condition}
BEGIN ${work.join('\n')} END;`

/** The tables and their triggers. */
export const tallySchema = `
CREATE TABLE IF NOT EXISTS tallies (
  what TEXT NOT NULL, fleet TEXT NOT NULL, one TEXT NOT NULL, two TEXT NOT NULL,
  n INTEGER NOT NULL, PRIMARY KEY (what, fleet, one, two)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS first_messages (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, took INTEGER NOT NULL,
  PRIMARY KEY (fleet, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deliveries_waiting ON deliveries (channel, fleet, owed_at)
  WHERE ${isWaiting};
${trigger('tally_delivery', 'INSERT ON deliveries', isCounted('NEW'), add(...delivery('NEW')))}
${trigger(
  'tally_state',
  'UPDATE OF state ON deliveries',
  `NEW.state <> OLD.state AND ${isCounted('NEW')}`,
  remove(...delivery('OLD')),
  add(...delivery('NEW')),
)}
${trigger(
  'tally_forgotten_delivery',
  'DELETE ON deliveries',
  `OLD.state = 'pending' AND ${isCounted('OLD')}`,
  remove(...delivery('OLD')),
)}
${trigger(
  'tally_first_message',
  'UPDATE OF state ON deliveries',
  `NEW.state = 'delivered' AND ${isCounted('NEW')}
    AND NEW.body ->> '$.telling.moment' <> 'alert' AND NOT EXISTS (
      SELECT 1 FROM first_messages WHERE fleet = NEW.fleet AND event_id = NEW.event_id)`,
  `INSERT INTO first_messages SELECT fleet, event_id, max(0, NEW.next_at - first_seen_at)
    FROM events WHERE fleet = NEW.fleet AND event_id = NEW.event_id
      AND body -> '$.drill' IS NULL;`,
)}
${trigger(
  'tally_latency',
  'INSERT ON first_messages',
  'true',
  `INSERT INTO tallies SELECT 'first_message', NEW.fleet, ${bucket.replaceAll('took', 'NEW.took')}, '', 1
    WHERE true ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO tallies VALUES ('first_message_ms', NEW.fleet, '', '', NEW.took)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;`,
)}
`

const readCounts = 'SELECT what, fleet, one, two, n FROM tallies WHERE n <> 0'
// CROSS JOIN: begin with the few open events, not with all events
const readOpen = `SELECT e.body FROM open_events o
  CROSS JOIN events e ON e.fleet = o.fleet AND e.event_id = o.event_id`
// jumps from one channel and fleet to the next, however long the queues are
const next = (condition: string) => `(SELECT rowid FROM deliveries
  WHERE ${isWaiting} AND ${condition} ORDER BY channel, fleet, owed_at LIMIT 1)`
const readOldest = `WITH RECURSIVE queue (channel, fleet, owed_at) AS (
    SELECT channel, fleet, owed_at FROM deliveries WHERE rowid = ${next('true')}
    UNION ALL SELECT n.channel, n.fleet, n.owed_at FROM queue q JOIN deliveries n
      ON n.rowid = coalesce(
        ${next('channel = q.channel AND fleet > q.fleet')}, ${next('channel > q.channel')}))
  SELECT channel, fleet, owed_at FROM queue`

const beaconsOf = `SELECT coalesce(sum(n), 0) AS n FROM tallies WHERE what = 'beacon' AND fleet = ?`

const raise = `INSERT INTO tallies (what, fleet, one, two, n) VALUES (?, ?, ?, ?, 1)
  ON CONFLICT DO UPDATE SET n = n + 1`
const lower = `UPDATE tallies SET n = n - 1 WHERE what = ? AND fleet = ? AND one = ? AND two = ?`
const tidy = `DELETE FROM tallies WHERE what = ? AND fleet = ? AND one = ? AND two = ? AND n = 0`

/** Call this within the transaction of the change. */
export function changeCount(
  statements: Statements,
  { what, fleet, one, two }: Count,
  by: 1 | -1,
): void {
  const names = [what, fleet, one, two]
  statements.run(by === 1 ? raise : lower, ...names)
  // beacons choose their versions, so there may be many
  if (by === -1 && what === 'beacon') statements.run(tidy, ...names)
}

export function countBeacons(statements: Statements, fleet: string): number {
  return Number(statements.get(beaconsOf, fleet)?.n)
}

export function readTally(statements: Statements, now: number): Tally {
  const counts = statements.all(readCounts).map(
    ({ what, fleet, one, two, n }): Count => ({
      what: String(what) as Counted,
      fleet: String(fleet),
      one: String(one),
      two: String(two),
      n: Number(n),
    }),
  )
  const oldest = statements.all(readOldest).map(({ fleet, channel, owed_at }) => ({
    fleet: String(fleet),
    channel: String(channel),
    plannedAt: Number(owed_at),
  }))
  return { at: now, counts, undecided: undecidedIn(openIn(statements)), oldest }
}

function* openIn(statements: Statements): Generator<EventRecord> {
  for (const { body } of statements.each(readOpen)) yield toEvent<EventRecord>(body)
}
