// `npm run restore -- FILE`: puts a backup in the place of a stopped relay's database. The old
// database stays beside it under another name. The folder belongs to the relay's user, and root does not
// trust what is in it.
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { checkBackup, databaseName, openFile } from '../store/sqlite-file.ts'
import { command, wrong } from './command.ts'
import { actAsOwner, findPlace, isLocked, mayOpenAsRoot } from './owner-rights.ts'

/** Only the relay's own user may read events, names of VMs and decisions. */
const ownerOnly = 0o600
/** Ends of the names of the database's file, and of what SQLite may have left beside it. */
const parts = ['', '-wal', '-shm', '-journal']
const copiedBytes = 1_048_576

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
    if (io.environment.FOGHORN_DATABASE)
      throw wrong(
        'the relay stores its data in PostgreSQL; restore it with pg_restore: see docs/backup.md',
      )
    const { folder, ...existing } = findPlace(resolve(io.environment.FOGHORN_DATA || '.foghorn'))
    const path = join(folder, databaseName)
    if (!io.environment.FOGHORN_DATA && !existsSync(path)) {
      throw wrong(
        `there is no database at "${path}"; set FOGHORN_DATA to the folder of the relay's database`,
      )
    }
    if (!existsSync(file)) throw wrong(`there is no file "${file}"`)
    // only root may be able to read it, and where another user may put a link, root's rights must not open it
    const early = mayOpenAsRoot(file) ? openBackup(file) : undefined
    // SQLite opens what lies beside a database, so root makes the copy where the owner cannot put anything
    const acts = actAsOwner(existing)
    if (acts === 'shared') {
      throw wrong(
        `others may write in "${folder}", which is root's, or above it; restore as the user of the relay`,
      )
    }
    const isPrivate = acts === 'out_of_reach'
    if (early === undefined && !mayOpenAsRoot(file)) {
      throw wrong(
        `others may put another file in the place of "${file}"; copy it into a folder where only root may write`,
      )
    }
    const source = early ?? openBackup(file)
    const fresh = `${isPrivate ? folder : path}.${randomUUID()}.restoring`
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      assertOwn(path, source)
      copyWhole(source, fresh, folder)
      assertUsable(fresh, file)
      assertStopped(path, isPrivate)
      const old = moveAside(path)
      renameSync(fresh, path)
      if (old !== undefined) io.print(`The old database is ${old}`)
      io.print(`${path} is restored from ${file}. Start the relay.`)
    } finally {
      closeSync(source)
      for (const part of parts) rmSync(fresh + part, { force: true })
    }
  },
})

/** The descriptor of the backup: what is copied is what was opened. */
function openBackup(file: string): number {
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0) {
    throw wrong(
      `${file} has newer writes in ${file}-wal, so it is a copy of files and no backup; ` +
        'make backups with "npm run backup"',
    )
  }
  const descriptor = opened(file)
  if (fstatSync(descriptor).isFile() && isDatabase(descriptor)) return descriptor
  closeSync(descriptor)
  throw wrong(`"${file}" is damaged, or no database. Nothing was changed; take another backup.`)
}

function opened(file: string): number {
  try {
    // a pipe has no writer
    return openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    throw wrong(`"${file}" cannot be opened: ${messageOf(error)}`)
  }
}

/** sqlite.org/fileformat.html */
const magic = 'SQLite format 3\0'

function isDatabase(descriptor: number): boolean {
  const bytes = Buffer.alloc(magic.length)
  readSync(descriptor, bytes, 0, magic.length, 0)
  return bytes.toString('latin1') === magic
}

/** Nothing that leads elsewhere or keeps its reader waiting is in the place of the database. */
function assertOwn(path: string, source: number): void {
  const { dev, ino } = fstatSync(source)
  for (const part of parts) {
    const found = lstatSync(path + part, { throwIfNoEntry: false })
    if (found !== undefined && !found.isFile()) {
      throw wrong(`"${path}${part}" is no file; look at what it is, and remove it`)
    }
    if (part === '' && found?.dev === dev && found.ino === ino) {
      throw wrong('this file is the database itself; write the file of a backup')
    }
  }
}

function assertUsable(copy: string, file: string): void {
  try {
    checkBackup(copy)
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    const [what] = error.message.replace(copy, file).split('. ')
    throw wrong(`${what}. Nothing was changed; take another backup.`)
  }
}

/** A relay that runs would go on with the old file. */
function assertStopped(path: string, isPrivate: boolean): void {
  if (!existsSync(path)) return
  if (isPrivate) {
    const locked = isLocked(path)
    if (locked === true) throw wrong(`another relay is using "${path}"; stop it`)
    if (locked === false) return
    throw wrong(`whether a relay is using "${path}" cannot be seen here; restore as its owner`)
  }
  try {
    openFile(path).close()
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    // a database that is damaged, or of another version, is what a backup replaces
    if (error.code === 'data_in_use') throw wrong(error.message)
  }
}

/** All of it is on the disk before the old database is moved. `to` is new, and follows no link. */
function copyWhole(source: number, to: string, folder: string): void {
  const flags =
    constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | (constants.O_NOFOLLOW ?? 0)
  const target = openSync(to, flags, ownerOnly)
  try {
    const { uid, gid } = statSync(folder)
    if (fstatSync(target).uid !== uid) fchownSync(target, uid, gid)
    const bytes = Buffer.alloc(copiedBytes)
    for (let at = 0; ; ) {
      const read = readSync(source, bytes, 0, copiedBytes, at)
      if (read === 0) break
      for (let done = 0; done < read; ) done += writeSync(target, bytes, done, read - done)
      at += read
    }
    fsyncSync(target)
  } finally {
    closeSync(target)
  }
}

/** Returns the new name of the database. Undefined if there was none. */
function moveAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const old = `${path}.${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z`
  for (const part of parts) if (existsSync(path + part)) renameSync(path + part, old + part)
  return old
}
