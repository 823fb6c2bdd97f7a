// Texts that may not be JSON, and values as JSON shows them.

/** No text of ours is nearly so deep, and each level costs more than its two characters. */
const maxDepth = 64

/** Undefined if the text is not JSON, or is nested too deeply. No JSON text parses to undefined. */
export function parseJson(text: string): unknown {
  try {
    return isTooDeep(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

const steps: Partial<Record<string, 1 | -1>> = { '[': 1, '{': 1, ']': -1, '}': -1 }

function isTooDeep(text: string): boolean {
  let depth = 0
  let isInText = false
  for (let i = 0; i < text.length; i++) {
    const one = text[i]!
    if (isInText && one === '\\') i += 1
    else if (one === '"') isInText = !isInText
    else if (!isInText) depth += steps[one] ?? 0
    if (depth > maxDepth) return true
  }
  return false
}

/** RFC 3339 in UTC, with milliseconds. */
export function iso(at: number): string
export function iso(at: number | undefined): string | undefined
export function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

/** Leaves out the keys whose value is undefined. */
export function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined))
}
