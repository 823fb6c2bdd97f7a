// Where a delivery goes: to a channel of the configuration, or to one that a feature keeps in the store.
import type { SendOutcome } from '../core/delivery/attempt.ts'
import type { Claimed } from '../core/delivery/delivery.ts'
import type { ChannelHealth } from '../core/delivery/health.ts'
import type { Channel } from '../core/rules/config.ts'
import type { Relay } from './relay.ts'

export interface Target {
  /** Undefined if the channel does not exist any more. */
  channel: Channel | undefined
  /** Why the message is not sent but kept, if it is. */
  kept?: string | undefined
  /** Who made the channel is bound to fleets, so it reaches fewer addresses. */
  isBound?: boolean
  /**
   * Notes what the answer, if there is one, means for a stored channel. Called before the delivery is settled: if the
   * worker dies in between, the attempt is repeated. Never throws.
   */
  noteAnswer?(
    claimed: Claimed,
    sent: SendOutcome | undefined,
    health: ChannelHealth | undefined,
  ): Promise<void>
}

/** Finds a stored channel by its id. Undefined if it is none of the feature's, or is gone. */
export type FindStored = (relay: Relay, id: string, claimed: Claimed) => Promise<Target | undefined>
