// What a relay makes in a database of PostgreSQL: a schema of its own with two tables, and a function that makes the
// changes of several callers in one transaction and one round trip.

/** Another Foghorn needs another database. */
export const schemaName = 'foghorn'

/** A new name for each new meaning: relays of two versions may work on one database. */
const changeName = `${schemaName}.change_1`

/** SQLSTATE of a change whose row is not as it was read. Classes that begin with these letters are free. */
const conflict = 'FH001'

/** What must be there. An owner may make it, if the relay's user has no right to. */
export const schema = `
CREATE TABLE IF NOT EXISTS ${schemaName}.rows (
  partition text COLLATE "C" NOT NULL, "row" text COLLATE "C" NOT NULL, version text NOT NULL,
  keys text NOT NULL, body text NOT NULL, PRIMARY KEY (partition, "row")
) WITH (fillfactor = 80);
CREATE TABLE IF NOT EXISTS ${schemaName}.entries (
  name text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, partition text COLLATE "C" NOT NULL,
  "row" text COLLATE "C" NOT NULL, summary text NOT NULL, PRIMARY KEY (name, key, partition, "row")
);
CREATE OR REPLACE FUNCTION ${changeName}(units json) RETURNS boolean[] LANGUAGE plpgsql AS $change$
DECLARE
  unit json;
  one record;
  outcomes boolean[] := '{}';
BEGIN
  FOR unit IN SELECT value FROM json_array_elements(units) LOOP
    BEGIN
      FOR one IN SELECT unit->>'partition' AS partition, c.* FROM json_to_recordset(unit->'changes')
        AS c(kind text, "row" text, was text, version text, keys text, body text, dropped json, added json)
      LOOP
        CASE one.kind
          WHEN 'insert' THEN
            INSERT INTO ${schemaName}.rows VALUES (one.partition, one."row", one.version, one.keys, one.body)
            ON CONFLICT DO NOTHING;
          WHEN 'put' THEN
            INSERT INTO ${schemaName}.rows VALUES (one.partition, one."row", one.version, one.keys, one.body)
            ON CONFLICT (partition, "row") DO UPDATE
            SET version = excluded.version, keys = excluded.keys, body = excluded.body;
          WHEN 'replace' THEN
            UPDATE ${schemaName}.rows AS r SET version = one.version, keys = one.keys, body = one.body
            WHERE r.partition = one.partition AND r."row" = one."row" AND r.version = one.was;
          WHEN 'remove' THEN
            DELETE FROM ${schemaName}.rows AS r
            WHERE r.partition = one.partition AND r."row" = one."row" AND r.version = one.was;
        END CASE;
        IF NOT FOUND THEN
          RAISE EXCEPTION USING ERRCODE = '${conflict}';
        END IF;
        DELETE FROM ${schemaName}.entries AS e USING json_to_recordset(one.dropped) AS d(name text, key text)
        WHERE e.name = d.name AND e.key = d.key AND e.partition = one.partition AND e."row" = one."row";
        INSERT INTO ${schemaName}.entries
        SELECT a.name, a.key, one.partition, one."row", a.summary
        FROM json_to_recordset(one.added) AS a(name text, key text, summary text)
        ON CONFLICT (name, key, partition, "row") DO UPDATE SET summary = excluded.summary;
      END LOOP;
      outcomes := outcomes || true;
    EXCEPTION WHEN SQLSTATE '${conflict}' THEN
      outcomes := outcomes || false;
    END;
  END LOOP;
  RETURN outcomes;
END
$change$;`

const columns = 'partition, "row", version, keys, body'

export const sql = {
  isMade: `SELECT to_regprocedure('${changeName}(json)') IS NOT NULL AS made`,
  read: `SELECT ${columns} FROM ${schemaName}.rows WHERE partition = $1 AND "row" = $2`,
  list: `SELECT ${columns} FROM ${schemaName}.rows
    WHERE partition = $1 AND "row" >= $2 AND "row" < $3 ORDER BY "row" LIMIT $4`,
  find: `SELECT key, summary, partition, "row" FROM ${schemaName}.entries
    WHERE name = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4`,
  change: `SELECT ${changeName}($1::json) AS outcomes`,
}
