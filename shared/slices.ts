// Long work in parts: between two of them, others go first.

/** How many items a part usually has. A record of an event may have 400 kB, whose JSON takes 6 ms to read. */
const usualSlice = 8

export function* cutSlices<Item>(items: readonly Item[], size = usualSlice): Generator<Item[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}

/** The results of `work` for each part, in order. `pause` is called between two parts. */
export async function inSlices<Item, Result>(
  items: readonly Item[],
  pause: () => Promise<void>,
  work: (slice: Item[]) => Result[] | Promise<Result[]>,
  size?: number,
): Promise<Result[]> {
  const results: Result[] = []
  let isFirst = true
  for (const slice of cutSlices(items, size)) {
    if (!isFirst) await pause()
    isFirst = false
    results.push(...(await work(slice)))
  }
  return results
}
