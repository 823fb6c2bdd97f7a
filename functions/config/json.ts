// Parses the text of the configuration. Errors give the place and never quote the text, which may
// be a secret. A repeated key is a mistake, because JSON.parse would drop the first one.
// `__proto__` is a mistake, because later code would drop it.
import { describePath, FoghornError } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'

/** The deepest nesting. A configuration has six levels. */
const maxDepth = 64

/** The value, and a sentence for each forbidden key. Throws FoghornError `config_invalid`. */
export function readJson(file: string): { value: unknown; mistakes: string[] } {
  // some editors on Windows begin a UTF-8 file with this mark
  const text = file.replace(/^\uFEFF/, '')
  if (/^\uFFFD|\0/.test(text)) {
    throw invalid('the file is not UTF-8; save it as UTF-8')
  }
  if (text.trim() === '') {
    throw invalid('the file is empty; infra/examples/full.config.json is an example to copy')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (/^[\w-]+:( |$)/m.test(text) && !/^\s*[{[]/.test(text)) {
      throw invalid(
        'this looks like YAML; write the configuration as JSON, such as { "publicUrl": "…" }',
      )
    }
    const remedy = 'put names and texts in double quotes, and remove comments and trailing commas'
    throw invalid(`not JSON: ${describeJsonMistake(text)}; ${remedy}`)
  }
  return { value, mistakes: mistakesInKeys(text, value) }
}

function invalid(message: string): FoghornError {
  return new FoghornError('config_invalid', message)
}

/** Where the mistake is. The engine's own message may quote the text around it, and so a secret. */
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
  return `line ${line + 1} has something that JSON does not allow`
}

/** An object with the keys so far, or a list with the entries so far. */
interface Level {
  keys: Set<string> | undefined
  /** The key or index of the next value. In an object undefined before a key. */
  at: string | number | undefined
}

/** Expects valid JSON. Throws if it is nested too deeply for the schema. */
function mistakesInKeys(text: string, value: unknown): string[] {
  const levels: Level[] = []
  const mistakes: string[] = []
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g)) {
    const level = levels.at(-1)
    if (levels.length > maxDepth) throw tooDeep(text.slice(0, index).split('\n').length)
    if (token === '{') levels.push({ keys: new Set(), at: undefined })
    else if (token === '[') levels.push({ keys: undefined, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') moveOn(level)
    else if (level !== undefined && level.at === undefined) {
      const key = String(JSON.parse(token))
      const path = levels.slice(0, -1).map(({ at }) => at!)
      mistakes.push(...mistakesInKey(key, level, describePath(path, value)))
      level.keys?.add(key)
      level.at = key
    }
  }
  return mistakes
}

/** Moves on to the next key or entry. */
function moveOn(level: Level | undefined): void {
  if (level !== undefined) level.at = typeof level.at === 'number' ? level.at + 1 : undefined
}

function tooDeep(line: number) {
  return invalid(`line ${line} is nested more than ${maxDepth} levels deep; close some brackets`)
}

function mistakesInKey(key: string, { keys }: Level, where: string): string[] {
  const mistakes: string[] = []
  if (key === '__proto__') {
    mistakes.push(`${where}: "${key}" is not allowed as a name; write another`)
  }
  if (keys?.has(key)) {
    const shown = isPresentable(key) ? `"${key}"` : 'a key'
    mistakes.push(`${where}: ${shown} appears twice; remove one, or rename it`)
  }
  return mistakes
}
