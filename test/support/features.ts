// Features that can be taken out, see test/without.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../functions/features')

/** For tests that show two features, or the core with one: `test.runIf(has('mutes'))`. */
export function has(feature: string): boolean {
  return existsSync(join(folder, feature))
}
