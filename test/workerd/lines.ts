/** What the relay has logged. */
export const lines: string[] = []
