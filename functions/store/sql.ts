// The SQL that every SQLite store shares: one statement for each verb, the lease in the where clause.

export const schema = `
CREATE TABLE IF NOT EXISTS events (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, sequence INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL, due_at INTEGER, ended_at INTEGER, body TEXT NOT NULL,
  PRIMARY KEY (fleet, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS events_due ON events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_ended ON events (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_seen ON events (first_seen_at);
CREATE TABLE IF NOT EXISTS beacons (
  fleet TEXT NOT NULL, beacon TEXT NOT NULL, boot_id TEXT NOT NULL, counter INTEGER NOT NULL,
  heard_at INTEGER NOT NULL, retired TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (fleet, beacon)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sightings (
  fleet TEXT NOT NULL, event_id TEXT NOT NULL, beacon TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (fleet, event_id, beacon)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  id TEXT PRIMARY KEY, fleet TEXT NOT NULL, event_id TEXT NOT NULL, channel TEXT NOT NULL,
  seq INTEGER NOT NULL, created_at INTEGER NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL, next_at INTEGER NOT NULL,
  lease TEXT, lease_until INTEGER NOT NULL DEFAULT 0, note TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS beacons_heard ON beacons (heard_at);
CREATE INDEX IF NOT EXISTS deliveries_failed ON deliveries (created_at)
  WHERE state IN ('refused', 'given_up');
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (next_at) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_event ON deliveries (fleet, event_id, channel, seq);
`

/** No earlier message of the same event and channel is still owed. */
const inOrder = `NOT EXISTS (
  SELECT 1 FROM deliveries e WHERE e.fleet = d.fleet AND e.event_id = d.event_id
    AND e.channel = d.channel AND e.seq < d.seq AND e.state = 'pending')`

export const sql = {
  readEvent: 'SELECT body FROM events WHERE fleet = ? AND event_id = ?',
  insertEvent: `INSERT INTO events (fleet, event_id, sequence, first_seen_at, due_at, ended_at, body)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  updateEvent: `UPDATE events SET sequence = ?, due_at = ?, ended_at = ?, body = ?
    WHERE fleet = ? AND event_id = ? AND sequence = ?`,
  // down to the last one's millisecond, or those that share it would fall between two pages
  listEvents: `SELECT body FROM events WHERE (? IS NULL OR fleet = ?) AND first_seen_at < ?
      AND first_seen_at >= coalesce((SELECT first_seen_at FROM events
        WHERE (? IS NULL OR fleet = ?) AND first_seen_at < ?
        ORDER BY first_seen_at DESC LIMIT 1 OFFSET ?), 0)
    ORDER BY first_seen_at DESC, fleet, event_id`,
  dueEvents: `SELECT fleet, event_id FROM events WHERE due_at IS NOT NULL AND due_at <= ?
    ORDER BY due_at LIMIT ?`,
  readBeacon: 'SELECT body FROM beacons WHERE fleet = ? AND beacon = ?',
  writeBeacon: `INSERT INTO beacons (fleet, beacon, boot_id, counter, heard_at, retired, body)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET boot_id = excluded.boot_id, counter = excluded.counter,
      heard_at = excluded.heard_at, retired = excluded.retired, body = excluded.body
    WHERE (boot_id = excluded.boot_id AND counter < excluded.counter)
      OR (boot_id <> excluded.boot_id
        AND NOT EXISTS (SELECT 1 FROM json_each(retired) WHERE value = excluded.boot_id))`,
  readSighting: 'SELECT body FROM sightings WHERE fleet = ? AND event_id = ? AND beacon = ?',
  writeSighting: `INSERT INTO sightings (fleet, event_id, beacon, body) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET body = excluded.body`,
  readObservers: `SELECT b.body AS beacon, s.body AS sighting FROM sightings s
    JOIN beacons b ON b.fleet = s.fleet AND b.beacon = s.beacon
    WHERE s.fleet = ? AND s.event_id = ? ORDER BY s.beacon`,
  insertDelivery: `INSERT INTO deliveries
    (id, fleet, event_id, channel, seq, created_at, state, attempts, next_at, note, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  supersede: `UPDATE deliveries SET state = 'superseded', note = 'the event ended first'
    WHERE id = ? AND state = 'pending' AND lease IS NULL`,
  claim: `UPDATE deliveries SET lease = ?, lease_until = ?, attempts = attempts + 1
    WHERE id IN (SELECT id FROM (
        SELECT d.id, d.next_at, d.seq,
          row_number() OVER (PARTITION BY d.channel ORDER BY d.next_at, d.seq) AS place
        FROM deliveries d
        WHERE d.state = 'pending' AND d.next_at <= ? AND d.lease_until <= ?
          AND d.channel NOT IN (SELECT value FROM json_each(?)) AND ${inOrder})
      WHERE place <= ? ORDER BY next_at, seq LIMIT ?)
    RETURNING *`,
  settle: `UPDATE deliveries SET state = ?, next_at = ?, note = ?, lease = NULL, lease_until = 0
    WHERE id = ? AND lease = ? AND lease_until > ? AND state = 'pending'`,
  freeLeases: 'UPDATE deliveries SET lease = NULL, lease_until = 0 WHERE lease IS NOT NULL',
  readDeliveries: `SELECT * FROM deliveries WHERE fleet = ? AND event_id = ?
    ORDER BY seq, rowid`,
  replayOne: `UPDATE deliveries SET state = 'pending', attempts = 0, next_at = ?
    WHERE id = ? AND state IN ('refused', 'given_up')`,
  replaySince: `UPDATE deliveries SET state = 'pending', attempts = 0, next_at = ?
    WHERE id IN (SELECT id FROM deliveries
      WHERE state IN ('refused', 'given_up') AND created_at >= ? AND (? IS NULL OR channel = ?)
      ORDER BY created_at LIMIT ?)`,
  endedBefore: `SELECT fleet, event_id FROM events WHERE ended_at IS NOT NULL AND ended_at < ?
    ORDER BY ended_at LIMIT ?`,
  forgetDeliveries: 'DELETE FROM deliveries WHERE fleet = ? AND event_id = ?',
  forgetSightings: 'DELETE FROM sightings WHERE fleet = ? AND event_id = ?',
  forgetEvent: 'DELETE FROM events WHERE fleet = ? AND event_id = ?',
  forgetBeacons: `DELETE FROM beacons WHERE (fleet, beacon) IN
    (SELECT fleet, beacon FROM beacons WHERE heard_at < ? ORDER BY heard_at LIMIT ?)`,
  nextDueAt: `SELECT min(at) AS at FROM (
    SELECT min(due_at) AS at FROM events WHERE due_at IS NOT NULL
    UNION ALL SELECT min(max(d.next_at, d.lease_until)) AS at FROM deliveries d
      WHERE d.state = 'pending' AND d.channel NOT IN (SELECT value FROM json_each(?))
        AND ${inOrder})`,
}
