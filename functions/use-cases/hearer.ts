// What is wrong with Foghorn itself, for features that tell owners of it.
import type { AlertKind } from '../core/delivery/alert-kind.ts'
import type { Relay } from './relay.ts'

/** Each feature adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureTroubles {}

export interface Trouble {
  kind: 'over_limits' | 'azure_refuses' | keyof FeatureTroubles
  /** The name of a VM, of a subscription of Azure, or of what a feature is about. */
  name: string
  /** One sentence, without its full stop. */
  reason: string
}

export interface Hearer {
  /** Throws if that is not stored. */
  occurred(relay: Relay, fleet: string, trouble: Trouble): Promise<void>
  /** A channel fell into trouble, or is well again. Logs failures. */
  healthChanged(relay: Relay): Promise<void>
}

/** Checks the problems with these ids. `back`: they are over. `left`: their cause has left. */
type Recheck = (
  relay: Relay,
  fleet: string,
  ids: string[],
) => Promise<{ back: string[]; left: string[] }>

export type Rechecks = Partial<Record<AlertKind, Recheck>>
