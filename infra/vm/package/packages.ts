// Packs an executable of the beacon: for Linux as a deb and an rpm, for Windows as a zip.
import packageJson from '../../../package.json' with { type: 'json' }
import type { Target } from '../runtimes.ts'
import { debTools, makeDeb } from './deb.ts'
import { makeRpm, rpmTools } from './rpm.ts'
import type { Source, Tool } from './tools.ts'
import { makeZip, zipTools } from './zip.ts'

interface Maker {
  tools: readonly Tool[]
  make(source: Source): string
}

const makers: Record<Target, Maker[]> = {
  'linux-x64': linux('x64'),
  'linux-arm64': linux('arm64'),
  'windows-x64': [{ tools: zipTools, make: makeZip }],
}

function linux(cpu: 'x64' | 'arm64'): Maker[] {
  return [
    { tools: debTools, make: makeDeb(cpu) },
    { tools: rpmTools, make: makeRpm(cpu) },
  ]
}

export function packageTools(target: Target): Tool[] {
  return makers[target].flatMap(({ tools }) => tools)
}

/** Writes the packages into `folder`, and returns their paths. */
export function makePackages(target: Target, executable: string, folder: string): string[] {
  const made = { executable, version: packageJson.version, folder }
  return makers[target].map(({ make }) => make(made))
}
