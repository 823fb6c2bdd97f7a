// Compiles the beacon into one executable file: Bun, with our code as bytecode behind it.
import { execFile } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FoghornError } from '../../shared/errors.ts'
import { ownTarget, runtimeFor, runtimes, type Target } from './runtimes.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

export function buildFileName(target: Target): string {
  return `foghorn-beacon-${target}${target.startsWith('windows') ? '.exe' : ''}`
}

/** Throws FoghornError, also as `runtimeFor` does. */
export async function buildBeacon(target: Target, file: string): Promise<void> {
  const own = ownTarget()
  if (own === undefined) {
    const here = `${process.platform} ${process.arch}`
    const what = `executables are built on Linux, x64 or arm64; this is ${here}`
    throw new FoghornError('build_unsupported', what)
  }
  const bun = await runtimeFor(runtimes[own])
  const runtime = target === own ? bun : await runtimeFor(runtimes[target])
  // Bun insists on this end for Windows
  const fresh = `${file}.new${target.startsWith('windows') ? '.exe' : ''}`
  try {
    await run(bun, [...flags, `--target=bun-${target}`, ...pathFlags(runtime, fresh), entry], {
      cwd: root,
      // nothing of the builder's settings gets into the executable
      env: { PATH: process.env.PATH },
    })
    renameSync(fresh, file)
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    throw new FoghornError('build_failed', `Bun cannot build it: ${stderr.trim() || error}`)
  } finally {
    rmSync(fresh, { force: true })
  }
}

const entry = 'beacon/executable.ts'
const flags = [
  'build',
  '--compile',
  '--minify',
  '--bytecode',
  '--format=esm',
  // collects garbage earlier
  '--compile-exec-argv=--smol',
  // otherwise the executable reads these files in its working directory
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  '--no-compile-autoload-tsconfig',
  '--no-compile-autoload-package-json',
]

/** Without the path of a runtime, Bun downloads one by itself. */
function pathFlags(runtime: string, file: string): string[] {
  return [`--compile-executable-path=${runtime}`, '--outfile', file]
}
