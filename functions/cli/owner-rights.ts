// Root acts in a folder that belongs to another user. That user may have left a link or a pipe there, so root
// gives up its rights before it touches anything in the folder.
import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { canOthersWrite, isBelowRootAlone } from '../../shared/folder.ts'
import { wrong } from './command.ts'

const root = 0

/**
 * For the rest of the process, if it is root's. Then no link in the folder leads to more than its owner may
 * change. `out_of_reach`: root alone gets to the folder, as into a private folder of systemd; the process stays
 * root's. `shared`: it is root's folder, and others may write in it or above it, or may have led there.
 * `real`: the folder without links in its path. `named`: as it was written.
 */
export function actAsOwner({
  real: folder,
  named,
}: {
  real: string
  named: string
}): 'acts' | 'out_of_reach' | 'shared' {
  const { uid, gid } = statSync(folder)
  if (process.getuid?.() !== root) return 'acts'
  if (uid === root) {
    const isRoots = isBelowRootAlone(folder) && isBelowRootAlone(named)
    return !canOthersWrite(folder) && isRoots ? 'acts' : 'shared'
  }
  const groups = process.getgroups!()
  takeGroups(uid, gid)
  process.setegid!(gid)
  process.seteuid!(uid)
  const isReached = canEnter(dirname(folder))
  process.seteuid!(root)
  process.setegid!(root)
  process.setgroups!(groups)
  if (!isReached && isBelowRootAlone(folder)) return 'out_of_reach'
  takeGroups(uid, gid)
  process.setgid!(gid)
  process.setuid!(uid)
  return 'acts'
}

/** All groups of the user, by one of which it may reach its folder. */
function takeGroups(uid: number, gid: number): void {
  try {
    // the types of Node lack it
    ;(process as unknown as { initgroups(user: number, group: number): void }).initgroups(uid, gid)
  } catch {
    // a user without a name has no others
    process.setgroups!([gid])
  }
}

/**
 * The folder without links in its path, and what exists of it. Read once: its owner may put a link in its place
 * between two looks.
 */
export function findPlace(wished: string): { folder: string; real: string; named: string } {
  if (existsSync(wished)) {
    const folder = realpathSync(wished)
    return { folder, real: folder, named: wished }
  }
  const { folder, ...existing } = findPlace(dirname(wished))
  return { folder: join(folder, basename(wished)), ...existing }
}

/**
 * In a folder that root alone gets to, nobody makes a link while the relay is stopped. Throws if its user has left one,
 * or what is not its own.
 */
export function assertOwnFiles(paths: string[], folder: string): void {
  const { uid } = statSync(folder)
  for (const path of paths) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || (found.isFile() && found.uid === uid && found.nlink === 1)) continue
    throw wrong(`"${path}" is no file of the folder's own user, or has another name; move it away`)
  }
}

/** Whether this process, if it is root's, may open the file as root: nobody else can put another one in its place. */
export function mayOpenAsRoot(file: string): boolean {
  return process.getuid?.() !== root || isBelowRootAlone(resolve(file))
}

function canEnter(folder: string): boolean {
  try {
    // not `access`, which asks for the rights of the process before it changed
    statSync(`${folder}/.`)
    return true
  } catch {
    return false
  }
}

const locks = '/proc/locks'

/** Whether a process holds a lock on the file: nothing is opened. `unknown`: only Linux lists locks. */
export function isLocked(path: string): boolean | 'unknown' {
  if (!existsSync(locks)) return 'unknown'
  const { ino } = statSync(path)
  return readFileSync(locks, 'utf8').includes(`:${ino} `)
}
