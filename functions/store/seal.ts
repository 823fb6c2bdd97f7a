// A row whose bits flipped on the disk may look like another one. So its version ends in a checksum of the rest.
import { type Row, type Stored, toRow } from './rows.ts'

/** Absent: the storage has checksums of its own. */
export type Sum = ((text: string) => number) | undefined

/** Older relays wrote none. */
const sealed = /\.[0-9a-f]{1,8}$/

/** The end of the version. */
export function buildSeal(sum: Sum, { partition, row, keys, body }: Omit<Stored, 'version'>) {
  return sum === undefined ? '' : `.${sum([partition, row, keys, body].join('\n')).toString(16)}`
}

/** Undefined if the row is not as it was written. */
export function toWholeRow(sum: Sum, found: Record<string, unknown>): Row | undefined {
  return sum === undefined || isAsWritten(sum, found as Stored) ? toRow(found) : undefined
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
