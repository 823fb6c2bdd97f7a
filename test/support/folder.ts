// Folders for databases of one test. Nothing there has to outlive the machine, so they are kept in memory
// where the system allows it: most of a write's time is the wait for the disk.
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const inMemory = '/dev/shm'
export const memoryFolder = existsSync(inMemory) ? inMemory : tmpdir()

export function newFolder(name: string): string {
  // outside a test run, as in a bench, nothing is shared
  const parent = process.env.FOGHORN_TEST_MEMORY ?? memoryFolder
  return mkdtempSync(join(parent, `foghorn-${name}-`))
}
