/**
 * Runs `work` once at a time. Callers that come while one run is under way share the next run, so that none is
 * answered by what was read before it asked.
 */
export function oneAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<Result> | undefined
  const begin = () => {
    next = undefined
    const run = work()
    underWay = run.catch(() => {})
    return run
  }
  return () => {
    next ??= underWay.then(begin)
    return next
  }
}
