// `npm run build:beacon [-- TARGET...]`: writes the beacon as one executable file for each target.
import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { command, wrong } from '../functions/cli/command.ts'
import { buildBeacon, buildFileName } from './vm/executable.ts'
import { type Target, targets } from './vm/runtimes.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'dist/beacon')

export const buildBeacons = command({
  usage: '[TARGET...]',
  about: `
Writes the beacon as one executable into dist/beacon, for each TARGET:
${targets.join(', ')}. Without a TARGET it builds all of them. It runs on Linux, and
needs npm for the runtimes of other platforms.`,
  words: { least: 0, most: targets.length },
  async run({ words, io }) {
    const wanted = readTargets(words)
    mkdirSync(folder, { recursive: true })
    for (const target of wanted) {
      io.progress(`${target} …`)
      const file = join(folder, buildFileName(target))
      await buildBeacon(target, file)
      io.print(relative(root, file))
    }
  },
})

/** All targets if none is named. */
export function readTargets(words: string[]): readonly Target[] {
  const unknown = words.find((word) => !targets.includes(word as Target))
  if (unknown === undefined) return words.length === 0 ? targets : (words as Target[])
  throw wrong(`there is no target "${unknown}"; write one of ${targets.join(', ')}`)
}
