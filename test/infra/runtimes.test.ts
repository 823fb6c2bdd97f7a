// Where executables get their runtime: the package that is installed here, or one that is fetched and
// checked. No test reaches a registry.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  installedRuntime,
  ownTarget,
  type Pack,
  runtimeFor,
  runtimes,
  type Target,
  targets,
} from '../../infra/vm/runtimes.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
/** No machine that builds installs this one. */
const foreign = 'windows-x64'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'foghorn-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('the lock file pins the runtime for Linux x64, and has no other', () => {
  const { packages } = read('package-lock.json')
  const { name, integrity } = runtimes['linux-x64']
  expect(packages[`node_modules/${name}`].integrity).toBe(integrity)
  expect(read('package.json').optionalDependencies[name]).toMatch(/^\d+\.\d+\.\d+$/)
  const locked = Object.keys(packages).filter((path) => path.includes('@oven/'))
  expect(locked).toEqual([`node_modules/${name}`])
})

test('a plain install brings the runtime of this machine at most', () => {
  const others = targets.filter((target) => target !== ownTarget())
  expect(others.map((target) => installedRuntime(runtimes[target]))).toEqual(
    others.map(() => undefined),
  )
})

test('a runtime that npm cannot fetch is an error with a remedy', async () => {
  const pack: Pack = async () => Promise.reject(new Error('npm error network unreachable'))
  const fetched = runtimeFor(runtimes[foreign], folder(), pack)
  await expect(fetched).rejects.toMatchObject({
    code: 'runtime_unavailable',
    message: expect.stringMatching(/bun-windows-x64@\d.*registry.*network unreachable/),
  })
})

test('a package with another content is refused, and nothing of it is unpacked', async () => {
  const cache = folder()
  const pack: Pack = async (_, into) => {
    for (const target of targets) writeFileSync(join(into, nameOf(target)), 'another package')
  }
  const fetched = runtimeFor(runtimes[foreign], cache, pack)
  const found = createHash('sha512').update('another package').digest('base64')
  await expect(fetched).rejects.toMatchObject({
    code: 'runtime_altered',
    message: expect.stringContaining(`sha512-${found}`),
  })
  expect(readdirSync(cache).filter((name) => !name.endsWith('.tgz'))).toEqual([])
  // what is in the cache is checked again
  await expect(runtimeFor(runtimes[foreign], cache, pack)).rejects.toMatchObject({
    code: 'runtime_altered',
  })
})

function nameOf(target: Target): string {
  const { name, version } = runtimes[target]
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
}

test.skipIf(ownTarget() !== 'linux-x64')('the installed runtime needs no cache', async () => {
  const cache = join(folder(), 'none')
  const pack: Pack = async () => Promise.reject(new Error('nothing is fetched'))
  const path = await runtimeFor(runtimes['linux-x64'], cache, pack)
  expect(existsSync(path)).toBe(true)
  expect(existsSync(cache)).toBe(false)
})
