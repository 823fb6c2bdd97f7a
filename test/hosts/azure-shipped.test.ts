// What is deployed to Azure: host.json, the settings, and the bundle, built and started.

import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { roundWaitMs } from '../../functions/host/azure/requests.ts'
import { connectionName } from '../../functions/host/azure/storage.ts'
import { readChoice } from '../../infra/bundle.ts'
import { startAzurite } from '../support/azurite.ts'
import { Program } from '../support/process.ts'
import { baseConfig } from '../support/world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const parse = (path: string) => JSON.parse(read(path))

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number)
  return hours * 3_600 + minutes * 60 + seconds
}

describe('host.json', () => {
  const host = parse('infra/azure/host.json')
  const { queues, http } = host.extensions

  test('keeps all URLs out of the telemetry, because links that decide are URLs', () => {
    const { logLevel } = host.logging
    // the requests' own rows, with whole URLs
    expect(logLevel['Host.Results']).toBe('None')
    // ASP.NET and the host write URLs at level Information, under many names
    expect(logLevel.default).toBe('Warning')
    const talkative = Object.entries(logLevel).filter(
      ([, level]) => !['Warning', 'Error', 'Critical', 'None'].includes(String(level)),
    )
    // the relay's own log lines, also those printed after an invocation returned
    const own = ['relay', 'wake', 'sweep'].map((name) => [`Function.${name}.User`, 'Debug'])
    const printed = ['Host.Function.Console', 'Information']
    // when the timer ran, without a URL
    const timer = ['Function.sweep', 'Information']
    expect(talkative.sort()).toEqual([...own, printed, timer].sort())
    // these have settings of their own, which the levels do not affect
    expect(Object.keys(host)).not.toContain('telemetryMode')
    expect(Object.keys(host.logging.applicationInsights)).toEqual(['samplingSettings'])
  })

  test('drops no log line to save money', () => {
    const { samplingSettings } = host.logging.applicationInsights
    expect(samplingSettings.excludedTypes.split(';')).toContain('Trace')
  })

  test('leaves all paths to the relay', () => {
    expect(http.routePrefix).toBe('')
  })

  test('receives wake-ups as they are sent, soon, and not for ever', () => {
    expect(queues.messageEncoding).toBe('none')
    expect(secondsOf(queues.maxPollingInterval)).toBeLessThanOrEqual(2)
    expect(queues.maxDequeueCount).toBe(5)
  })

  test('gives a round time for the slowest attempt, and for the work before and after it', () => {
    expect(secondsOf(host.functionTimeout) * 1_000).toBeGreaterThan(2 * roundWaitMs)
  })
})

test('local.settings.example.json names exactly the settings that are read', () => {
  const files = ['azure/main.ts', 'azure/storage.ts', 'config-file.ts', 'settings.ts']
  const text = files.map((name) => read(`functions/host/${name}`)).join('\n')
  const names = [...text.matchAll(/\benvironment\.([A-Z_]+)/g)].map(([, name]) => name)
  // Azure reads this one
  const all = [...new Set([...names, connectionName, 'FUNCTIONS_WORKER_RUNTIME'])]
  const { Values } = parse('infra/azure/local.settings.example.json')
  expect(Object.keys(Values).sort()).toEqual(all.sort())
})

