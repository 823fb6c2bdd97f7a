// A row whose bits flipped on the disk may look like another one. So its version ends in a checksum of the rest.
import type { Key, Row } from './rows.ts'

/** Absent: the storage has checksums of its own. */
export type Sum = ((text: string) => number) | undefined

/** A row as SQL has it. */
export type Stored = {
  partition: string
  row: string
  version: string
  /** JSON, or empty. */
  keys: string
  body: string
}

/** Older relays wrote none. */
const sealed = /\.[0-9a-f]{1,8}$/

/** The end of the version. */
export function buildSeal(sum: Sum, { partition, row, keys, body }: Omit<Stored, 'version'>) {
  return sum === undefined ? '' : `.${sum([partition, row, keys, body].join('\n')).toString(16)}`
}

/** Undefined if the row is not as it was written. */
export function toRow(sum: Sum, found: Record<string, unknown>): Row | undefined {
  const stored = found as Stored
  if (sum !== undefined && !isAsWritten(sum, stored)) return undefined
  const { partition, row, version, keys, body } = stored
  return { partition, row, version, body, keys: keys === '' ? [] : (JSON.parse(keys) as Key[]) }
}

function isAsWritten(sum: Sum, stored: Stored): boolean {
  const seal = sealed.exec(stored.version)?.[0]
  if (seal !== undefined) return seal === buildSeal(sum, stored)
  return isJson(stored.body) && (stored.keys === '' || isJson(stored.keys))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
