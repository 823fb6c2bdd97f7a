// What the relay on Node stores its rows in: a file of SQLite, or PostgreSQL, which several relays may share.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { whyForeign } from '../../../shared/folder.ts'
import type { Log } from '../../../shared/log.ts'
import type { Rows } from '../../store/rows.ts'
import { SqlRows } from '../../store/sqlite.ts'
import { databaseName, openFile } from '../../store/sqlite-file.ts'
import type { DatabaseFolder } from './ability.ts'
import type { Hints } from './hints.ts'
import { listTroubles, readDisk } from './settings.ts'

export interface Storage {
  rows: Rows
  file?: DatabaseFolder
  /** Present if other relays may work on the same rows. */
  hints?: Hints
  /** For the line of the log that says where the relay stores. */
  place: Record<string, string>
  /** What `/healthz` says of it. */
  troubles(): Promise<string[]>
  close(): Promise<void>
}

/** Throws FoghornError. */
export function openSqlite(dataDirectory: string, log: Log): Storage {
  const foreign = whyForeign(dataDirectory)
  if (foreign !== undefined)
    throw new FoghornError(
      'data_unusable',
      `"${dataDirectory}" ${foreign}, and root works in no folder of others; start the relay as the folder's user, or set FOGHORN_DATA to a folder that only root can write to`,
    )
  makeFolder(dataDirectory)
  const path = join(resolve(dataDirectory), databaseName)
  const file = openFile(path)
  file.onBroken = (error) => {
    log.error('database_broken', { path, error: messageOf(error) })
    // the service starts it again, with the file as the disk has it
    process.exit(1)
  }
  let damage: string | undefined
  file.onDamaged = (sentence) => {
    if (damage === undefined) log.error('database_damaged', { path, error: sentence })
    damage = sentence
  }
  // after a restore that went wrong, or with a wrong FOGHORN_DATA, this line says so
  if (file.isNew) log.warn('database_created', { path })
  return {
    rows: new SqlRows(file, { nonce: randomUUID(), soon: afterTwoTurns, sum: crc32 }),
    file: {
      folder: dataDirectory,
      copyTo: (copy) => file.copyTo(copy),
      disk: () => readDisk(dataDirectory),
    },
    place: { dataDirectory },
    troubles: () => listTroubles(dataDirectory, damage),
    close: async () => file.close(),
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const remedy = 'set FOGHORN_DATA to a folder that this user may write to'
    throw new FoghornError(
      'data_unusable',
      `"${path}" cannot be made (${messageOf(error)}); ${remedy}`,
    )
  }
}

/**
 * Reports that arrive meanwhile share the transaction. In a storm, that takes a tenth less of the
 * processor than one turn of the event loop; a third turn saves nothing more.
 */
function afterTwoTurns(flush: () => void): void {
  setImmediate(() => setImmediate(flush))
}
