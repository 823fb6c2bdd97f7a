// What a release contains of others, as CycloneDX: https://cyclonedx.org/docs/1.5/json/
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FoghornError } from '../../shared/errors.ts'
import { buildTime } from '../vm/package/tools.ts'

const root = join(import.meta.dirname, '../..')
const maxBytes = 16 * 1_024 * 1_024

interface Bill {
  serialNumber?: string
  metadata: { timestamp: string; component: { name: string; 'bom-ref': string } }
  components: { 'bom-ref': string; purl?: string }[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

/** What an image has beside npm's packages. */
export interface Part {
  name: string
  version: string
  /** Package URL. */
  purl: string
}

/** `inputs`: the source files that were bundled, as paths from the root of the project. */
interface Contents {
  inputs: string[]
  parts: Part[]
}

/** A package of npm as it is. */
export function describePart({ name, version }: { name: string; version: string }): Part {
  return { name, version, purl: `pkg:npm/${name.replace('@', '%40')}@${version}` }
}

/** The packages of npm that source files are from. */
export function packagesIn(inputs: string[]): Part[] {
  const folders = inputs.flatMap(
    (path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  )
  const read = (path: string) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
  return [...new Set(folders)].sort().map((path) => describePart(read(path)))
}

/**
 * Returns `file`. What only development needs may also be bundled, so nothing is left out by that. Without
 * `contents`, it lists all packages that the project locks.
 */
export async function billOfMaterials(file: string, contents?: Contents): Promise<string> {
  const { inputs, parts = [] } = contents ?? {}
  const bundled = inputs && new Set(packagesIn(inputs).map(({ purl }) => purl))
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const ran = promisify(execFile)('npm', words, { cwd: root, maxBuffer: maxBytes })
  const { stdout } = await ran.catch((error: Error & { stderr?: string }) => {
    throw new FoghornError('tool_failed', `npm sbom failed: ${error.stderr || error.message}`)
  })
  const { serialNumber, ...bill } = JSON.parse(stdout) as Bill
  // npm takes the time of now, and the name of the folder
  bill.metadata.timestamp = new Date(buildTime() * 1_000).toISOString()
  bill.metadata.component.name = 'foghorn'
  const components = [
    ...bill.components.filter(({ purl = '' }) => bundled?.has(purl) ?? true),
    ...parts.map((part) => ({ type: 'library', 'bom-ref': part.purl, ...part })),
  ]
  const product = bill.metadata.component['bom-ref']
  const refs = new Set([product, ...components.map((one) => one['bom-ref'])])
  const own = parts.map(({ purl }) => purl)
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: [...dependsOn.filter((of) => refs.has(of)), ...(ref === product ? own : [])],
    }))
  writeFileSync(file, `${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`)
  return file
}
