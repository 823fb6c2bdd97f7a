// Where the programs of PostgreSQL are on this machine. Tests that need them are skipped elsewhere.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

export const programs = findPrograms()
/** Say this with `describe.skipIf`. */
export const noPostgres = programs === undefined
export const postgresNeeded = noPostgres
  ? 'skipped: initdb and postgres of PostgreSQL 14 or newer cannot be found'
  : 'PostgreSQL'

/** Debian's packages are outside of the usual path. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = () => readdirSync(debian).sort((a, b) => Number(b) - Number(a))
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...attempt(versions, []).map((one) => join(debian, one, 'bin')),
  ]
  return folders.find((folder) => {
    const names = attempt(() => readdirSync(folder), [])
    return names.includes('initdb') && names.includes('postgres')
  })
}

export function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch {
    return otherwise
  }
}
