// The Windows service, under Wine: its start, its settings, a crash, its end, its log.
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { has } from '../../infra/vm/package/tools.ts'
import { compileService } from '../../infra/vm/package/zip.ts'

const root = join(import.meta.dirname, '../..')
const compiler = 'x86_64-w64-mingw32-gcc'
const missing = ['wine', 'wineserver', compiler].filter((command) => !has(command))
const problem = missing.length > 0 ? `not installed: ${missing.join(', ')}` : undefined
const executable = join(root, 'dist/beacon/foghorn-beacon-windows-x64.exe')
/** Wine is slow while other tests run. */
const patient = { timeout: 60_000, interval: 100 }

let prefix: string
const programs = () => join(prefix, 'drive_c/Program Files/Foghorn')
const data = () => join(prefix, 'drive_c/ProgramData/Foghorn')
const log = (name = 'beacon.log') => readFileSync(join(data(), 'logs', name), 'utf8')

beforeAll(async () => {
  if (missing.length > 0) return
  prefix = mkdtempSync(join(tmpdir(), 'foghorn-wine-'))
  await wine('wineboot', '--init')
  // the service manager that wineboot started stays for a while, and two would disagree
  spawnSync('wineserver', ['--kill', '--wait'], { env: environment() })
  mkdirSync(programs(), { recursive: true })
  compileService(join(programs(), 'foghorn-service.exe'))
  compile('bcryptprimitives.dll', '-shared', join(root, 'test/support/bcryptprimitives.c'))
  // while no program runs, Wine ends, and with it the service
  compile('idle.exe', join(root, 'test/support/idle.c'))
  spawn('wine', [join(programs(), 'idle.exe')], { env: environment(), stdio: 'ignore' })
  const service = String.raw`"C:\Program Files\Foghorn\foghorn-service.exe" --with-hooks`
  await wine('sc', 'create', 'foghorn-beacon', 'binPath=', service)
}, 120_000)

beforeEach(() => {
  if (missing.length > 0) return
  for (const folder of ['logs', 'state']) {
    rmSync(join(data(), folder), { recursive: true, force: true })
    mkdirSync(join(data(), folder), { recursive: true })
  }
})

afterAll(() => {
  if (missing.length > 0) return
  spawnSync('wineserver', ['--kill'], { env: environment() })
  rmSync(prefix, { recursive: true, force: true })
})

test('it restarts a beacon that crashed, and stops it cleanly', { timeout: 150_000 }, async ({
  skip,
}) => {
  skip(problem !== undefined, problem)
  useStandIn('TRIAL=crash once', 'FOGHORN_FLEET="prod"', 'no setting', 'BUN_OPTIONS=--help')
  await start()
  const line = 'started --with-hooks fleet=prod jit=0 options='
  await vi.waitFor(() => expect(log().split(line)).toHaveLength(3), patient)
  await stop()
  const lines = log().trim().split(/\r?\n/)
  expect(lines[0]).toContain('line 4')
  expect(lines.slice(1)).toEqual([line, expect.stringContaining('code 3'), line, 'beacon_stopped'])
})

test('it does not restart a beacon with wrong settings', { timeout: 150_000 }, async ({ skip }) => {
  skip(problem !== undefined, problem)
  useStandIn('TRIAL=wrong settings')
  await start()
  await vi.waitFor(
    async () => expect(await query()).toMatch(/STOPPED[\s\S]+SERVICE_EXIT_CODE +: 2/),
    patient,
  )
  expect(log().match(/started/g)).toHaveLength(1)
})

test('it keeps its log within limits', { timeout: 150_000 }, async ({ skip }) => {
  skip(problem !== undefined, problem)
  useStandIn('TRIAL=flood')
  await start()
  await vi.waitFor(() => expect(existsSync(join(data(), 'logs/beacon.1.log'))).toBe(true), patient)
  await stop()
  const names = readdirSync(join(data(), 'logs')).sort()
  expect(names).toEqual(['beacon.1.log', 'beacon.log'])
  for (const name of names) {
    expect(statSync(join(data(), 'logs', name)).size).toBeLessThan(5.1 * 1024 * 1024)
    // a line is never in two files
    expect(log(name)).toMatch(/^(started|\d{98}\r?\n)[\s\S]*\n$/)
  }
  expect(log()).toContain('beacon_stopped')
})

test('it runs the executable', { timeout: 150_000 }, async ({ skip }) => {
  skip(problem !== undefined, problem)
  skip(!existsSync(executable), 'not built: run npm run build:beacon -- windows-x64')
  copyFileSync(executable, join(programs(), 'foghorn-beacon.exe'))
  writeSettings(
    'FOGHORN_RELAY_URL=http://127.0.0.1:9',
    'FOGHORN_FLEET=prod',
    `FOGHORN_FLEET_KEY=whsec_${Buffer.alloc(32).toString('base64')}`,
    'FOGHORN_IMDS_URL=http://127.0.0.1:9',
  )
  await start()
  await vi.waitFor(() => expect(log()).toContain('imds_failing'), patient)
  await stop()
  expect(log()).toContain('beacon_stopped')
})

function compile(name: string, ...words: string[]): void {
  const { status, stderr } = spawnSync(compiler, [
    '-s',
    '-o',
    join(programs(), name),
    ...words,
    '-ladvapi32',
  ])
  expect(status, String(stderr)).toBe(0)
}

function useStandIn(...settings: string[]): void {
  compile('foghorn-beacon.exe', join(root, 'test/support/windows-beacon.c'))
  writeSettings(...settings)
}

/** As Notepad saves it. */
function writeSettings(...lines: string[]): void {
  writeFileSync(join(data(), 'beacon.env'), `\ufeff# settings\r\n${lines.join('\r\n')}\r\n`)
}

/** Wine's service manager may not be there yet. */
async function start(): Promise<void> {
  const started = () => wine('sc', 'start', 'foghorn-beacon')
  await vi.waitFor(async () => expect(await started()).toContain('SERVICE_NAME'), patient)
}

/** Wine's service manager forgets a request that comes while it is busy. */
async function stop(): Promise<void> {
  await vi.waitFor(async () => {
    await wine('sc', 'stop', 'foghorn-beacon')
    expect(await query()).toContain('STOPPED')
  }, patient)
}

async function query(): Promise<string> {
  return wine('sc', 'query', 'foghorn-beacon')
}

function environment(): NodeJS.ProcessEnv {
  const quiet = { WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree,mshtml=', DISPLAY: '' }
  return { ...process.env, ...quiet, WINEPREFIX: prefix }
}

/** What a program of Wine printed. To a file: services that it starts keep its output open. */
async function wine(...words: string[]): Promise<string> {
  const file = join(prefix, 'output')
  const output = openSync(file, 'w')
  const child = spawn('wine', words, { env: environment(), stdio: ['ignore', output, output] })
  await new Promise((resolve) => child.once('close', resolve))
  return readFileSync(file, 'utf8')
}
