// The two ways to run a beacon: its source on Node, and the executable. Tests build the executable
// when the first of them needs it.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildBeacon } from '../../infra/vm/executable.ts'
import { installedRuntime, ownTarget, runtimes, type Target } from '../../infra/vm/runtimes.ts'

export type Way = 'node' | 'executable'

const own = ownTarget()
const target: Target | undefined =
  own !== undefined && installedRuntime(runtimes[own]) !== undefined ? own : undefined

/** For the title of tests that need the executable. */
export const executableTitle =
  target === undefined
    ? 'the executable (skipped: no runtime for this platform is installed)'
    : 'the executable'
export const hasExecutable = target !== undefined

/** For `describe.each`. */
export const ways: { way: Way; title: string; isSkipped: boolean }[] = [
  { way: 'node', title: 'Node', isSkipped: false },
  { way: 'executable', title: executableTitle, isSkipped: target === undefined },
]

/** Both ways share what no test is about: executables start faster. Outside of tests: Node. */
export const usualWay: Way =
  target !== undefined && process.env.FOGHORN_TEST_FOLDER !== undefined ? 'executable' : 'node'

/** The program and its first words. */
export async function beaconCommand(way: Way): Promise<string[]> {
  if (way === 'executable') return [await executable()]
  return [process.execPath, join(import.meta.dirname, '../../beacon/main.ts')]
}

const builtWithinMs = 60_000
const lookEveryMs = 50
let built: Promise<string> | undefined

function executable(): Promise<string> {
  built ??= build()
  return built
}

/** The processes of one test run share the file: the first one builds it. */
async function build(): Promise<string> {
  const folder = process.env.FOGHORN_TEST_FOLDER
  if (target === undefined || folder === undefined) throw new Error('no executable can be built')
  const file = join(folder, 'foghorn-beacon')
  if (isFirst(folder)) await buildBeacon(target, file)
  const deadline = Date.now() + builtWithinMs
  while (!existsSync(file)) {
    if (Date.now() > deadline) throw new Error(`${file} was not built; another test says why`)
    await sleep(lookEveryMs)
  }
  return file
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(join(folder, 'building'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}
