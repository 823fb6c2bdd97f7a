// Long work in parts: between two of them, others go first.

/** How many items a part usually has. A record of an event may have 400 kB. */
const usualSlice = 25

/** The results of `work` for each part, in order. `pause` is called between two parts. */
export async function inSlices<Item, Result>(
  items: readonly Item[],
  pause: () => Promise<void>,
  work: (slice: Item[]) => Result[] | Promise<Result[]>,
  size = usualSlice,
): Promise<Result[]> {
  const results: Result[] = []
  for (let i = 0; i < items.length; i += size) {
    if (i > 0) await pause()
    results.push(...(await work(items.slice(i, i + size))))
  }
  return results
}
