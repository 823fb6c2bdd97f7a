// Waits for the disk beside SQLite, so that the thread can go on meanwhile. SQLite appends each
// commit to the file `-wal`. Without its own wait (`synchronous=NORMAL`), it still waits before it
// moves pages from there into the database.
import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'

const sync = promisify(fdatasync)

export interface Wal {
  /** Resolves once all commits so far are on disk. */
  sync(): Promise<void>
  close(): void
}

/** Call this once the database is open: then the file exists. */
export function openWal(path: string): Wal {
  const file = openSync(`${path}-wal`, 'r+')
  return { sync: () => sync(file), close: () => closeSync(file) }
}
