// The health of a channel, as its row has it. channel-health.ts decides it.

interface Known {
  channel: string
  /** Fingerprint of the channel's configuration. After a change, the channel starts as ok. */
  of: string
  since: number
  /** The channel's answer when the trouble began, without any secret. */
  note: string
  /** The alert to the fallback has this time in its id, so it is sent once: when the trouble began. */
  alert: number
}

/**
 * `refusing`: it rejects every message, or rejected the last few. `unreachable`: for too long, no answer or
 * temporary errors.
 */
export interface Troubled extends Known {
  state: 'refusing' | 'unreachable'
}

/** The channel accepted a message again at `since`. If the same trouble returns soon, nobody is notified. */
export interface Recovered extends Known {
  state: 'ok'
  was: Troubled['state']
  /** Messages that it has refused since then, without a delivery between them. */
  refused?: number
}

/** The channel was never in trouble, and has refused the last messages. */
export interface Doubtful extends Known {
  state: 'ok'
  was?: never
  refused: number
}

/** Undefined elsewhere means that the channel was never in trouble, and refuses nothing. */
export type ChannelHealth = Recovered | Doubtful | Troubled

/** The configuration lacks it, and open events had reached it. */
export interface RemovedChannel {
  channel: string
  /** Epoch ms. */
  at: number
  /** Events that were open then. */
  events: number
}