describe('the bundle', () => {
  let directory: string
  let azure: string

  /** Its exit code and its output. */
  const bundle = async (words: string[], own: Record<string, string> = {}) => {
    const all = ['infra/foghorn.mjs', 'bundle', directory, ...words]
    const env = { ...process.env, ...own }
    const ran = promisify(execFile)(process.execPath, all, { cwd: root, env })
    const { code = 0, stdout, stderr } = await ran.catch((error) => error)
    return { code, said: `${stdout}${stderr}` }
  }
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const textOf = (name: string) => readFileSync(join(azure, name), 'utf8')
  const importedBy = (name: string, pattern: RegExp) =>
    [...textOf(name).matchAll(pattern)].map(([, found]) => found!)
  const statically = /(?:\bfrom|\bimport)\s*"\.\/([^"]+\.mjs)"/g
  const lazily = /\bimport\("\.\/([^"]+\.mjs)"\)/g

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'foghorn-shipped-'))
    azure = join(directory, 'azure')
    // from an earlier bundle
    mkdirSync(azure)
    writeFileSync(join(azure, 'left-over.mjs'), '')
    const config = write('own.json', JSON.stringify(baseConfig))
    const { code, said } = await bundle([], { FOGHORN_CONFIG: config })
    expect([code, said.includes('https://foghorn.example')]).toEqual([0, true])
  })

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test('contains exactly what Azure needs', () => {
    expect(JSON.parse(textOf('host.json'))).toEqual(parse('infra/azure/host.json'))
    expect(JSON.parse(textOf('package.json'))).toMatchObject({ type: 'module', main: 'main.mjs' })
    expect(JSON.parse(textOf('foghorn.config.json'))).toEqual(baseConfig)
    expect(readdirSync(azure)).not.toContain('left-over.mjs')
    const others = readdirSync(azure).filter((name) => !name.endsWith('.mjs'))
    expect(others.sort()).toEqual(['foghorn.config.json', 'host.json', 'package.json'])
    expect(existsSync(join(directory, 'beacon.mjs'))).toBe(true)
  })

  /** The only file with a text that only one library has. */
  const holderOf = (mark: string): string => {
    const holders = readdirSync(azure).filter((name) => textOf(name).includes(mark))
    expect(holders).toHaveLength(1)
    return holders[0]!
  }

  test('is small at its start: the part for an identity is loaded later', () => {
    const atStart = new Set(['main.mjs'])
    for (const name of atStart) for (const next of importedBy(name, statically)) atStart.add(next)
    const texts = [...atStart].map(textOf)
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    expect(bytes).toBeLessThan(1_195_000)
    const identity = holderOf('ManagedIdentityCredential: Authentication failed')
    expect(importedBy('main.mjs', lazily)).toContain(identity)
    expect([...atStart]).not.toContain(identity)
  })

  test('starts, and loads the part for an identity only if there is one', {
    timeout: 60_000,
  }, async () => {
    const identity = holderOf('ManagedIdentityCredential: Authentication failed')
    writeFileSync(join(azure, identity), 'throw new Error("the identity was loaded")\n')
    const azurite = await startAzurite()
    const start = async (storage: Record<string, string>) => {
      const program = new Program('bundle', 'test/support/functions-main.ts', {
        FUNCTIONS_ENTRY: join(azure, 'main.mjs'),
        FOGHORN_CONFIG: join(azure, 'foghorn.config.json'),
        FOGHORN_LINK_KEY: Buffer.alloc(32, 1).toString('base64'),
        ...storage,
      })
      const { port } = await program.waitFor('functions_host_started')
      const response = await fetch(`http://127.0.0.1:${port}/healthz`)
      return { program, status: response.status }
    }
    try {
      const local = await start({ AzureWebJobsStorage: azurite.connection })
      expect(local.status).toBe(200)
      expect(await local.program.stop()).toEqual({ code: 0, signal: null })
      const deployed = await start({ AzureWebJobsStorage__accountName: 'nowhere' })
      expect(deployed.status).toBe(500)
      const { error } = await deployed.program.waitFor('request_failed')
      expect(error).toContain('the identity was loaded')
      await deployed.program.stop()
    } finally {
      await azurite.stop()
    }
  })

  test('may have a configuration for this machine if it runs here', async () => {
    const publicUrl = 'http://127.0.0.1:7071'
    const config = write('own.json', JSON.stringify({ ...baseConfig, publicUrl }))
    const { code, said } = await bundle(['--local', '--config', config])
    expect([code, said]).toEqual([0, expect.stringContaining(publicUrl)])
  })

  test('accepts environment values that this machine lacks', async () => {
    const fleets = { prod: { key: 'env:A_KEY_OF_ANOTHER_MACHINE' } }
    const config = write('bare.json', JSON.stringify({ ...baseConfig, fleets }))
    const { code, said } = await bundle(['--config', config])
    expect([code, said]).toEqual([0, expect.stringContaining('A_KEY_OF_ANOTHER_MACHINE')])
  })

  test.each<[string, string, string]>([
    ['with a mistake', '{"publicUrl": "nope"}', 'publicUrl'],
    ['that is no JSON', 'publicUrl', 'JSON'],
    ['of a test', JSON.stringify({ ...baseConfig, publicUrl: 'http://127.0.0.1:7071' }), 'appUrl'],
  ])('refuses a configuration %s, and leaves nothing to deploy', async (_, text, remedy) => {
    const { code, said } = await bundle(['--config', write('wrong.json', text)])
    expect(code).toBe(2)
    expect(said).toContain('wrong.json')
    expect(said).toContain(remedy)
    expect(existsSync(azure)).toBe(false)
  })

  test('refuses a missing configuration, and two contradicting options', () => {
    const choose =
      (options: object, environment = {}) =>
      () =>
        readChoice(options, 'dist', environment, directory)
    expect(choose({}, { FOGHORN_CONFIG: 'nowhere.json' })).toThrow('nowhere.json')
    expect(choose({ config: 'a', 'without-config': true })).toThrow('--without-config')
  })

  test('packs the named configuration, else the usual one if it exists, else none', () => {
    const chosen = (options: object, environment = {}) =>
      readChoice(options, 'dist', environment, directory).config?.slice(directory.length + 1)
    write('a.json', '{}')
    write('b.json', '{}')
    expect(chosen({})).toBeUndefined()
    expect(chosen({ config: 'a.json' }, { FOGHORN_CONFIG: 'b.json' })).toBe('a.json')
    expect(chosen({}, { FOGHORN_CONFIG: 'b.json' })).toBe('b.json')
    write('foghorn.config.json', '{}')
    expect(chosen({})).toBe('foghorn.config.json')
    expect(chosen({ 'without-config': true }, { FOGHORN_CONFIG: 'b.json' })).toBeUndefined()
  })
})
