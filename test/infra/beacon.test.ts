// The beacon as it is installed on a VM: the bundle, and the unit that starts it.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'foghorn-beacon-'))
  await run(process.execPath, ['infra/foghorn.mjs', 'bundle', directory, '--without-config'], {
    cwd: root,
  })
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The end of the bundled beacon with no settings, on this Node, or on one that seems to be old. */
async function endOfBeacon(words: string[] = []) {
  const all = [...words, join(directory, 'beacon.mjs')]
  const error = await run(process.execPath, all, { cwd: directory, env: {} }).catch((why) => why)
  return { code: error.code as number, said: error.stderr as string }
}

test('on a Node that is too old it prints one line, and is not restarted', async () => {
  const version = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" })'
  // 20.20.2 has no node:sqlite either
  const words = ['--no-experimental-sqlite', '--import', `data:text/javascript,${version}`]
  const { code, said } = await endOfBeacon(words)
  expect(said).toBe(
    `The beacon needs Node 24 or newer; ${process.execPath} is 20.20.2. ` +
      'Install Node 24, or start the beacon with another Node.\n',
  )
  expect(code).toBe(2)
  const unit = readFileSync(join(root, 'infra/vm/foghorn-beacon.service'), 'utf8')
  expect(unit).toContain(`\nRestartPreventExitStatus=${code}\n`)
})

test('on this one it asks for its settings', async () => {
  const { code, said } = await endOfBeacon()
  expect(said).toContain('FOGHORN_RELAY_URL is missing')
  expect(code).toBe(2)
})
