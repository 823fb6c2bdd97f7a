// What the loops of one beacon share: their dependencies and their state.
import type { Fields, Log } from '../shared/log.ts'
import type { Answer, Goodbye, Report, Vm } from '../shared/report.ts'
import type { Clock } from './clock.ts'
import type { RunnerLink } from './hooks/link.ts'
import type { HookStore } from './hooks/store.ts'
import type { Imds } from './imds.ts'
import type { TakeOver } from './owner.ts'
import type { Relay } from './relay-client.ts'
import type { HookSettings } from './settings.ts'
import type { Spool } from './spool.ts'
import type { WakeTimer } from './wake-timer.ts'
import type { Snapshot } from './watch.ts'

/** Every effect of a beacon, so that a simulation can pass its own clock and network. */
export interface Parts {
  imds: Imds
  relay: Relay
  spool: Spool
  clock: Clock
  /** Returns a number in [0, 1). */
  random: () => number
  /** Makes unique ids for boots. */
  newId: () => string
  /** Time since the operating system started. */
  uptimeMs: () => number
  log: Log
  pollMs: number
  /** The version of the beacon's software. */
  version: string
  /** Further fields of the log line `beacon_started`. */
  about: Fields
  /** Called once, with the VM that IMDS names. */
  takeOver: TakeOver
  /** Why the beacon stops, for its last report. Asked once, when it stops on purpose. */
  whyStopping: () => Promise<Goodbye>
  /** If this is left out, the beacon runs no hooks. */
  hooks?: HookParts
}

export interface State {
  /** Undefined until IMDS has identified the VM. Before that, nothing is reported. */
  vm: Vm | undefined
  /** The last good document. A failed poll does not change it. */
  document: Snapshot | undefined
  /** When the next report goes out. */
  reportTimer: WakeTimer
  hooks?: Hooks
}

export interface HookParts {
  link: RunnerLink
  store: HookStore
  settings: Pick<HookSettings, 'leadMs' | 'eventTypes'>
}

/** What the other loops of the beacon use. */
export interface Hooks {
  /** The state was another VM's: drops all of it. */
  forget(): void
  /** There is a new document. */
  documentSeen(): void
  /** The hooks for the report that is built now. Undefined while no runner answers. */
  report(): Report['hooks']
  /** The relay has answered the report that was built last. */
  answered(preparations: Answer['preparations']): void
  loop(stop: AbortSignal): Promise<void>
}
