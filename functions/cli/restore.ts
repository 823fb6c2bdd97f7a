// `npm run restore -- FILE`: puts a backup in the place of a stopped relay's database. The old
// database stays beside it under another name.
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { FoghornError } from '../../shared/errors.ts'
import { checkBackup, databaseName, openFile } from '../store/sqlite-file.ts'
import { command, wrong } from './command.ts'

/** Only the relay's own user may read events, names of VMs and decisions. */
const ownerOnly = 0o600
/** With what SQLite may have left beside it. */
const parts = ['', '-wal', '-shm', '-journal']

export const restore = command({
  usage: 'FILE',
  about: `
Puts FILE, which "npm run backup" made, in the place of the database. The relay must be stopped. The
old database is kept beside it. FILE stays as it is.

Environment: FOGHORN_DATA (.foghorn) is the folder of the database, as the relay has it.

Exit codes: 0 if the database is restored, 2 if FILE or the folder cannot be used, otherwise 1.

Example:
  FOGHORN_DATA=/var/lib/foghorn-relay npm run restore -- /var/backups/foghorn.sqlite`,
  words: { least: 1, most: 1 },
  run({ words: [file = ''], io }) {
    const folder = resolve(io.environment.FOGHORN_DATA || '.foghorn')
    const path = join(folder, databaseName)
    if (existsSync(file) && existsSync(path) && realpathSync(file) === realpathSync(path)) {
      throw wrong(`${file} is the database itself; write the file of a backup`)
    }
    assertUsable(file)
    if (!io.environment.FOGHORN_DATA && !existsSync(path)) {
      throw wrong(
        `there is no database at "${path}"; set FOGHORN_DATA to the folder of the relay's database`,
      )
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    assertStopped(path)
    const fresh = `${path}.restoring`
    try {
      copyWhole(file, fresh)
      // the relay's own user, also if root restores
      const { uid, gid } = statSync(folder)
      chownSync(fresh, uid, gid)
      const old = moveAside(path)
      renameSync(fresh, path)
      if (old !== undefined) io.print(`The old database is ${old}`)
      io.print(`${path} is restored from ${file}. Start the relay.`)
    } finally {
      rmSync(fresh, { force: true })
    }
  },
})

function assertUsable(file: string): void {
  if (!existsSync(file)) throw wrong(`there is no file "${file}"`)
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0) {
    throw wrong(
      `${file} has newer writes in ${file}-wal, so it is a copy of files and no backup; ` +
        'make backups with "npm run backup"',
    )
  }
  try {
    checkBackup(file)
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    const [what] = error.message.split('. ')
    throw wrong(`${what}. Nothing was changed; take another backup.`)
  }
}

/** A relay that runs would go on with the old file. */
function assertStopped(path: string): void {
  if (!existsSync(path)) return
  try {
    openFile(path).close()
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    // a database that is damaged, or of another version, is what a backup replaces
    if (error.code === 'data_in_use') throw wrong(error.message)
  }
}

/** All of it is on the disk before the old database is moved. */
function copyWhole(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, ownerOnly)
  const descriptor = openSync(to, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Its name now. Undefined if there was none. */
function moveAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const old = `${path}.${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z`
  for (const part of parts) if (existsSync(path + part)) renameSync(path + part, old + part)
  return old
}
