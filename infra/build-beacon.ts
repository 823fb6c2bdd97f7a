// `npm run build:beacon [-- TARGET...]`: writes the beacon as one executable file for each target.
import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { FoghornError } from '../shared/errors.ts'
import { buildBeacon, fileNameOf } from './vm/executable.ts'
import { type Target, targets } from './vm/runtimes.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'dist/beacon')
const help = `npm run build:beacon [-- TARGET...]

Writes the beacon as one executable into dist/beacon, for each TARGET: ${targets.join(', ')}.
Without a TARGET it builds all of them. It runs on Linux, and needs npm for the runtimes of other
platforms.
`

const words = process.argv.slice(2)
const isTarget = (word: string): word is Target => targets.some((target) => target === word)
const wrong = words.find((word) => !isTarget(word))
if (words.includes('--help') || words.includes('-h')) {
  process.stdout.write(help)
} else if (wrong !== undefined) {
  process.stderr.write(`There is no target "${wrong}"; write one of ${targets.join(', ')}.\n`)
  process.exitCode = 2
} else {
  await build(words.length === 0 ? targets : words.filter(isTarget))
}

async function build(wanted: readonly Target[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const target of wanted) {
    const file = join(folder, fileNameOf(target))
    try {
      await buildBeacon(target, file)
    } catch (error) {
      if (!(error instanceof FoghornError)) throw error
      process.stderr.write(`${target}: ${error.message}\n`)
      process.exitCode = 1
      return
    }
    process.stdout.write(`${relative(root, file)}\n`)
  }
}
