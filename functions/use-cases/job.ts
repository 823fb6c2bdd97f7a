import type { Relay } from './relay.ts'

/** Runs in each round of the loop, before the events that are due. Logs failures, and returns how many. */
export type Sweep = (relay: Relay) => Promise<number>

/**
 * Runs every few minutes. Where reading costs, what reads whole fleets runs every hour. Logs failures:
 * the next run tries again.
 */
export type Check = (relay: Relay) => Promise<void>
