// What each part of the store works with.
import type { Edits } from './edits.ts'
import type { Rows } from './rows.ts'
import type { Together } from './together.ts'

export interface Parts {
  rows: Rows
  edits: Edits
  together: Together
  /** Returns a new name for a lease at each call. */
  newId: () => string
  /** Ms of a clock that never jumps. */
  elapsed: () => number
  /** In [0, 1). */
  random: () => number
  /** Waits a short while before another attempt. */
  stepAside: () => Promise<void>
}
