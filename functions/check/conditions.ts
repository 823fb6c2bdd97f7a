// Warns about conditions that no event can meet: words that Azure does not have, and names that
// Azure does not allow. Which names exist is unknown here.
import { documentedTypes, isSameName } from '../../shared/document.ts'
import { looksSecret, notShown } from '../../shared/presentable.ts'
import type { Match } from '../core/rules/match.ts'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'

export const sources = ['Platform', 'User']

export function onConditions(at: string, match: Match): string[] {
  const { eventType = [], source = [] } = match
  return [
    ...eventType.flatMap((word) => onWord(`${at}.match.eventType`, word, documentedTypes)),
    ...source.flatMap((word) => onWord(`${at}.match.source`, word, sources)),
    ...onNames(at, match),
  ]
}

/** Types and sources that Azure does not have today. They are valid, because Azure may add them. */
function onWord(at: string, word: string, known: readonly string[]): string[] {
  const find = (text: string) => known.find((one) => isSameName(one, text))
  if (find(word) !== undefined) return []
  const parts = word.split(/[\s,;|]+/).flatMap((part) => find(part) ?? [])
  const has = `it has ${quoted(known)}`
  const remedy = /^[*?]+$/.test(word)
    ? `${has}, and only "resource" takes globs; leave this out to match all`
    : parts.length > 1
      ? `write several as a list: [${quoted(parts)}]`
      : `${has}${didYouMean(word, known)}`
  return [`${at}: Azure has no ${shown(word)} today; ${remedy}`]
}

/** Characters that a name in Azure cannot have. */
const strange = {
  resource: /[^\p{L}\p{N}_.*?-]/u,
  resourceGroup: /[^\p{L}\p{N}_.()-]/u,
  scaleSet: /[^\p{L}\p{N}_.-]/u,
  // Azure allows nearly every character in the name of a tag
  tag: /^\s*(=|$)|^\s|^[^=]*\s(=|$)|^[^=]*[<>%&\\?]/u,
} as const

const things = {
  resource: 'VM',
  resourceGroup: 'resource group',
  scaleSet: 'scale set',
  tag: 'tag',
} as const

function onNames(at: string, match: Match): string[] {
  const keys = Object.keys(strange) as (keyof typeof strange)[]
  return keys.flatMap((key) =>
    (match[key] ?? [])
      .filter((value) => strange[key].test(value))
      .map((value) => {
        const what = `no ${things[key]} in Azure can have the name ${shown(value)}`
        return `${at}.match.${key}: ${what}, so it never matches; ${remedyFor(key, value)}`
      }),
  )
}

function remedyFor(key: keyof typeof strange, value: string): string {
  if (key === 'tag') return 'write "name" or "name=value", without spaces around the name'
  if (value.includes('/')) return 'write the name without its path'
  if (/[,;]/.test(value)) return 'write several as a list: ["…", "…"]'
  if (key === 'resource') return 'write a name, or a glob: "*" is any characters, "?" is one'
  if (/[*?]/.test(value)) return 'only "resource" takes globs; write the names, as a list'
  return 'write its name as Azure shows it'
}

/** Quotes a value. Numbers replace invisible characters and those that change the direction of text. */
function shown(value: string): string {
  if (looksSecret(value)) return notShown
  const numbered = (one: string) => `\\u{${one.codePointAt(0)!.toString(16)}}`
  return JSON.stringify(value).replace(/\p{C}/gu, numbered)
}
