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
  metadata: { timestamp: string; component: { name: string } }
  components: object[]
}

/** Of Debian, in an image. */
interface SystemPackage {
  name: string
  version: string
}

/** Returns `file`. */
export async function billOfMaterials(file: string, system: SystemPackage[] = []): Promise<string> {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev']
  const ran = promisify(execFile)('npm', words, { cwd: root, maxBuffer: maxBytes })
  const { stdout } = await ran.catch((error: Error & { stderr?: string }) => {
    throw new FoghornError('tool_failed', `npm sbom failed: ${error.stderr || error.message}`)
  })
  const { serialNumber, ...bill } = JSON.parse(stdout) as Bill
  // npm takes the time of now, and the name of the folder
  bill.metadata.timestamp = new Date(buildTime() * 1_000).toISOString()
  bill.metadata.component.name = 'foghorn'
  const known = new Map(system.map((one) => [`pkg:deb/debian/${one.name}@${one.version}`, one]))
  for (const [purl, { name, version }] of known) {
    bill.components.push({ type: 'library', 'bom-ref': purl, name, version, purl })
  }
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`)
  return file
}
