// What each part of the Azure store works with.

import type { Rows } from './rows.ts'
import type { Index } from './time-index.ts'
import type { Together } from './together.ts'

export interface Parts {
  rows: Rows
  index: Index
  together: Together
  /** Returns a new name for a lease or a write at each call. */
  newId: () => string
  /** Waits a short while before another attempt. */
  stepAside: () => Promise<void>
}
