// Reads the configuration of a host that has files.
import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { withoutLineBreaks } from '../config/environment.ts'
import type { ConfigText, Environment } from './settings.ts'
import { readSmallFile } from './small-file.ts'

/** Reads the file for a host that reads it once, with the code. Throws FoghornError `config_missing`. */
export function readConfigFile(environment: Environment, folder: string): ConfigText {
  const path = pathIn(environment, folder)
  if (existsSync(path)) return { name: path, text: readFileSync(path, 'utf8') }
  throw missing(path)
}

/**
 * Reads the file for a relay that answers meanwhile. What it returns throws FoghornError `config_missing`
 * or `config_unreadable`.
 */
export async function loadConfigFile(environment: Environment): Promise<() => ConfigText> {
  const path = pathIn(environment, '.')
  const found = await readSmallFile(path).catch((error: unknown) => toFault(path, error))
  return () => {
    if (typeof found === 'string') return { name: path, text: found }
    throw found
  }
}

function pathIn(given: Environment, folder: string): string {
  const environment = withoutLineBreaks(given)
  const file = environment.FOGHORN_CONFIG ?? 'foghorn.config.json'
  return isAbsolute(file) ? file : join(folder, file)
}

function toFault(path: string, error: unknown): FoghornError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return isMissing ? missing(path) : unreadable(path, messageOf(error))
}

function missing(path: string): FoghornError {
  const remedy = 'set FOGHORN_CONFIG, or copy infra/examples/full.config.json to this path'
  return new FoghornError('config_missing', `there is no configuration at "${path}"; ${remedy}`)
}

function unreadable(path: string, why: string): FoghornError {
  return new FoghornError('config_unreadable', `"${path}" cannot be read: ${why}`)
}
