// `npm run release [-- PART…]`: makes everything that is installed somewhere. The same commit makes the
// same bytes.
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { command, wrong } from '../../functions/cli/command.ts'
import { didYouMean } from '../../functions/schema/suggest.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type Inputs, writeBundle } from '../bundle.ts'
import { buildBeacon, buildFileName } from '../vm/executable.ts'
import { makePackages, packageTools } from '../vm/package/packages.ts'
import { assertTools, type Tool } from '../vm/package/tools.ts'
import { zip } from '../vm/package/zip.ts'
import { nodeFor, runtimes, type Target, targets } from '../vm/runtimes.ts'
import { billOfMaterials, describePart } from './bill-of-materials.ts'
import { packRelay } from './relay.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'dist/release')
const { version } = packageJson

type Part = 'relay' | Target
const parts: readonly Part[] = ['relay', ...targets]
const relayTools: Tool[] = [
  { command: 'tar', debian: 'tar' },
  { command: 'zip', debian: 'zip' },
]

export const release = command({
  usage: '[PART...]',
  about: `
Makes everything that is installed somewhere, in dist/release: the relay for Linux with its Node,
for Azure Functions and for Cloudflare Workers; the beacon as deb, rpm, zip and executable; a bill
of materials (CycloneDX), and SHA256SUMS. The same commit makes the same bytes.

Parts: ${parts.join(', ')}.
Without a PART it makes all. With one, the others stay as they are, and SHA256SUMS lists all files.

It runs on Linux. It needs npm for the runtimes of other platforms, and names each tool that is
missing.

Example:
  npm run release -- relay`,
  words: { least: 0, most: parts.length },
  async run({ words, io }) {
    const wanted = partsIn(words)
    assertTools(wanted.flatMap((part) => (part === 'relay' ? relayTools : packageTools(part))))
    // the modes of files in the archives are not those of the user
    process.umask(0o022)
    // parts that were made before stay
    if (words.length === 0) rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const files: string[] = []
    const stage = mkdtempSync(join(tmpdir(), 'foghorn-release-'))
    try {
      const { inputs } = await writeBundle(stage, undefined)
      for (const part of wanted) {
        io.progress(`${part} …`)
        files.push(...(part === 'relay' ? await makeRelay(stage) : await makeBeacon(part)))
      }
      const bill = join(folder, `foghorn-${version}.cdx.json`)
      files.push(await billOfMaterials(bill, listContents(inputs)))
    } finally {
      rmSync(stage, { recursive: true })
    }
    const sums = join(folder, 'SHA256SUMS')
    const found = readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile())
    const all = found.map(({ name }) => name).filter((name) => name !== basename(sums))
    writeFileSync(
      sums,
      all
        .sort()
        .map((name) => `${sha256(join(folder, name))}  ${name}\n`)
        .join(''),
    )
    for (const file of [...files, sums]) io.print(relative(root, file))
  },
})

/** All parts if none is named. */
function partsIn(words: string[]): readonly Part[] {
  const unknown = words.find((word) => !parts.includes(word as Part))
  if (unknown === undefined) return words.length === 0 ? parts : (words as Part[])
  const meant = didYouMean(unknown, parts)
  throw wrong(`there is no part "${unknown}"; write one of ${parts.join(', ')}${meant}`)
}

/** Lists the contents of a whole release, whichever parts of it are made now. */
function listContents(inputs: Inputs): Parameters<typeof billOfMaterials>[1] {
  const programs = [nodeFor('x64'), nodeFor('arm64'), ...targets.map((one) => runtimes[one])]
  return { inputs: Object.values(inputs).flat(), parts: programs.map(describePart) }
}

/** No relay has a configuration: its owner adds it. `stage` has the bundle. */
async function makeRelay(stage: string): Promise<string[]> {
  const clouds = ['azure', 'cloudflare'].map((cloud) => {
    const file = join(folder, `foghorn-relay-${version}-${cloud}.zip`)
    zip(join(stage, cloud), file)
    return file
  })
  const beacon = join(folder, `foghorn-beacon-${version}.mjs`)
  copyFileSync(join(stage, 'beacon.mjs'), beacon)
  const packed = []
  for (const cpu of ['x64', 'arm64'] as const) {
    packed.push(await packRelay(join(stage, 'node'), cpu, folder))
  }
  return [...packed, ...clouds, beacon]
}

async function makeBeacon(target: Target): Promise<string[]> {
  const executable = join(folder, buildFileName(target))
  await buildBeacon(target, executable)
  return [...makePackages(target, executable, folder), executable]
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
