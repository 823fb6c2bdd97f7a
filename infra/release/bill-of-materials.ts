// What a release contains of others, as CycloneDX: https://cyclonedx.org/docs/1.5/json/
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
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

/** `keeps`: of npm's packages, by package URL. Default: all that the product needs. */
interface Contents {
  keeps?: (purl: string) => boolean
  parts?: Part[]
}

/** Returns `file`. */
export async function billOfMaterials(
  file: string,
  { keeps = () => true, parts = [] }: Contents = {},
): Promise<string> {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev']
  const ran = promisify(execFile)('npm', words, { cwd: root, maxBuffer: maxBytes })
  const { stdout } = await ran.catch((error: Error & { stderr?: string }) => {
    throw new FoghornError('tool_failed', `npm sbom failed: ${error.stderr || error.message}`)
  })
  const { serialNumber, ...bill } = JSON.parse(stdout) as Bill
  // npm takes the time of now, and the name of the folder
  bill.metadata.timestamp = new Date(buildTime() * 1_000).toISOString()
  bill.metadata.component.name = 'foghorn'
  const components = [
    ...bill.components.filter(({ purl = '' }) => keeps(purl)),
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
  const whole = parts.length === 0 ? bill : { ...bill, components, dependencies }
  writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`)
  return file
}
