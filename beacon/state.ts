// What the loops of one beacon share: the parts they work with, and what they know.
import type { Fields, Log } from '../shared/log.ts'
import type { Vm } from '../shared/report.ts'
import type { Clock } from './clock.ts'
import type { Due } from './due.ts'
import type { Imds } from './metadata.ts'
import type { Relay } from './send.ts'
import type { Spool } from './spool.ts'
import type { Snapshot } from './watch.ts'

/** Every effect of a beacon, so that a simulation can run it on a clock and a network of its own. */
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
  /** What the log's `beacon_started` tells besides the VM. */
  about: Fields
}

export interface State {
  /** Undefined until IMDS has said who we are; nothing is reported before. */
  vm: Vm | undefined
  /** The last good document; a failed poll leaves it as it is. */
  document: Snapshot | undefined
  /** When the next report goes out. */
  reportDue: Due
}
