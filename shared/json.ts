// JSON that may be none, where a schema reads it next.

/** Undefined where the text is not JSON: JSON itself has none, so that says it without doubt. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
