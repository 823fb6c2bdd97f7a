// `npm run package [-- TARGET…]`: packs the executables of dist/beacon into dist/packages. Each
// Linux target becomes a deb and an rpm, the Windows target a zip.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { FoghornError } from '../../../shared/errors.ts'
import { debTools, makeDeb } from './deb.ts'
import { makeRpm, rpmTools } from './rpm.ts'
import { assertTools } from './tools.ts'
import { makeZip, zipTools } from './zip.ts'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'dist/packages')

const targets = {
  'linux-x64': { ending: '', make: linux('x64') },
  'linux-arm64': { ending: '', make: linux('arm64') },
  'windows-x64': { ending: '.exe', make: [{ tools: zipTools, make: makeZip }] },
}
type Target = keyof typeof targets

function linux(cpu: 'x64' | 'arm64') {
  return [
    { tools: debTools, make: makeDeb(cpu) },
    { tools: rpmTools, make: makeRpm(cpu) },
  ]
}

try {
  const wanted = readTargets(process.argv.slice(2))
  const makers = wanted.flatMap((target) => targets[target].make)
  assertTools(makers.flatMap(({ tools }) => tools))
  const executables = wanted.map(executableOf)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = wanted.flatMap((target, at) => {
    const made = { executable: executables[at]!, version: packageJson.version, folder }
    return targets[target].make.map(({ make }) => make(made))
  })
  const sums = files.map((file) => `${sha256(file)}  ${basename(file)}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  for (const file of files) process.stdout.write(`${relative(root, file)}\n`)
} catch (error) {
  if (!(error instanceof FoghornError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}

/** All targets if none is named. */
function readTargets(words: string[]): Target[] {
  const known = Object.keys(targets) as Target[]
  const unknown = words.find((word) => !known.includes(word as Target))
  if (unknown === undefined) return words.length === 0 ? known : (words as Target[])
  throw new FoghornError(
    'arguments_wrong',
    `"${unknown}" is no target. Write npm run package [-- TARGET…], with ${known.join(', ')}.`,
  )
}

function executableOf(target: Target): string {
  const file = join(root, `dist/beacon/foghorn-beacon-${target}${targets[target].ending}`)
  if (existsSync(file)) return file
  throw new FoghornError(
    'executable_missing',
    `${relative(root, file)} is missing. Run npm run build:beacon -- ${target}`,
  )
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
