// `npm run package [-- TARGET…]`: builds the executables and packs them into dist/packages. Each
// Linux target becomes a deb and an rpm, the Windows target a zip.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { command } from '../../../functions/cli/command.ts'
import packageJson from '../../../package.json' with { type: 'json' }
import { readTargets } from '../../build-beacon.ts'
import { buildBeacon, fileNameOf } from '../executable.ts'
import { type Target, targets } from '../runtimes.ts'
import { debTools, makeDeb } from './deb.ts'
import { makeRpm, rpmTools } from './rpm.ts'
import { assertTools } from './tools.ts'
import { makeZip, zipTools } from './zip.ts'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'dist/packages')
const executables = join(root, 'dist/beacon')

const makers = {
  'linux-x64': linux('x64'),
  'linux-arm64': linux('arm64'),
  'windows-x64': [{ tools: zipTools, make: makeZip }],
} satisfies Record<Target, unknown>

function linux(cpu: 'x64' | 'arm64') {
  return [
    { tools: debTools, make: makeDeb(cpu) },
    { tools: rpmTools, make: makeRpm(cpu) },
  ]
}

export const packBeacons = command({
  usage: '[TARGET...]',
  about: `
Builds the executables for each TARGET (default: all), and packs them into dist/packages: each Linux
target as a deb and an rpm, the Windows target as a zip. Targets:
${targets.join(', ')}.`,
  words: { least: 0, most: targets.length },
  async run({ words, io }) {
    const wanted = readTargets(words)
    assertTools(wanted.flatMap((target) => makers[target].flatMap(({ tools }) => tools)))
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    mkdirSync(executables, { recursive: true })
    const files: string[] = []
    for (const target of wanted) {
      io.progress(`${target} …`)
      // built anew, so that no package is older than the code
      const executable = join(executables, fileNameOf(target))
      await buildBeacon(target, executable)
      const made = { executable, version: packageJson.version, folder }
      files.push(...makers[target].map(({ make }) => make(made)))
    }
    const sums = files.map((file) => `${sha256(file)}  ${basename(file)}\n`)
    writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
    for (const file of files) io.print(relative(root, file))
  },
})

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
