// A folder of one test run, for what its processes share. Vitest calls this before and after.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-tests-'))
  process.env.FOGHORN_TEST_FOLDER = folder
  // halves the processor time of each process that a test starts
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  return () => rmSync(folder, { recursive: true, force: true })
}
