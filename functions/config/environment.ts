// Replaces `env:NAME` in the configuration by the variable's value. On a machine other than the
// relay's, a missing variable can be assumed to be valid: a placeholder of the right form replaces
// it.
import { describePath } from '../../shared/errors.ts'
import { shownName } from '../../shared/presentable.ts'
import { toBase64 } from '../../shared/signature.ts'
import { placeholders as kindPlaceholders } from '../notify/registry.ts'

export type Environment = Record<string, string | undefined>

export interface Filled {
  value: unknown
  /** One sentence each, with the path. */
  mistakes: string[]
  /** Paths of values from the environment, which errors never show, with the variable's name. */
  paths: Map<string, string>
  /** Paths of values that name a variable in another program's notation, such as `$NAME`. */
  lookalikes: Set<string>
  /** Missing variables that were assumed to be valid. */
  assumed: string[]
}

/** Names of variables. An address or a key that was pasted as a name does not match. */
const nameForm = /^(?!whsec_)[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** `$NAME`, `${NAME}`, `%NAME%`, `ENV:NAME`: the notations of shells and other tools. */
const lookalike = /^(?:\$\w+|\$\{\w+\}|%\w+%|env:.+|process\.env\.\w+)$/i

const guid = '00000000-0000-4000-8000-000000000000'
const url = (name: string) => `https://env.invalid/${name}`
const secret = (name: string) =>
  `whsec_${toBase64(new TextEncoder().encode(name.padEnd(24, '.').slice(0, 64)))}`

/** Placeholders by key. The same name gives the same value, so that checks still find equal addresses. */
const placeholders: Record<string, (name: string) => string> = {
  publicUrl: url,
  url,
  endpoint: url,
  authority: () => 'https://env.invalid',
  key: secret,
  secret,
  signingSecret: (name) =>
    [...name]
      .map((one) => (one.charCodeAt(0) % 16).toString(16))
      .join('')
      .padEnd(32, '0')
      .slice(0, 64),
  team: (name) => `T${name.toUpperCase().replaceAll('_', '0').padEnd(8, '0').slice(0, 30)}`,
  tenantId: () => guid,
  subscriptions: () => guid,
  audience: (name) => name,
  resourceGroups: (name) => name,
  name: (name) => name,
  $schema: (name) => name,
  ...kindPlaceholders,
}

/** A value that comes from a file may end with a line break. */
export function withoutLineBreaks(environment: Environment): Environment {
  const entries = Object.entries(environment)
  return Object.fromEntries(entries.map(([name, value]) => [name, value?.replace(/[\r\n]+$/, '')]))
}

export function fillIn(
  value: unknown,
  environment: Environment,
  missing: 'rejected' | 'assumed',
): Filled {
  const variables = withoutLineBreaks(environment)
  const found = { paths: new Map(), lookalikes: new Set<string>() }
  const filled: Filled = { value, mistakes: [], ...found, assumed: [] }
  const walk = (item: unknown, path: PropertyKey[]): unknown => {
    if (Array.isArray(item)) return item.map((part, i) => walk(part, [...path, i]))
    if (typeof item === 'object' && item !== null) {
      const entries = Object.entries(item)
      return Object.fromEntries(entries.map(([key, part]) => [key, walk(part, [...path, key])]))
    }
    if (typeof item !== 'string') return item
    const where = describePath(path, value)
    if (!item.startsWith('env:')) {
      if (lookalike.test(item)) filled.lookalikes.add(where)
      return item
    }
    const keys = path.filter((part) => typeof part === 'string').slice(-2)
    return lookUp(item.slice('env:'.length), where, keys.reverse()) ?? item
  }
  /** Undefined: the variable is missing. `keys`: its own, and the one that it is in. */
  const lookUp = (name: string, where: string, keys: string[]): string | undefined => {
    filled.paths.set(where, shownName(name))
    if (!nameForm.test(name)) {
      const what = '"env:" must be followed by the name of a variable; write "env:NAME"'
      filled.mistakes.push(`${where}: ${what}`)
      return undefined
    }
    const found = variables[name]
    if (found !== undefined && found !== '') return found
    const placeholder = missing === 'assumed' ? keys.map(placeholderFor).find(Boolean) : undefined
    if (placeholder !== undefined) {
      filled.assumed.push(shownName(name))
      return placeholder(name)
    }
    const remedy = missing === 'assumed' ? ', which other settings depend on; set it' : '; set it'
    filled.mistakes.push(`${where}: the environment has no ${shownName(name)}${remedy}`)
    return undefined
  }
  filled.value = walk(value, [])
  filled.assumed = [...new Set(filled.assumed)]
  return filled
}

function placeholderFor(key: string): ((name: string) => string) | undefined {
  return Object.hasOwn(placeholders, key) ? placeholders[key] : undefined
}
