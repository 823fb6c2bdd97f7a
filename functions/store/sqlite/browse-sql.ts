// The tables, indexes and statements of searches. Plain SQL without statements of one database only.
import { alertPrefix } from '../../../shared/report.ts'
import { listedFields } from '../listed-beacon.ts'

/** Alerts are stored like events, but no search finds them. */
const isEvent = `event_id NOT GLOB '${alertPrefix}*'`
/** As `json_object` takes them; `->` keeps arrays and objects as JSON. Absent fields are null. */
const fields = listedFields.map((field) => `'${field}', body -> '$.${field}'`).join(', ')
const listed = `json_object(${fields}) AS listed, json_array_length(body, '$.sees') AS sees_events`

const byTime = (mark: string) => `SELECT heard_at, beacon, ${listed}
    FROM beacons INDEXED BY beacons_marked WHERE mark = '${mark}' AND fleet = ? AND (heard_at, beacon) > (?, ?)
    ORDER BY heard_at, beacon LIMIT ?`

export const browseSchema = `
CREATE TABLE IF NOT EXISTS event_names (
  name TEXT NOT NULL, first_seen_at INTEGER NOT NULL, fleet TEXT NOT NULL, event_id TEXT NOT NULL,
  PRIMARY KEY (name, first_seen_at, fleet, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS events_browse
  ON events (first_seen_at, fleet, event_id, event_type, step) WHERE ${isEvent};
CREATE TABLE IF NOT EXISTS beacon_names (
  fleet TEXT NOT NULL, vm TEXT NOT NULL, beacon TEXT NOT NULL, PRIMARY KEY (fleet, vm, beacon)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS beacons_marked ON beacons (fleet, mark, heard_at, beacon)
  WHERE mark IS NOT NULL;
INSERT OR IGNORE INTO beacon_names SELECT fleet, lower(body ->> '$.vm'), beacon FROM beacons
  WHERE NOT EXISTS (SELECT 1 FROM beacon_names);
CREATE TABLE IF NOT EXISTS delivered (
  channel TEXT PRIMARY KEY, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS delivery_arrived AFTER UPDATE OF state ON deliveries
  WHEN NEW.state = 'delivered' AND OLD.state <> 'delivered'
  BEGIN INSERT INTO delivered (channel, at) VALUES (NEW.channel, NEW.next_at)
    ON CONFLICT DO UPDATE SET at = max(at, excluded.at); END;
CREATE INDEX IF NOT EXISTS deliveries_pending ON deliveries (channel, owed_at, fleet)
  WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_failed_of ON deliveries (channel, owed_at, seq, id, fleet)
  WHERE state IN ('refused', 'given_up');
CREATE INDEX IF NOT EXISTS events_by_type
  ON events (event_type, first_seen_at, fleet, event_id, step) WHERE ${isEvent};
CREATE INDEX IF NOT EXISTS events_by_step
  ON events (step, first_seen_at, fleet, event_id, event_type) WHERE ${isEvent};
CREATE INDEX IF NOT EXISTS events_by_fleet
  ON events (fleet, first_seen_at, event_id, event_type, step) WHERE ${isEvent};
INSERT OR IGNORE INTO event_names SELECT e.event_id, e.first_seen_at, e.fleet, e.event_id
  FROM events e WHERE NOT EXISTS (SELECT 1 FROM event_names) AND e.${isEvent}
  UNION SELECT lower(vm.value), e.first_seen_at, e.fleet, e.event_id
  FROM events e JOIN json_each(e.body, '$.facts.resources') vm
  WHERE NOT EXISTS (SELECT 1 FROM event_names) AND e.${isEvent};
`

/** All conditions that need no name. Takes 9 values, see `Browse`. */
const matching = `${isEvent} AND fleet IN (SELECT value FROM json_each(?)) AND (? IS NULL OR event_type = ?)
    AND (? IS NULL OR step = ?) AND first_seen_at >= ?
    AND (first_seen_at, fleet, event_id) < (?, ?, ?)`

const newestFirst = 'ORDER BY first_seen_at DESC, fleet DESC, event_id DESC'

/**
 * Keys first: they come from the index alone, and a body may be large. `first`: a condition that few
 * events meet, which the index begins with.
 */
