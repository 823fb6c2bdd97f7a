// Splits work into steps that each fit into one transaction of the storage. The surprise: a
// transaction holds 4 MiB, and a character may take three bytes.

/** Characters of the rows in one step. */
const maxStepLength = 1_000_000

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
