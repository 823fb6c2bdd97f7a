// Root acts in a folder that belongs to another user. That user may have left a link or a pipe there, so root
// gives up its rights before it touches anything in the folder.
import { statSync } from 'node:fs'

const root = 0

/** For the rest of the process. Then no link in the folder leads to more than its owner may change. */
export function actAsOwnerOf(folder: string): void {
  const { uid, gid } = statSync(folder)
  if (process.getuid?.() !== root || uid === root) return
  process.seteuid!(uid)
  const isReached = canEnter(folder)
  process.seteuid!(root)
  // a private folder of systemd: nobody but root gets there
  if (!isReached) return
  process.setgroups!([gid])
  process.setgid!(gid)
  process.setuid!(uid)
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
