// Runs several calls to the storage at once. The simulation replaces this.

/** Runs all, and returns the results in the same order. */
export type Together = <T>(works: (() => Promise<T>)[]) => Promise<T[]>

/** Storage calls under way for one call of the store. */
const atOnce = 16

export const together: Together = async <T>(works: (() => Promise<T>)[]) => {
  const results: T[] = []
  let next = 0
  const run = async () => {
    while (next < works.length) {
      const i = next++
      results[i] = await works[i]!()
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, works.length) }, run))
  return results
}
