// The configuration's text: what is no JSON is said with its place, never with what stands there, as that
// may be a secret. A key that stands twice is a mistake here, as JSON's own reader would drop the first; so
// is `__proto__`, which others would drop.
import { FoghornError, pathOf } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'

/** Brackets within each other; a configuration has six. */
const maxDepth = 64

/** The value, and a sentence for each key that can't stand there. Throws FoghornError `config_invalid`. */
export function readJson(file: string): { value: unknown; mistakes: string[] } {
  // some editors on Windows begin a file with this mark, which says no more than that it is UTF-8
  const text = file.replace(/^\uFEFF/, '')
  if (/^\uFFFD|\0/.test(text)) {
    throw invalid('not UTF-8, by its first bytes; save it in that encoding')
  }
  if (text.trim() === '') {
    throw invalid(
      'the file is empty; write a configuration, as infra/examples/full.config.json is one',
    )
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const remedy = 'write names and texts in "", no comments, and no comma after the last entry'
    throw invalid(`not JSON: ${describeJsonMistake(text)}; ${remedy}`)
  }
  return { value, mistakes: mistakesInKeys(text, value) }
}

function invalid(message: string): FoghornError {
  return new FoghornError('config_invalid', message)
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

/** For a text that is JSON. Throws where it is too deep for what reads it next. */
function mistakesInKeys(text: string, value: unknown): string[] {
  const levels: Level[] = []
  const mistakes: string[] = []
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g)) {
    const level = levels.at(-1)
    if (levels.length > maxDepth) {
      const line = text.slice(0, index).split('\n').length
      throw invalid(`line ${line} has over ${maxDepth} brackets within each other; close some`)
    }
    if (token === '{') levels.push({ keys: new Set(), at: undefined })
    else if (token === '[') levels.push({ keys: undefined, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (level === undefined) continue
    else if (token === ',') level.at = typeof level.at === 'number' ? level.at + 1 : undefined
    else if (level.at === undefined) {
      const key = String(JSON.parse(token))
      const path = levels.slice(0, -1).map(({ at }) => at!)
      const where = pathOf(path, value)
      if (key === '__proto__') mistakes.push(`${where}: "${key}" can be no name; write another`)
      if (level.keys?.has(key)) {
        const shown = isPresentable(key) ? `"${key}"` : 'a key'
        mistakes.push(`${where}: ${shown} stands there twice; remove one, or give it another name`)
      }
      level.keys?.add(key)
      level.at = key
    }
  }
  return mistakes
}
