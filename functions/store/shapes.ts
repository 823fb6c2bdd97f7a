// What stored objects need, so that nobody stumbles over one that is damaged: flipped bits may be JSON, too.

/**
 * Paths and types of fields. A dot leads into an object or a list, `*` into each entry of a list. What has a `?`
 * may lack.
 */
type Needs = Readonly<Record<string, Type>>
type Type = 'number' | 'string' | 'object' | 'list'

/** Whether something has all of this. */
export function having(needs: Needs): (content: unknown) => boolean {
  const all = Object.entries(needs).map(([path, type]) => ({ path: path.split('.'), type }))
  return (content) =>
    typeof content === 'object' &&
    content !== null &&
    all.every(({ path, type }) => holds(content, path, type))
}

function holds(value: unknown, [name, ...rest]: string[], type: string): boolean {
  if (name === undefined) return isShape(type, value)
  if (name === '*') return Array.isArray(value) && value.every((one) => holds(one, rest, type))
  if (typeof value !== 'object' || value === null) return false
  const inner = (value as Record<string, unknown>)[name.replace('?', '')]
  return (inner === undefined && name.endsWith('?')) || holds(inner, rest, type)
}

/** The latest time that a `Date` can hold. No number of ours is larger. */
const maxTime = 8.64e15

function isShape(type: string, value: unknown): boolean {
  const own = Array.isArray(value) ? 'list' : typeof value
  const isInRange = typeof value !== 'number' || Math.abs(value) <= maxTime
  return own === type && value !== null && isInRange
}
