// Small mistakes that a person could make in a file of the core: another number, another comparison. Words in
// comments, texts and types stay as they are.

export interface Mutation {
  line: number
  from: string
  to: string
  /** The whole file with this mistake. */
  text: string
}

/** What each token becomes. The formatter puts blanks around operators, and none around brackets of types. */
const swaps: [RegExp, string[]][] = [
  [/ <= /g, [' < ']],
  [/ >= /g, [' > ']],
  [/ < /g, [' <= ']],
  [/ > /g, [' >= ']],
  [/ === /g, [' !== ']],
  [/ !== /g, [' === ']],
  [/ && /g, [' || ']],
  [/ \|\| /g, [' && ']],
  [/\.every\(/g, ['.some(']],
  [/\.some\(/g, ['.every(']],
  [/Math\.min\(/g, ['Math.max(']],
  [/Math\.max\(/g, ['Math.min(']],
  [/Math\.ceil\(/g, ['Math.floor(1 + ']],
  [/Math\.floor\(/g, ['Math.ceil(']],
]
const number = /(?<![\w.$'])\d[\d_]*(?![\w.$'])/g

export function mutationsOf(text: string): Mutation[] {
  const code = blanked(text)
  const found = [
    ...swaps.flatMap(([pattern, others]) =>
      [...code.matchAll(pattern)].flatMap((match) => others.map((to) => [match, to] as const)),
    ),
    ...[...code.matchAll(number)].flatMap((match) =>
      otherNumbers(Number(match[0].replaceAll('_', ''))).map((to) => [match, String(to)] as const),
    ),
  ]
  return found
    .sort(([a], [b]) => a.index - b.index)
    .map(([match, to]) => ({
      line: text.slice(0, match.index).split('\n').length,
      from: match[0].trim(),
      to: to.trim(),
      text: text.slice(0, match.index) + to + text.slice(match.index + match[0].length),
    }))
}

/** Half, and half as much again: a test that only knows the order of size sees neither. */
function otherNumbers(value: number): number[] {
  if (value === 0) return [1]
  if (value === 1) return [2]
  return [Math.floor(value / 2), Math.ceil(value * 1.5)]
}

/** Comments, texts, and lines of imports and types are blanks of the same length. */
function blanked(text: string): string {
  const pattern =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|^import [\s\S]*?from[^\n]*|^(?:export )?(?:interface|type) [\s\S]*?\n(?=\S)\}?/gm
  return text.replace(pattern, (found) => found.replace(/[^\n]/g, ' '))
}

/** At most `most`, spread over the file. */
export function sampleOf<Item>(items: Item[], most: number): Item[] {
  if (items.length <= most) return items
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)]!)
}
