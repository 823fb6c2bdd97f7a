// Conditions of rules and routes that no event of Azure ever meets: words that it does not have, and names that
// none of its things can have. Only what is certain: which names there are, nobody here knows.
import { eventTypes } from '../../shared/document.ts'
import { looksSecret, notShown } from '../../shared/presentable.ts'
import type { Match } from '../core/rules/policy.ts'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'

export const sources = ['Platform', 'User']

export function onConditions(at: string, match: Match): string[] {
  const { eventType = [], source = [] } = match
  return [
    ...eventType.flatMap((word) => onWord(`${at}.match.eventType`, word, eventTypes)),
    ...source.flatMap((word) => onWord(`${at}.match.source`, word, sources)),
    ...onNames(at, match),
  ]
}

/** Types and sources that Azure does not have: allowed, as it may have them one day. */
function onWord(at: string, word: string, known: readonly string[]): string[] {
  const find = (text: string) => known.find((one) => one.toLowerCase() === text.toLowerCase())
  if (find(word) !== undefined) return []
  const parts = word.split(/[\s,;|]+/).flatMap((part) => find(part) ?? [])
  const has = `it has ${quoted(known)}`
  const remedy = /^[*?]+$/.test(word)
    ? `${has}, and only "resource" takes globs; leave this out for all of them`
    : parts.length > 1
      ? `several are a list; write [${quoted(parts)}]`
      : `${has}${didYouMean(word, known)}`
  return [`${at}: Azure has no ${shown(word)} today; ${remedy}`]
}

/** What else stands where a name of Azure belongs. Such names are letters, digits, "_", "-" and ".". */
const strange = {
  resource: /[^\p{L}\p{N}_.*?-]/u,
  resourceGroup: /[^\p{L}\p{N}_.()-]/u,
  scaleSet: /[^\p{L}\p{N}_.-]/u,
  // within the name of a tag Azure takes nearly everything
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
        const what = `no ${things[key]} of Azure can have the name ${shown(value)}`
        return `${at}.match.${key}: ${what}, so it never matches; ${remedyFor(key, value)}`
      }),
  )
}

function remedyFor(key: keyof typeof strange, value: string): string {
  if (key === 'tag') return 'write "name" or "name=value", with no blank around the name'
  if (value.includes('/')) return 'write the name alone, and not its path'
  if (/[,;]/.test(value)) return 'several are a list; write ["…", "…"]'
  if (key === 'resource') return 'write a name, or a glob: "*" is any characters, "?" is one'
  if (/[*?]/.test(value)) return 'only "resource" takes globs; write the names, as a list'
  return 'write its name as Azure shows it'
}

/** What no terminal shows, or shows the wrong way round, as its number. */
function shown(value: string): string {
  if (looksSecret(value)) return notShown
  const numbered = (one: string) => `\\u{${one.codePointAt(0)!.toString(16)}}`
  return JSON.stringify(value).replace(/\p{C}/gu, numbered)
}
