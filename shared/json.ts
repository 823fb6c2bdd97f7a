// Texts that may not be JSON, and values as JSON shows them.

/** Undefined if the text is not JSON. No JSON text parses to undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 3339 in UTC, with milliseconds. */
export function iso(at: number): string
export function iso(at: number | undefined): string | undefined
export function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

/** Without the keys whose value is undefined. */
export function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined))
}
