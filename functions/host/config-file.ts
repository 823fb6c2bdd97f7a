// Reads the configuration of a host that has files.
import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { FoghornError } from '../../shared/errors.ts'
import type { ConfigText, Environment } from './settings.ts'

/** A relative path begins in `folder`. Throws FoghornError `config_missing`. */
export function readConfigFile(environment: Environment, folder = '.'): ConfigText {
  const file = environment.FOGHORN_CONFIG ?? 'foghorn.config.json'
  const path = isAbsolute(file) ? file : join(folder, file)
  if (existsSync(path)) return { name: path, text: readFileSync(path, 'utf8') }
  const remedy = 'set FOGHORN_CONFIG, or copy infra/examples/full.config.json to this path'
  throw new FoghornError('config_missing', `there is no configuration at "${path}"; ${remedy}`)
}
