// The certificates that may sign that of the database.
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import type { DatabaseAddress } from './address.ts'

/** The `usual` ones and those of `sslrootcert`. Undefined if it is not set. Throws FoghornError `database_invalid`. */
export async function readCertificates(
  { rootCertificates: file }: DatabaseAddress,
  usual: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<string[] | undefined> {
  if (file === undefined) return undefined
  try {
    return [...usual, await read(file)]
  } catch (error) {
    const what = `the certificates of FOGHORN_DATABASE cannot be read (${messageOf(error)})`
    throw new FoghornError(
      'database_invalid',
      `${what}; write the path of a PEM file in sslrootcert`,
    )
  }
}
