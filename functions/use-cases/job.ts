import type { Relay } from './relay.ts'

/** In each round of the loop, before the events that are due. Logs failures, and returns how many. */
export type Sweep = (relay: Relay) => Promise<number>

/** Every few minutes; what reads whole fleets every hour, where reading costs. Logs failures: the next run tries again. */
export type Check = (relay: Relay) => Promise<void>
