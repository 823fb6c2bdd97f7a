import type { Relay } from './relay.ts'

/** Runs in each round of the loop, before the events that are due. Logs failures, and returns how many. */
export type Sweep = (relay: Relay) => Promise<number>

/** What time brings beside due events and deliveries. */
export interface Job {
  /** How often it runs where reads of the store are free, and where each is paid for. */
  everyMs: { free: number; paid: number }
  /** Logs failures: the next run tries again. `more`: it did a part, and may run again at once. */
  run(relay: Relay): Promise<'done' | 'more'>
}
