// What the loops of one beacon share: their dependencies and their state.
import type { Fields, Log } from '../shared/log.ts'
import type { Goodbye, Vm } from '../shared/report.ts'
import type { Clock } from './clock.ts'
import type { Due } from './due.ts'
import type { HookParts, Hooks } from './hooks/parts.ts'
import type { Imds } from './imds.ts'
import type { Relay } from './send-report.ts'
import type { Spool } from './spool.ts'
import type { Snapshot } from './watch.ts'

/** Every effect of a beacon, so that a simulation can pass its own clock and network. */
export interface Parts {
  imds: Imds
  relay: Relay
  spool: Spool
  clock: Clock
  /** In [0, 1). */
  random: () => number
  /** Unique, for boot ids. */
  newId: () => string
  /** Since the operating system started. */
  uptimeMs: () => number
  log: Log
  pollMs: number
  /** Of the beacon's software. */
  version: string
  /** Further fields of the log line `beacon_started`. */
  about: Fields
  /** Why the beacon stops, for its last report. Asked once, when it stops on purpose. */
  whyStopping: () => Promise<Goodbye>
  /** Left out, the beacon runs no hooks. */
  hooks?: HookParts
}

export interface State {
  /** Undefined until IMDS has identified the VM. Before that, nothing is reported. */
  vm: Vm | undefined
  /** The last good document. A failed poll does not change it. */
  document: Snapshot | undefined
  /** When the next report goes out. */
  reportDue: Due
  hooks?: Hooks
}
