// Splits work into steps that each fit into one transaction of the storage. The surprise: a
// transaction holds 4 MiB, and a character may take three bytes.
import { maxChanges } from './rows.ts'

/** Characters of the rows in one step. */
const maxStepLength = 1_000_000

/** Steps of small rows, where only their number matters. */
export function stepsOfRows<T>(items: T[]): T[][] {
  const steps: T[][] = []
  for (let i = 0; i < items.length; i += maxChanges) steps.push(items.slice(i, i + maxChanges))
  return steps
}

/** At most `most` items in a step, in their order. `lengthOf`: how many characters it writes. */
export function stepsOf<T>(items: T[], lengthOf: (item: T) => number, most: number): T[][] {
  const steps: T[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const item of items) {
    const own = lengthOf(item)
    const last = steps.at(-1)
    if (last === undefined || last.length === most || length + own > maxStepLength) {
      steps.push([item])
      length = own
    } else {
      last.push(item)
      length += own
    }
  }
  return steps
}
