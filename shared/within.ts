/** Waits for `work`, at most `limitMs`. It goes on. Rejects if `work` rejects within that time. */
export async function within<Result>(
  limitMs: number,
  work: Promise<Result>,
): Promise<Result | 'late'> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
