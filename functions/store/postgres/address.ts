// Where the database is: FOGHORN_DATABASE, in the form that PostgreSQL's own tools read.
import { FoghornError } from '../../../shared/errors.ts'

export interface DatabaseAddress {
  /** A name, an address, or the folder of a socket. */
  host: string
  port: number
  database: string
  user: string
  /** Absent: a token of Azure, or what the server asks for instead. */
  password?: string
  /** Whether the connection is encrypted, and the server's certificate checked. */
  tls: boolean
  /** A file with certificates that may sign the server's, beside those that Node knows. */
  rootCertificates?: string
}

const usualPort = 5432
const known = ['sslmode', 'sslrootcert', 'host']
const example = 'postgres://foghorn:PASSWORD@db.example.com/foghorn'

/**
 * `own`: FOGHORN_DATABASE_PASSWORD, as it is. Throws FoghornError `database_invalid`, without the password.
 */
export function readDatabaseAddress(text: string, own = ''): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['postgres:', 'postgresql:'].includes(url.protocol))
    throw invalid(`is no address of PostgreSQL; write ${example}`)
  if (/%(?![\da-f]{2})/i.test(text))
    throw invalid('has a "%" that begins no escape; write it as %25')
  const query = url.searchParams
  const unknown = [...query.keys()].find((name) => !known.includes(name))
  // it may be a part of the password, so it is not shown
  if (unknown !== undefined)
    throw invalid(
      `has something behind its "?" that Foghorn does not know; write ${known.join(', ')} only, and a "?" of the password as %3F`,
    )
  const database = decodeURIComponent(url.pathname.slice(1))
  const user = decodeURIComponent(url.username)
  if (database === '' || user === '')
    throw invalid(`names no ${user === '' ? 'user' : 'database'}; write ${example}`)
  const host = query.get('host') ?? decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '')
  const password = choosePassword(decodeURIComponent(url.password), own)
  const rootCertificates = query.get('sslrootcert')
  return {
    ...{ host, database, user, port: url.port === '' ? usualPort : Number(url.port) },
    tls: readMode(query.get('sslmode'), host),
    ...(password !== '' && { password }),
    ...(rootCertificates !== null && { rootCertificates }),
  }
}

function choosePassword(inAddress: string, own: string): string {
  if (inAddress === '' || own === '') return inAddress + own
  throw invalid('has a password, and FOGHORN_DATABASE_PASSWORD is set; remove one of them')
}

const encrypted = ['require', 'verify-ca', 'verify-full']

/** Also with `require`, Foghorn checks the certificate: without that, others on the way could act as the server. */
function readMode(mode: string | null, host: string): boolean {
  if (mode === null) return !isOnThisMachine(host)
  if (mode === 'disable') return false
  if (encrypted.includes(mode)) return true
  throw invalid(`has sslmode "${mode}"; write "disable" or "verify-full"`)
}

function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || /^127(\.\d+){3}$/.test(host) || ['localhost', '::1'].includes(host)
}

function invalid(what: string): FoghornError {
  return new FoghornError('database_invalid', `FOGHORN_DATABASE ${what}`)
}
