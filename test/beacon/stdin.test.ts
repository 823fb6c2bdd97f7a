// A Windows service stops the beacon by closing its standard input.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openSpool } from '../../beacon/spool.ts'
import { createFakeClock } from './fake-clock.ts'
import { createTestLog, fleetKey, temporaryDirectory } from './world.ts'

function start(changes: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../beacon/main.ts')], {
    cwd: temporaryDirectory(),
    env: {
      FOGHORN_RELAY_URL: 'http://127.0.0.1:9',
      FOGHORN_FLEET: 'prod',
      FOGHORN_FLEET_KEY: fleetKey,
      FOGHORN_IMDS_URL: 'http://127.0.0.1:9',
      FOGHORN_STOP_ON_STDIN_CLOSE: '1',
      ...changes,
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const read = { output: '' }
  child.stdout.on('data', (chunk) => (read.output += chunk))
  return { child, read, ended: once(child, 'close').then(([code]) => code as number) }
}

test('it stops cleanly when its input is closed', async () => {
  const { child, read, ended } = start()
  await vi.waitFor(() => expect(read.output).toContain('imds_failing'), { timeout: 10_000 })
  child.stdin.end()
  expect(await ended).toBe(0)
  expect(read.output).toContain('beacon_stopped')
})

test('after a failure an open input does not keep it', async () => {
  const directory = temporaryDirectory()
  const spool = openSpool({ directory, clock: createFakeClock(), log: createTestLog() })
  onTestFinished(() => spool.close())
  const { read, ended } = start({ FOGHORN_STATE_DIR: directory })
  expect(await ended).toBe(1)
  expect(read.output).toContain('beacon_failed')
})