const keysIn = (index: string, first: string) => `SELECT first_seen_at, fleet, event_id
    FROM events INDEXED BY ${index} WHERE ${first}${matching}`
const keys = keysIn('events_browse', '')

const bodiesOf = (inner: string) => `WITH found AS (${inner})
    SELECT e.first_seen_at, e.fleet, e.event_id, e.body FROM found
    CROSS JOIN events e ON e.fleet = found.fleet AND e.event_id = found.event_id
    ORDER BY e.first_seen_at DESC, e.fleet DESC, e.event_id DESC`

/** Takes the value of the first condition before the others. */
function found(index: string, column: string): string {
  return bodiesOf(`${keysIn(index, `${column} = ? AND `)} ${newestFirst} LIMIT ?`)
}

export const browseSql = {
  // undecided events first: the others need no decision
  listOpen: `SELECT e.body FROM open_events o
    CROSS JOIN events e ON e.fleet = o.fleet AND e.event_id = o.event_id
    WHERE o.fleet IN (SELECT value FROM json_each(?))
    ORDER BY coalesce(e.body ->> '$.startedAt', e.body ->> '$.verdict.decision') IS NOT NULL,
      coalesce(e.body ->> '$.facts.notBeforeAt', 0), e.fleet, e.event_id LIMIT ?`,
  findEvents: bodiesOf(`${keys} ${newestFirst} LIMIT ?`),
  findByType: found('events_by_type', 'event_type'),
  findByStep: found('events_by_step', 'step'),
  findInFleet: found('events_by_fleet', 'fleet'),
  countNames: `SELECT count(*) AS count FROM
    (SELECT 1 FROM event_names WHERE name >= ? AND name < ? LIMIT ?)`,
  findNamed: bodiesOf(`${keys} AND (first_seen_at, fleet, event_id) IN
    (SELECT first_seen_at, fleet, event_id FROM event_names WHERE name >= ? AND name < ?)
    ${newestFirst} LIMIT ?`),
  // for a name that many events have: looks at the newest events, and most of them match
  findAmong: `WITH among AS (${keys} ${newestFirst} LIMIT ?)
    SELECT e.first_seen_at, e.fleet, e.event_id, e.body FROM among
    CROSS JOIN events e ON e.fleet = among.fleet AND e.event_id = among.event_id
    WHERE e.event_id BETWEEN ? AND ? OR EXISTS (SELECT 1
      FROM json_each(e.body, '$.facts.resources') vm WHERE lower(vm.value) BETWEEN ? AND ?)
    ORDER BY e.first_seen_at DESC, e.fleet DESC, e.event_id DESC LIMIT ?`,
  beaconsByName: `SELECT n.vm AS name, n.beacon AS beacon, ${listed} FROM beacon_names n
    CROSS JOIN beacons b ON b.fleet = n.fleet AND b.beacon = n.beacon
    WHERE n.fleet = ? AND n.vm < ? AND (n.vm, n.beacon) > (?, ?)
    ORDER BY n.vm, n.beacon LIMIT ?`,
  silentBeacons: byTime('silent'),
  leftBeacons: byTime('left'),
  deliveredAt: 'SELECT at FROM delivered WHERE channel = ?',
  pendingOf: `SELECT count(*) AS count, min(owed_at) AS since FROM
    (SELECT owed_at FROM deliveries WHERE state = 'pending' AND channel = ?
      AND (? IS NULL OR fleet IN (SELECT value FROM json_each(?))) ORDER BY owed_at LIMIT ?)`,
  failedOf: `SELECT count(*) AS count FROM (SELECT 1 FROM deliveries
    WHERE state IN ('refused', 'given_up') AND channel = ?
      AND (? IS NULL OR fleet IN (SELECT value FROM json_each(?))) LIMIT ?)`,
  listFailed: `SELECT * FROM deliveries WHERE state IN ('refused', 'given_up') AND channel = ?
    AND (owed_at, seq, id) < (?, ?, ?)
    AND (? IS NULL OR fleet IN (SELECT value FROM json_each(?)))
    ORDER BY owed_at DESC, seq DESC, id DESC LIMIT ?`,
  lastAmong: `${keys} ${newestFirst} LIMIT 1 OFFSET ?`,
}
