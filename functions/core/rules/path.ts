// Builds an address from its parts. No name from outside may lead to another place: `..` would, also as
// `%2e%2e`, and an empty part would join its neighbors.
import { FoghornError } from '../../../shared/errors.ts'

/** The address of a resource below `base`. Throws FoghornError `path_invalid`. */
export function addressBelow(base: string, segments: readonly string[]): string {
  // half of a pair of UTF-16 has no form in an address
  const path = segments.map((segment) => `/${encodeURIComponent(segment.toWellFormed())}`).join('')
  const start = base.replace(/\/$/, '')
  const isBuilt = pathIn(start + path) === pathIn(start).replace(/\/$/, '') + path
  if (segments.every((segment) => segment !== '') && isBuilt) return start + path
  throw new FoghornError('path_invalid', 'no part of an address may be empty, "." or ".."')
}

function pathIn(url: string): string {
  return new URL(url).pathname
}
