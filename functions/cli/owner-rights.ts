// Root acts in a folder that belongs to another user. That user may have left a link or a pipe there, so root
// gives up its rights before it touches anything in the folder.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const root = 0

/**
 * For the rest of the process, if it is root's. Then no link in the folder leads to more than its owner may
 * change. `out_of_reach`: only root gets there, as into a private folder of systemd; the process stays root's.
 */
export function actAsOwnerOf(folder: string): 'acts' | 'out_of_reach' {
  const { uid, gid } = statSync(nearest(folder))
  if (process.getuid?.() !== root || uid === root) return 'acts'
  process.seteuid!(uid)
  const isReached = canEnter(nearest(folder))
  process.seteuid!(root)
  if (!isReached) return 'out_of_reach'
  process.setgroups!([gid])
  process.setgid!(gid)
  process.setuid!(uid)
  return 'acts'
}

/** The folder, or the one in which it would be made. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(dirname(folder))
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

/** Whether a process holds a lock on the file. On Linux: nothing is opened. */
export function isLocked(path: string): boolean {
  const { ino } = statSync(path)
  return readFileSync('/proc/locks', 'utf8').includes(`:${ino} `)
}
