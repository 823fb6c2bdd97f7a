// What a relay that listens on a port takes from its environment.

import { statfs } from 'node:fs/promises'
import { isIP } from 'node:net'
import { FoghornError } from '../../../shared/errors.ts'
import { type Disk, describeDisk, isNearlyFull } from '../../core/disk.ts'
import { type DatabaseAddress, readDatabaseAddress } from '../../store/postgres/address.ts'
import { loadConfigFile } from '../config-file.ts'
import { type Attempt, type Common, type Environment, readEnvironment } from '../settings.ts'

/** The relay speaks plain HTTP, so other machines reach it only if the owner sets HOST. */
const usualAddress = '127.0.0.1'

export interface Settings extends Common {
  port: number
  /** The address to listen on. */
  address: string
  dataDirectory: string
  /** Absent: a file in `dataDirectory`. */
  database: DatabaseAddress | undefined
}

/** Throws one error with all mistakes in the environment and the configuration. */
export async function readSettings(given: NodeJS.ProcessEnv): Promise<Settings> {
  const configText = await loadConfigFile(given)
  const own = (attempt: Attempt, environment: Environment) => ({
    port: attempt(() => readPort(environment.PORT ?? '7071')),
    address: attempt(() => readListenAddress(environment.HOST || usualAddress)),
    dataDirectory: environment.FOGHORN_DATA ?? '.foghorn',
    database: attempt(() => readDatabase(environment)),
  })
  return readEnvironment(given, own, configText)
}

function readDatabase({
  FOGHORN_DATABASE: text,
  FOGHORN_DATABASE_PASSWORD: password,
}: Environment): DatabaseAddress | undefined {
  return text ? readDatabaseAddress(text, password) : undefined
}

function readPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new FoghornError('port_invalid', `PORT is "${text}"; write a number from 0 to 65535`)
}

function readListenAddress(text: string): string {
  if (isIP(text) !== 0 || text === 'localhost') return text
  throw new FoghornError(
    'address_invalid',
    `HOST is "${text}"; write the address to listen on: 127.0.0.1, 0.0.0.0 for all networks, ` +
      'or another IP',
  )
}

export async function readDisk(folder: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** The troubles for `/healthz`. `damage`: what of the database cannot be read. */
export async function listTroubles(folder: string, damage: string | undefined): Promise<string[]> {
  const disk = await readDisk(folder)
  const full = `the disk of FOGHORN_DATA is nearly full: ${describeDisk(disk)}`
  return [...(damage === undefined ? [] : [damage]), ...(isNearlyFull(disk, false) ? [full] : [])]
}
