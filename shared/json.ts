// Parses text that may not be JSON, for a schema to check next.

/** Undefined if the text is not JSON. No JSON text parses to undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
