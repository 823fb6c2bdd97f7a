// The SQL of the SQLite store: its tables, and one statement for each verb. The statement that ends
// a lease checks it in its where clause.
import { alertPrefix } from '../../../shared/report.ts'
import { subscriptionChannel } from '../../core/delivery/delivery.ts'
import { listedFields } from '../listed-beacon.ts'
import { browseSchema } from './browse-sql.ts'
import { tallySchema } from './tally.ts'

/** Increase this, and upgrade older files, if an older relay would not understand changed tables. */
export const schemaVersion = 4

const subscriptions = subscriptionChannel('')
const toSubscription = `channel GLOB '${subscriptions}*'`
/** As ranges of the index on the channel, so that a search skips all subscriptions. */
const besideSubscriptions = [
  `channel < '${subscriptions}'`,
  `channel >= '${subscriptions.replace(':', ';')}'`,
]

export const schema = `
CREATE TABLE IF NOT EXISTS events (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, sequence INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL, due_at INTEGER, ended_at INTEGER, event_type TEXT NOT NULL,
  step TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (fleet, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS events_due ON events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_ended ON events (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS open_events (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, only_beacon TEXT NOT NULL,
  PRIMARY KEY (fleet, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS open_events_alone ON open_events (fleet, only_beacon);
CREATE TABLE IF NOT EXISTS beacons (
  fleet TEXT NOT NULL, beacon TEXT NOT NULL, heard_at INTEGER NOT NULL, day INTEGER NOT NULL,
  silent_at INTEGER, due_at INTEGER, mark TEXT, body TEXT NOT NULL, PRIMARY KEY (fleet, beacon)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sightings (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, beacon TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (fleet, event_id, beacon)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  id TEXT PRIMARY KEY, fleet TEXT NOT NULL, event_id TEXT NOT NULL, channel TEXT NOT NULL,
  seq INTEGER NOT NULL, owed_at INTEGER NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, lease TEXT, note TEXT NOT NULL,
  alone INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL, view TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS views (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, view TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (fleet, event_id, view)
) STRICT;
CREATE TABLE IF NOT EXISTS channels (
  name TEXT PRIMARY KEY, spent_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memos (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (fleet, event_id, kind, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moments (
  position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS beacons_heard ON beacons (day);
CREATE INDEX IF NOT EXISTS beacons_due ON beacons (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS deliveries_failed ON deliveries (owed_at)
  WHERE state IN ('refused', 'given_up');
CREATE INDEX IF NOT EXISTS deliveries_turn ON deliveries (channel, fleet, next_at)
  WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_event ON deliveries (fleet, event_id, channel, seq);
CREATE INDEX IF NOT EXISTS deliveries_subscription ON deliveries (channel, owed_at, seq, id)
  WHERE ${toSubscription};
CREATE INDEX IF NOT EXISTS deliveries_ended ON deliveries (owed_at)
  WHERE ${toSubscription} AND state <> 'pending';
CREATE TABLE IF NOT EXISTS answers (
  id TEXT PRIMARY KEY, body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
${browseSchema}
${tallySchema}`

/** Alerts are stored like events, but lists do not show them. */
const isEvent = `event_id NOT GLOB '${alertPrefix}*'`

/** No earlier message of the same event and channel is pending. */
const inOrder = `NOT EXISTS (
  SELECT 1 FROM deliveries e WHERE e.fleet = d.fleet AND e.event_id = d.event_id
    AND e.channel = d.channel AND e.seq < d.seq AND e.state = 'pending')`

/** Takes a list of fleets as JSON twice, or null twice for all fleets. */
const ofFleets = '(? IS NULL OR fleet IN (SELECT value FROM json_each(?)))'

/** As `json_object` takes them; `->` keeps arrays and objects as JSON. Absent fields are null. */
const listed = listedFields.map((field) => `'${field}', body -> '$.${field}'`).join(', ')

