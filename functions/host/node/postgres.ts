// A relay on Node whose rows are in PostgreSQL. Loaded only then: the library is no part of a usual start.
import { createHash, randomUUID } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { buildKey } from '../../store/keys.ts'
import type { DatabaseAddress } from '../../store/postgres/address.ts'
import { readCertificates } from '../../store/postgres/certificates.ts'
import { type Database, openDatabase } from '../../store/postgres/connect.ts'
import { PostgresRows } from '../../store/postgres/rows.ts'
import { sql } from '../../store/postgres/schema.ts'
import { insertOrReplace, type Rows } from '../../store/rows.ts'
import { createFrequentLog } from '../../use-cases/frequent-log.ts'
import { readSmallFile } from '../small-file.ts'
import { SharedHints } from './hints.ts'
import type { Storage } from './storage.ts'

/** A database that fails makes thousands of errors. */
const lossLogMs = 10_000

interface Options {
  address: DatabaseAddress
  readToken: (() => Promise<string>) | undefined
  linkKeys: Uint8Array[]
  log: Log
}

/** Throws FoghornError. */
export async function openPostgres(options: Options): Promise<Storage> {
  const { address, readToken, linkKeys, log } = options
  const id = randomUUID()
  /** Whether the last change was written. What only reads may work all the same. */
  let writes: 'work' | 'fail' = 'work'
  const retryLog = createFrequentLog({ now: Date.now, log }, lossLogMs)
  const onLost = (error: unknown) =>
    retryLog.note('database_connection_lost', { error: messageOf(error) })
  const certificates = await readCertificates(address, rootCertificates, readSmallFile)
  const database = await openDatabase({ address, readToken, certificates, onLost })
  try {
    const hints = new SharedHints(id, (text) => database.tell(text))
    const query: Database['query'] = async (text, values) => {
      const isChange = text === sql.change
      try {
        const found = await database.query(text, values)
        if (isChange) writes = 'work'
        return found
      } catch (error) {
        if (isChange) writes = 'fail'
        throw error
      }
    }
    const rows = new PostgresRows({ query, nonce: id })
    await checkOwner(rows, linkKeys)
    await database.listen(
      (text) => hints.hear(text),
      (hears) => hints.setHearing(hears),
    )
    return {
      rows,
      hints,
      place: { database: `${address.host}/${address.database}` },
      async troubles() {
        if (writes === 'fail')
          throw new FoghornError('storage_unavailable', 'the database takes no changes')
        return []
      },
      async close() {
        await hints.close()
        await database.close()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

const relayPartition = buildKey('relay')
const ownerRow = buildKey('owner')

/**
 * Relays of one Foghorn share a link key. Another one would send the same messages with links that these do not know.
 * Throws FoghornError `data_in_use`.
 */
async function checkOwner(rows: Rows, linkKeys: Uint8Array[]): Promise<void> {
  const own = linkKeys.map((key) =>
    createHash('sha256').update(key).digest('base64url').slice(0, 22),
  )
  const was = await rows.read(relayPartition, ownerRow)
  const known = was === undefined ? own : (JSON.parse(was.body) as { keys: string[] }).keys
  if (!own.some((key) => known.includes(key))) {
    const remedy =
      'give both relays one FOGHORN_LINK_KEY, or use another database. If the key is new, write the old one ' +
      'behind it, with a comma between'
    throw new FoghornError('data_in_use', `another Foghorn uses this database: ${remedy}`)
  }
  const body = JSON.stringify({ keys: own })
  // in a conflict, another relay has just said the same
  if (was?.body !== body) await rows.change(relayPartition, [insertOrReplace(was, ownerRow, body)])
}
