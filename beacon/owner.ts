// Whose the state directory is: the VM that wrote it. A cloned disk, a restored snapshot or an image of
// a VM has the state of that VM, and its changes and hooks must not count for this one.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const fileName = 'vm-id'

/** Makes the directory that of this VM. If it was another's, calls `forget` before. */
export type TakeOver = (vmId: string, forget: () => void) => void

export function createTakeOver(directory: string, log: Log): TakeOver {
  const file = join(directory, fileName)
  return (vmId, forget) => {
    const before = readOwner(file)
    if (before === vmId) return
    if (before !== '') {
      const hint = 'what waited there is dropped: remove the state directory from images'
      log.warn('state_of_another_vm', { file, before, now: vmId, hint })
      forget()
    }
    try {
      writeFileSync(file, vmId, { mode: 0o600 })
    } catch (error) {
      log.error('state_owner_unwritten', { file, error: messageOf(error) })
    }
  }
}

/** Empty if there is no such file. */
function readOwner(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
