// Reads Bicep as text, as no compiler is at hand in a test: enough to find a name that nobody declared, a
// bracket that nobody closed, a parameter that a module does not have. It does not know types.

export interface Declaration {
  kind: 'param' | 'var' | 'resource' | 'module' | 'output'
  name: string
  /** From the keyword to the next declaration. */
  text: string
  /** The lines above that belong to it: `@description(…)` and the like. */
  decorators: string[]
}

interface Bicep {
  /** Without comments and texts; what stands in `${…}` of a text is kept. */
  code: string
  /** Unclosed or unexpected brackets and quotes, with their lines. */
  faults: string[]
  declarations: Declaration[]
}

const closing: Record<string, string> = { '{': '}', '[': ']', '(': ')' }

export function readBicep(source: string): Bicep {
  const { code, faults } = scan(source)
  return { code, faults, declarations: declarationsOf(source) }
}

/** One walk over the characters. A `${` puts its bracket on the stack, so its `}` returns to the text. */
function scan(source: string): { code: string; faults: string[] } {
  const faults: string[] = []
  const open: { closes: string; line: number; inText: boolean }[] = []
  let code = ''
  let line = 1
  let at = 0
  let inText = false

  const keep = (count: number) => {
    code += source.slice(at, at + count)
    at += count
  }
  const skipTo = (end: number) => {
    const skipped = source.slice(at, end)
    line += skipped.split('\n').length - 1
    at = end
  }

  while (at < source.length) {
    const two = source.slice(at, at + 2)
    const character = source[at]!
    if (character === '\n' && inText) {
      faults.push(`line ${line}: a text is not closed`)
      inText = false
    } else if (inText) {
      if (two === '${') {
        open.push({ closes: '}', line, inText: true })
        code += ' '
        inText = false
        at += 2
      } else if (character === '\\') at += 2
      else {
        if (character === "'") inText = false
        at += 1
      }
    } else if (two === '//') {
      const end = source.indexOf('\n', at)
      skipTo(end === -1 ? source.length : end)
    } else if (source.startsWith("'''", at)) {
      const end = source.indexOf("'''", at + 3)
      if (end === -1) faults.push(`line ${line}: a text of several lines is not closed`)
      skipTo(end === -1 ? source.length : end + 3)
    } else if (character === "'") {
      code += ' '
      inText = true
      at += 1
    } else if (closing[character] !== undefined) {
      open.push({ closes: closing[character], line, inText: false })
      keep(1)
    } else if ('}])'.includes(character)) {
      const last = open.pop()
      if (last?.closes !== character) faults.push(`line ${line}: unexpected ${character}`)
      if (last?.inText) {
        inText = true
        at += 1
      } else keep(1)
    } else {
      if (character === '\n') line += 1
      keep(1)
    }
  }
  if (inText) faults.push('a text is not closed at the end')
  for (const { line, closes } of open) faults.push(`line ${line}: missing ${closes}`)
  return { code, faults }
}

function declarationsOf(source: string): Declaration[] {
  const found: Declaration[] = []
  let decorators: string[] = []
  for (const line of source.split('\n')) {
    const match = /^(param|var|resource|module|output) (\w+)/.exec(line)
    if (match) {
      const kind = match[1] as Declaration['kind']
      found.push({ kind, name: match[2]!, text: line, decorators })
      decorators = []
    } else if (line.startsWith('@')) decorators.push(line)
    else if (found.length > 0) found.at(-1)!.text += `\n${line}`
  }
  return found
}

const words = [
  ...['param', 'var', 'resource', 'module', 'output', 'existing', 'if', 'for', 'in', 'using'],
  ...['true', 'false', 'null', 'string', 'int', 'bool', 'object', 'array', 'targetScope'],
]
const functions = [
  ...['description', 'secure', 'allowed', 'minLength', 'maxLength', 'minValue', 'maxValue'],
  ...['tenant', 'resourceGroup', 'environment', 'uniqueString', 'guid', 'subscriptionResourceId'],
  ...['union', 'map', 'items', 'toObject', 'replace', 'empty', 'json', 'readEnvironmentVariable'],
  ...['split'],
]

/** Every name in the order of its uses, its declaration among them; keys and properties are none. */
export function namesIn({ code }: Bicep): { name: string; called: boolean }[] {
  const found: { name: string; called: boolean }[] = []
  for (const match of code.matchAll(/(?<![\w.])[A-Za-z_]\w*/g)) {
    const name = match[0]
    const before = code.slice(0, match.index)
    const after = code.slice(match.index + name.length)
    // a key begins a line or follows a bracket or comma, and has a colon
    if (/[{,\n]\s*$/.test(before) && after.startsWith(':')) continue
    found.push({ name, called: after.startsWith('(') })
  }
  return found
}

/** Names that are used, but neither declared in the file nor part of the language. */
export function unknownNames(file: Bicep): string[] {
  const loops = [...file.code.matchAll(/\bfor (?:(\w+)|\((\w+), (\w+)\)) in\b/g)].flatMap(
    ([, item, ...pair]) => [item, ...pair].filter((name) => name !== undefined),
  )
  const lambdas = [...file.code.matchAll(/\b(\w+) =>/g)].map((match) => match[1]!)
  const declared = file.declarations.map(({ name }) => name)
  const known = new Set([...words, ...loops, ...lambdas, ...declared])
  const unknown = namesIn(file).filter(({ name, called }) =>
    called ? !functions.includes(name) : !known.has(name),
  )
  return [...new Set(unknown.map(({ name }) => name))]
}

/** The keys of the block that begins after `start` in a text, at its first level. */
export function keysOf(text: string, start: RegExp): string[] {
  const match = start.exec(text)
  if (!match) return []
  const lines = text.slice(match.index + match[0].length).split('\n')
  const indent = /^ */.exec(lines.find((line) => line.trim() !== '') ?? '')![0]
  const keys: string[] = []
  for (const line of lines) {
    if (line.trim() !== '' && !line.startsWith(indent)) break
    const key = /^(\w+):/.exec(line.slice(indent.length))
    if (key) keys.push(key[1]!)
  }
  return keys
}
