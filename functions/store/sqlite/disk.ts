// Explains SQLite's errors to owners if the disk is the cause.
import { FoghornError } from '../../../shared/errors.ts'

/** sqlite.org/rescode.html */
const sqliteFull = 13

/** Replaces the error of a full disk, because SQLite's own names no disk and no remedy. */
export function explainDisk(error: unknown, path: string): unknown {
  if (!isFull(error)) return error
  const remedy = 'Free space on it. Until then, the relay cannot store anything.'
  const text = `The disk that holds "${path}" is full. ${remedy}`
  return new FoghornError('disk_full', text, { cause: error })
}

function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && error.errcode === sqliteFull) return true
  return 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
