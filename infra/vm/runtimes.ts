// Where a release gets its runtimes: Bun for the beacon's executables, Node for the relay, from npm
// packages of one exact version. `npm ci` installs those for this machine, and refuses those for other
// platforms. So these are fetched when they are needed. Their integrity is always checked.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { FoghornError, messageOf } from '../../shared/errors.ts'

export const targets = ['linux-x64', 'linux-arm64', 'windows-x64'] as const
export type Target = (typeof targets)[number]

interface Runtime {
  /** The name of the package on npm. */
  name: string
  version: string
  /** SHA-512 of the packed package, as the lock file writes it. */
  integrity: string
  /** The path of the runtime in the package. */
  path: string
}

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
/** A package has about 40 MB. */
const fetchTimeoutMs = 10 * 60_000
const version = packageJson.optionalDependencies['@oven/bun-linux-x64']

/** If the version changes, write what `npm view NAME@VERSION dist.integrity` answers. */
export const runtimes: Record<Target, Runtime> = {
  'linux-x64': {
    name: '@oven/bun-linux-x64',
    version,
    integrity:
      'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
    path: 'bin/bun',
  },
  'linux-arm64': {
    name: '@oven/bun-linux-aarch64',
    version,
    integrity:
      'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
    path: 'bin/bun',
  },
  'windows-x64': {
    name: '@oven/bun-windows-x64',
    version,
    integrity:
      'sha512-FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==',
    path: 'bin/bun.exe',
  },
}

/** Finds the runtime of the relay. The lock file has its version and integrity for all platforms. */
export function nodeFor(cpu: 'x64' | 'arm64'): Runtime {
  const name = `node-linux-${cpu}`
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>
  }
  const { version, integrity } = packages[`node_modules/${name}`]!
  return { name, version, integrity, path: 'bin/node' }
}

/** The target that this machine can run, if it can build executables. */
export function ownTarget(): Target | undefined {
  return process.platform === 'linux'
    ? targets.find((target) => target === `linux-${process.arch}`)
    : undefined
}

/** The path of an installed runtime, or undefined: `npm ci` installs it on its own platform only. */
export function installedRuntime({ name, version, path }: Runtime): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    const found = require(`${name}/package.json`) as { version: string }
    if (found.version !== version) return undefined
    return require.resolve(`${name}/${path}`)
  } catch {
    return undefined
  }
}

/** Packs a package into a folder. Tests pass their own. */
export type Pack = (packageAtVersion: string, folder: string) => Promise<void>

/**
 * The path of a runtime, which is fetched if it is neither installed nor in `cache`. Throws
 * FoghornError `runtime_unavailable`, or `runtime_altered` if it is not the package that we know.
 */
export async function runtimeFor(
  runtime: Runtime,
  cache = join(root, 'dist/runtimes'),
  pack = npmPack,
): Promise<string> {
  const installed = installedRuntime(runtime)
  if (installed !== undefined) return installed
  const { name, version, integrity, path } = runtime
  // the name that `npm pack` chooses
  const base = `${name.replace('@', '').replace('/', '-')}-${version}`
  const packed = join(cache, `${base}.tgz`)
  if (!existsSync(packed)) {
    mkdirSync(cache, { recursive: true })
    await pack(`${name}@${version}`, cache).catch((error: unknown) => {
      const what = `${name}@${version} could not be fetched`
      const remedy = 'check that npm reaches its registry, then build again'
      throw new FoghornError('runtime_unavailable', `${what}; ${remedy}. ${messageOf(error)}`)
    })
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(packed)).digest('base64')}`
  if (found !== integrity) {
    throw new FoghornError(
      'runtime_altered',
      `${packed} is not ${name}@${version}: its integrity is ${found}, but it must be ${integrity}. ` +
        'Delete the file and build again. If it happens again, your npm registry serves another package.',
    )
  }
  return unpacked(packed, `package/${path}`, join(cache, base))
}

/** Unpacks again each time: the archive was checked, an unpacked file was not. */
async function unpacked(archive: string, path: string, folder: string): Promise<string> {
  const fresh = mkdtempSync(`${folder}-`)
  try {
    await run('tar', ['-xzf', archive, '-C', fresh])
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return join(folder, path)
}

async function npmPack(packageAtVersion: string, folder: string): Promise<void> {
  const words = ['pack', packageAtVersion, '--pack-destination', folder, '--loglevel', 'error']
  const options = { cwd: root, timeout: fetchTimeoutMs }
  await run('npm', words, options).catch(({ stderr, message }: Error & { stderr?: string }) => {
    // npm goes on with a stack trace
    throw new Error(stderr?.split('\n').slice(0, 4).join('\n') || message)
  })
}
