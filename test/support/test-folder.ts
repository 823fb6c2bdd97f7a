// What the processes of one test run share: folders, and accounts in Azurite. Vitest calls this before and
// after. Also a run that is interrupted leaves no file and no process: a program of its own sees its end.
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveAccounts } from './azurite.ts'
import { memoryFolder } from './folder.ts'

export default async function setUp(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-tests-'))
  const inMemory = mkdtempSync(join(memoryFolder, 'foghorn-tests-'))
  process.env.FOGHORN_TEST_FOLDER = folder
  process.env.FOGHORN_TEST_MEMORY = inMemory
  process.env.TMPDIR = folder
  // halves the processor time of each process that a test starts
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  const words = [join(import.meta.dirname, 'after-tests.ts'), folder, inMemory]
  const cleaner = spawn(process.execPath, words, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    // nothing of the run, or it would end itself
    env: { PATH: process.env.PATH },
  })
  cleaner.unref()
  // the end of this process closes it
  ;(cleaner.stdin as Socket).unref()
  const azurite = await serveAccounts()
  process.env.FOGHORN_TEST_AZURITE = azurite.url
  return () => azurite.stop()
}
