// The configuration's text: what is no JSON is said with its place, never with what stands there, as that
// may be a secret. A key that stands twice is a mistake here; JSON's own reader would drop the first.
import { FoghornError, pathOf } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'

/** The value, and a sentence for each key that stands twice. Throws FoghornError `config_invalid`. */
export function readJson(text: string): { value: unknown; mistakes: string[] } {
  try {
    return { value: JSON.parse(text), mistakes: repeatedKeys(text) }
  } catch {
    const remedy = 'write names and texts in "", no comments, and no comma after the last entry'
    throw new FoghornError('config_invalid', `not JSON: ${describeJsonMistake(text)}; ${remedy}`)
  }
}

/** Where the mistake is; the engine's own words may quote the text around it, and a secret with it. */
function describeJsonMistake(text: string): string {
  const mistakeIn = (part: string): string => {
    try {
      return String(JSON.parse(part) && '')
    } catch (error) {
      return (error as Error).message
    }
  }
  const whole = mistakeIn(text)
  if (!whole.startsWith('Unexpected token')) return whole
  const lines = text.split('\n')
  const line = lines.findIndex((_, i) =>
    mistakeIn(lines.slice(0, i + 1).join('\n')).startsWith('Unexpected token'),
  )
  return `line ${line + 1} holds something else than a value in JSON's own form`
}

/** An object with the keys so far, or a list with the entries so far. */
interface Level {
  keys: Set<string> | undefined
  /** Of the value that comes next; of an object undefined while a key is to come. */
  at: string | number | undefined
}

/** For a text that is JSON. */
function repeatedKeys(text: string): string[] {
  const levels: Level[] = []
  const mistakes: string[] = []
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ keys: new Set(), at: undefined })
    else if (token === '[') levels.push({ keys: undefined, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (level === undefined) continue
    else if (token === ',') level.at = typeof level.at === 'number' ? level.at + 1 : undefined
    else if (level.at === undefined) {
      const key = String(JSON.parse(token))
      if (level.keys?.has(key)) {
        const where = pathOf(levels.slice(0, -1).map(({ at }) => at!))
        const shown = isPresentable(key) ? `"${key}"` : 'a key'
        mistakes.push(`${where}: ${shown} stands there twice; remove one, or give it another name`)
      }
      level.keys?.add(key)
      level.at = key
    }
  }
  return mistakes
}