export const sql = {
  readEvent: 'SELECT body FROM events WHERE fleet = ? AND event_id = ?',
  insertEvent: `INSERT INTO events (fleet, event_id, sequence, first_seen_at, due_at, ended_at,
      event_type, step, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // names no column of an index
  updateEvent: 'UPDATE events SET sequence = ?, body = ? WHERE fleet = ? AND event_id = ?',
  stepEvent: `UPDATE events SET sequence = ?, due_at = ?, ended_at = ?, event_type = ?, step = ?,
      body = ? WHERE fleet = ? AND event_id = ?`,
  addEventName: `INSERT OR IGNORE INTO event_names (name, first_seen_at, fleet, event_id)
    VALUES (?, ?, ?, ?)`,
  dropEventName: `DELETE FROM event_names
    WHERE name = ? AND first_seen_at = ? AND fleet = ? AND event_id = ?`,
  noteOpen: `INSERT INTO open_events (fleet, event_id, only_beacon) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET only_beacon = excluded.only_beacon
    WHERE only_beacon <> excluded.only_beacon`,
  noteEnded: 'DELETE FROM open_events WHERE fleet = ? AND event_id = ?',
  countOpen: `SELECT
    (SELECT count(*) FROM (SELECT 1 FROM open_events WHERE fleet = ? LIMIT ?)) AS of_fleet,
    (SELECT count(*) FROM (SELECT 1 FROM open_events
      WHERE fleet = ? AND only_beacon = ? LIMIT ?)) AS of_beacon`,
  // include all rows of the last row's millisecond: the next page begins before it
  listEvents: `SELECT body FROM events WHERE (? IS NULL OR fleet = ?) AND first_seen_at < ?
      AND ${isEvent}
      AND first_seen_at >= coalesce((SELECT first_seen_at FROM events
        WHERE (? IS NULL OR fleet = ?) AND first_seen_at < ? AND ${isEvent}
        ORDER BY first_seen_at DESC LIMIT 1 OFFSET ?), 0)
    ORDER BY first_seen_at DESC, fleet, event_id`,
  dueEvents: `SELECT fleet, event_id FROM events WHERE due_at IS NOT NULL AND due_at <= ?
    ORDER BY due_at LIMIT ?`,
  readBeacon: 'SELECT body, due_at FROM beacons WHERE fleet = ? AND beacon = ?',
  listBeacons: `SELECT json_object(${listed}) AS listed,
      json_array_length(body, '$.sees') AS sees_events
    FROM beacons WHERE fleet = ? AND beacon > ? ORDER BY beacon LIMIT ?`,
  putBeacon: `INSERT INTO beacons (fleet, beacon, heard_at, day, silent_at, due_at, mark, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET heard_at = excluded.heard_at, day = excluded.day,
      silent_at = excluded.silent_at, due_at = excluded.due_at, mark = excluded.mark,
      body = excluded.body`,
  // names no column of an index that most beacons are in
  updateBeacon: `UPDATE beacons SET heard_at = ?, silent_at = ?, body = ?
    WHERE fleet = ? AND beacon = ?`,
  moveBeacon: 'UPDATE beacons SET due_at = ? WHERE fleet = ? AND beacon = ?',
  earlyBeacons: `SELECT fleet, beacon, silent_at FROM beacons
    WHERE due_at <= ? AND due_at < silent_at LIMIT ?`,
  dueBeacons: `SELECT fleet, beacon FROM beacons WHERE due_at <= ? ORDER BY due_at LIMIT ?`,
  nextDueBeacon: 'SELECT min(due_at) AS at FROM beacons WHERE due_at IS NOT NULL',
  addBeaconName: 'INSERT OR IGNORE INTO beacon_names (fleet, vm, beacon) VALUES (?, ?, ?)',
  dropBeaconName: 'DELETE FROM beacon_names WHERE fleet = ? AND vm = ? AND beacon = ?',
  readSighting: 'SELECT body FROM sightings WHERE fleet = ? AND event_id = ? AND beacon = ?',
  writeSighting: `INSERT INTO sightings (fleet, event_id, beacon, body) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET body = excluded.body`,
  readCrowd: 'SELECT beacon FROM sightings WHERE fleet = ? AND event_id = ?',
  insertDelivery: `INSERT INTO deliveries
    (id, fleet, event_id, channel, seq, owed_at, state, attempts, next_at, note, body, view)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  insertView: `INSERT INTO views (fleet, event_id, view, body) VALUES (?, ?, ?, ?)
    ON CONFLICT DO NOTHING`,
  readView: 'SELECT body FROM views WHERE fleet = ? AND event_id = ? AND view = ?',
  readViews: 'SELECT view, body FROM views WHERE fleet = ? AND event_id = ?',
  supersede: `UPDATE deliveries SET state = 'superseded', lease = NULL, note = ?
    WHERE id = ? AND state = 'pending' AND (lease IS NULL OR next_at <= ?)`,
  // uses the index to jump from one channel and fleet to the next, however long the queues are
  queues: `WITH RECURSIVE queue (channel, fleet) AS (
      SELECT channel, fleet FROM (SELECT channel, fleet FROM deliveries
        WHERE state = 'pending' ORDER BY channel, fleet LIMIT 1)
      UNION ALL SELECT n.channel, n.fleet FROM queue q JOIN deliveries n ON n.rowid = coalesce(
        (SELECT rowid FROM deliveries WHERE state = 'pending'
          AND channel = q.channel AND fleet > q.fleet ORDER BY fleet LIMIT 1),
        (SELECT rowid FROM deliveries WHERE state = 'pending'
          AND channel > q.channel ORDER BY channel, fleet LIMIT 1)))
    SELECT q.channel, q.fleet, coalesce(c.spent_until, 0) AS spent_until
    FROM queue q LEFT JOIN channels c ON c.name = q.channel`,
  queueDueAt: `SELECT d.next_at FROM deliveries d
    WHERE d.state = 'pending' AND d.channel = ? AND d.fleet = ? AND ${inOrder}
    ORDER BY d.next_at LIMIT 1`,
  due: `SELECT * FROM deliveries d
    WHERE d.state = 'pending' AND d.channel = ? AND d.fleet = ? AND d.next_at <= ?
    AND ${inOrder} ORDER BY d.next_at LIMIT ?`,
  lease: 'UPDATE deliveries SET lease = ?, next_at = ?, attempts = attempts + 1 WHERE id = ?',
  spend: `INSERT INTO channels (name, spent_until) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET spent_until = excluded.spent_until`,
  pause: `INSERT INTO channels (name, spent_until) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET spent_until = max(spent_until, excluded.spent_until)`,
  // a delivery that waits after a failure becomes due at once if a newer one must follow it
  hurry: `UPDATE deliveries SET next_at = ? WHERE fleet = ? AND event_id = ? AND channel = ?
    AND state = 'pending' AND lease IS NULL AND next_at > ?`,
  settle: `UPDATE deliveries SET state = ?, next_at = ?, note = ?, lease = NULL,
      attempts = attempts - ?, alone = max(alone, ?)
    WHERE id = ? AND lease = ? AND next_at > ? AND state = 'pending'`,
  // the next delivery of the same event and channel becomes due now, after those of other events
  follow: `UPDATE deliveries SET next_at = ? WHERE rowid = (
      SELECT rowid FROM deliveries WHERE fleet = ? AND event_id = ? AND channel = ? AND seq > ?
        AND state = 'pending' ORDER BY seq LIMIT 1)
    AND lease IS NULL AND next_at < ?`,
  freeLeases: 'UPDATE deliveries SET lease = NULL, next_at = ? WHERE lease IS NOT NULL',
  insertMoment: 'INSERT INTO moments (id, at, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  readMoments: `SELECT position, id, body FROM moments WHERE position > ?
    ORDER BY position LIMIT ?`,
  // AUTOINCREMENT keeps the highest position here, also of moments that were forgotten
  lastPosition: "SELECT seq FROM sqlite_sequence WHERE name = 'moments'",
  // positions follow the time closely, so this stops at the first moment to keep
  forgetMoments: `DELETE FROM moments WHERE position IN
    (SELECT position FROM moments ORDER BY position LIMIT ?) AND at < ?`,
  readMemo: `SELECT body FROM memos
    WHERE fleet = ? AND event_id = ? AND kind = ? AND name = ?`,
  listMemos: `SELECT body FROM memos WHERE fleet = '' AND event_id = '' AND kind = ?
    ORDER BY name`,
  insertMemo: `INSERT INTO memos (version, body, fleet, event_id, kind, name)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  updateMemo: `UPDATE memos SET version = ?, body = ?
    WHERE fleet = ? AND event_id = ? AND kind = ? AND name = ? AND version = ?`,
  removeMemo: `DELETE FROM memos
    WHERE fleet = ? AND event_id = ? AND kind = ? AND name = ?`,
  readDeliveries: `SELECT * FROM (${besideSubscriptions
    .map((side) => `SELECT *, rowid FROM deliveries WHERE fleet = ? AND event_id = ? AND ${side}`)
    .join(' UNION ALL ')}) ORDER BY seq, rowid`,
  readDeliveriesTo: `SELECT * FROM deliveries WHERE fleet = ? AND event_id = ? AND channel = ?
    ORDER BY seq, rowid`,
  plannedSince: `SELECT count(*) AS planned,
      count(CASE WHEN state IN ('refused', 'given_up') THEN 1 END) AS failed
    FROM (SELECT state FROM deliveries WHERE ${toSubscription} AND channel = ? AND owed_at >= ?
      AND (? IS NULL OR fleet IN (SELECT value FROM json_each(?))) ORDER BY owed_at DESC LIMIT ?)`,
  listDeliveries: `SELECT * FROM deliveries WHERE ${toSubscription} AND channel = ?
    AND (owed_at, seq, id) < (?, ?, ?) ORDER BY owed_at DESC, seq DESC, id DESC LIMIT ?`,
  readAnswer: 'SELECT body FROM answers WHERE id = ?',
  writeAnswer: `INSERT INTO answers (id, body) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET body = excluded.body`,
  forgetAnswer: 'DELETE FROM answers WHERE id = ?',
  // SQLite prefers the index of the list, and would read every delivery to a subscription
  endedToSubscriptions: `SELECT id, fleet, event_id FROM deliveries INDEXED BY deliveries_ended
    WHERE ${toSubscription} AND state <> 'pending' AND owed_at < ? ORDER BY owed_at LIMIT ?`,
  forgetDelivery: 'DELETE FROM deliveries WHERE id = ?',
  forgetEnded: `DELETE FROM deliveries WHERE id = ? AND state <> 'pending'`,
  replayOne: `UPDATE deliveries SET state = 'pending', next_at = ?, owed_at = ?
    WHERE id = ? AND state IN ('refused', 'given_up') AND ${ofFleets}`,
  replaySince: `UPDATE deliveries SET state = 'pending', next_at = ?, owed_at = ?
    WHERE id IN (SELECT id FROM deliveries
      WHERE state IN ('refused', 'given_up') AND owed_at >= ?
        AND CASE WHEN ? IS NULL THEN NOT ${toSubscription} ELSE channel = ? END
        AND ${ofFleets}
      ORDER BY owed_at LIMIT ?)`,
  endedBefore: `SELECT fleet, event_id FROM events WHERE ended_at IS NOT NULL AND ended_at < ?
    ORDER BY ended_at LIMIT ?`,
  forgetDeliveries: `DELETE FROM deliveries WHERE fleet = ? AND event_id = ?
    AND NOT ${toSubscription}`,
  // deliveries to subscriptions may be kept longer than their event
  forgetViews: `DELETE FROM views WHERE fleet = ? AND event_id = ? AND NOT EXISTS (
    SELECT 1 FROM deliveries d WHERE d.fleet = views.fleet AND d.event_id = views.event_id
      AND d.view = views.view)`,
  forgetMemos: 'DELETE FROM memos WHERE fleet = ? AND event_id = ?',
  forgetSightings: 'DELETE FROM sightings WHERE fleet = ? AND event_id = ?',
  forgetEvent: 'DELETE FROM events WHERE fleet = ? AND event_id = ?',
  forgetFirstMessage: 'DELETE FROM first_messages WHERE fleet = ? AND event_id = ?',
  // CROSS JOIN: begin with the few events that a beacon sees, not with all events of its fleet
  unheardBeacons: `SELECT b.body FROM beacons b
    WHERE b.day <= ? AND b.heard_at < ? AND NOT EXISTS (
      SELECT 1 FROM json_each(b.body, '$.sees') seen
      CROSS JOIN events e ON e.fleet = b.fleet AND e.event_id = seen.value
      WHERE e.ended_at IS NULL)
    ORDER BY b.day LIMIT ?`,
  forgetBeacon: 'DELETE FROM beacons WHERE fleet = ? AND beacon = ?',
  nextDueEvent: 'SELECT min(due_at) AS at FROM events WHERE due_at IS NOT NULL',
}
