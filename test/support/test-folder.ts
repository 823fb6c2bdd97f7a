// What the processes of one test run share: a folder, and accounts in Azurite. Vitest calls this before and after.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveAccounts } from './azurite.ts'

export default async function setUp(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-tests-'))
  process.env.FOGHORN_TEST_FOLDER = folder
  // halves the processor time of each process that a test starts
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  const azurite = await serveAccounts()
  process.env.FOGHORN_TEST_AZURITE = azurite.url
  return async () => {
    await azurite.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
