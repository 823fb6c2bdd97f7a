// What the check finds about the state folder. It looks at permissions only: opening the database
// could take the lock from a beacon that starts.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import { freeSpaceOn, hasSpace, spoolFileName } from '../database.ts'
import { type Finding, fix, ok } from './finding.ts'

export function checkStateFolder(directory: string): Finding[] {
  const folder = resolve(directory)
  const remedy = 'set FOGHORN_STATE_DIR to a folder that the beacon may write to'
  try {
    const existing = nearest(folder)
    if (!statSync(existing).isDirectory()) {
      return [fix('state', `${existing} is not a folder; ${remedy}`)]
    }
    accessSync(existing, constants.W_OK | constants.X_OK)
    const file = join(folder, spoolFileName)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    if (!hasSpace(existing)) return [fix('state', `the disk is full; ${freeSpaceOn(existing)}`)]
    const what = existing === folder ? 'can be written' : 'will be created'
    return [ok('state', `${folder} ${what}`)]
  } catch (error) {
    return [fix('state', `${folder} cannot be used (${messageOf(error)}); ${remedy}`)]
  }
}

/** The folder, or the nearest one above it that exists. */
function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}
