// Suggests the known name that a misspelt word probably means.
import { isPresentable } from '../../shared/presentable.ts'

/** `; did you mean "slack"?`, or nothing if no name is close. */
export function didYouMean(word: unknown, known: readonly string[]): string {
  const near = typeof word === 'string' ? nearest(word, known) : undefined
  return near === undefined || !isPresentable(near) ? '' : `; did you mean "${near}"?`
}

const maxEdits = 2

/** The closest name, ignoring case: at most two edits, or a name that begins with the word. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const longest = Math.max(0, ...known.map(({ length }) => length))
  // Such a word needs too many edits. Comparing a text of 64 KB would take long.
  if (word.length > longest + maxEdits) return undefined
  const lower = word.toLowerCase()
  const ranked = known
    .map((name) => ({ name, edits: editsBetween(lower, name.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best !== undefined && best.edits <= Math.min(maxEdits, Math.floor(best.name.length / 3))) {
    return best.name
  }
  return lower.length < 4 ? undefined : known.find((name) => name.toLowerCase().startsWith(lower))
}

/** Edits between two words: add, remove or replace a letter, or swap two neighbours. */
export function editsBetween(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1]
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      row[j] = Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (same ? 0 : 1),
        swapped ? rows[i - 2]![j - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    rows.push(row)
  }
  return rows[one.length]![other.length]!
}
