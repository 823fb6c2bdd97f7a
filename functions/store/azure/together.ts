// Several calls at once, as a store over the network needs them; the simulation brings its own.

/** Runs all, and answers in their order. */
export type Together = <T>(works: (() => Promise<T>)[]) => Promise<T[]>

/** One worker has so many calls to the storage under way for one call of the store. */
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
