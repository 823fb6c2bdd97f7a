// Waits for a condition by looking again whenever something changed, so that no test has to sleep.

export class Waiters {
  readonly #checks = new Set<() => void>()

  /** Call after every change that a condition may depend on. */
  changed(): void {
    for (const check of [...this.#checks]) check()
  }

  /** The first value of `find` that is not undefined; `describe` explains a time-out. */
  until<T>(find: () => T | undefined, timeoutMs: number, describe: () => string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const check = () => {
      try {
        const found = find()
        if (found !== undefined) resolve(found)
      } catch (error) {
        reject(error)
      }
    }
    const timer = setTimeout(
      () => reject(new Error(`Nothing matched within ${timeoutMs} ms; ${describe()}`)),
      timeoutMs,
    )
    this.#checks.add(check)
    check()
    return promise.finally(() => {
      clearTimeout(timer)
      this.#checks.delete(check)
    })
  }
}
