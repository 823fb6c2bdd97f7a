// Reads the configuration of a host that has files.
import { constants, existsSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { within } from '../../shared/within.ts'
import { withoutLineBreaks } from '../config/environment.ts'
import type { ConfigText, Environment } from './settings.ts'

const maxBytes = 1_048_576
const limitMs = 5_000

/** For a host that reads it once, with the code. Throws FoghornError `config_missing`. */
export function readConfigFile(environment: Environment, folder: string): ConfigText {
  const path = pathIn(environment, folder)
  if (existsSync(path)) return { name: path, text: readFileSync(path, 'utf8') }
  throw missing(path)
}

/** Files that are being read: a share that hangs keeps one of the process's few threads for files. */
const underWay = new Set<string>()

/**
 * For a relay that answers meanwhile. What it returns throws FoghornError `config_missing` or
 * `config_unreadable`.
 */
export async function loadConfigFile(environment: Environment): Promise<() => ConfigText> {
  const path = pathIn(environment, '.')
  const found = await readInTime(path).catch((error: unknown) => error)
  return () => {
    if (typeof found === 'string') return { name: path, text: found }
    throw found
  }
}

async function readInTime(path: string): Promise<string> {
  if (underWay.has(path)) throw unreadable(path, 'an earlier attempt to read it has not ended')
  underWay.add(path)
  const reading = readText(path).finally(() => underWay.delete(path))
  const read = await within(limitMs, reading)
  if (read === 'late') throw unreadable(path, `it was not read within ${limitMs / 1_000} s`)
  return read.text
}

async function readText(path: string): Promise<{ text: string }> {
  let file: FileHandle | undefined
  try {
    // a pipe would wait for its writer
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await file.stat()
    if (!found.isFile()) throw unreadable(path, 'it is no file')
    if (found.size > maxBytes) throw unreadable(path, `it has more than ${maxBytes} bytes`)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { text: buffer.toString('utf8', 0, bytesRead) }
  } catch (error) {
    if (error instanceof FoghornError) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw isMissing ? missing(path) : unreadable(path, messageOf(error))
  } finally {
    await file?.close()
  }
}

function pathIn(given: Environment, folder: string): string {
  const environment = withoutLineBreaks(given)
  const file = environment.FOGHORN_CONFIG ?? 'foghorn.config.json'
  return isAbsolute(file) ? file : join(folder, file)
}

function missing(path: string): FoghornError {
  const remedy = 'set FOGHORN_CONFIG, or copy infra/examples/full.config.json to this path'
  return new FoghornError('config_missing', `there is no configuration at "${path}"; ${remedy}`)
}

function unreadable(path: string, why: string): FoghornError {
  return new FoghornError('config_unreadable', `"${path}" cannot be read: ${why}`)
}
